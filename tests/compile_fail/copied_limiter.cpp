// A copied limiter would admit twice.
// expect: deleted

#include <penstock/limiters.hpp>

penstock::token_bucket<> original({.refill = penstock::per_second(5), .burst = 20});
#ifdef PENSTOCK_WRONG
auto other = original;
#else
auto& other = original;
#endif
