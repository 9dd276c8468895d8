// An integer key wider than the limiter's: two users would share one count.
// expect: narrow|no matching (member )?function

#include <penstock/limiters.hpp>

#include <cstdint>

bool ask(penstock::token_bucket<std::uint32_t>& limiter, std::uint64_t user) {
#ifdef PENSTOCK_WRONG
  return bool(limiter.allow(user));
#else
  return bool(limiter.allow(static_cast<std::uint32_t>(user)));
#endif
}
