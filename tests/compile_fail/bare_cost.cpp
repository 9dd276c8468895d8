// A number alone is no cost: it could as well be meant as a key.
// expect: no matching (member )?function|could not convert|cannot convert|no viable conversion

#include <penstock/limiters.hpp>

bool ask(penstock::token_bucket<>& limiter) {
#ifdef PENSTOCK_WRONG
  return bool(limiter.allow(3));
#else
  return bool(limiter.allow(penstock::cost{3}));
#endif
}
