// The first argument of limiter is an algorithm, not a configuration.
// expect: limiting_algorithm

#include <penstock/limiters.hpp>

#ifdef PENSTOCK_WRONG
using algorithm = penstock::algorithm::token_bucket::config;
#else
using algorithm = penstock::algorithm::token_bucket;
#endif

void take(penstock::limiter<algorithm>&);
