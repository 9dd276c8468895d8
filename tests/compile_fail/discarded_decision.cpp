// A decision that nobody reads limits nothing.
// expect: nodiscard

#include <penstock/limiters.hpp>

bool ask(penstock::token_bucket<>& limiter) {
#ifdef PENSTOCK_WRONG
  limiter.allow();
  return true;
#else
  return bool(limiter.allow());
#endif
}
