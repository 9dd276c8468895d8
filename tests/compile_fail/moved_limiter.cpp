// A moved limiter would leave its users, and the layers that refer to it, with an empty one.
// expect: deleted

#include <penstock/limiters.hpp>

#include <utility>

penstock::token_bucket<> original({.refill = penstock::per_second(5), .burst = 20});
#ifdef PENSTOCK_WRONG
penstock::token_bucket<> other(std::move(original));
#else
penstock::token_bucket<> other({.refill = penstock::per_second(5), .burst = 20});
#endif
