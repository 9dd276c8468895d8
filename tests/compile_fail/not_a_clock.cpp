// A duration is no clock: it has no now().
// expect: clock_source

#include <penstock/limiters.hpp>

#include <chrono>

#ifdef PENSTOCK_WRONG
using clock_type = std::chrono::seconds;
#else
using clock_type = std::chrono::steady_clock;
#endif

void take(penstock::token_bucket<penstock::no_key, clock_type>&);
