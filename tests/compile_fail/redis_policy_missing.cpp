// What happens while Redis is away is nobody's default: the failure policy must be named.
// expect: no matching

#include <penstock/redis.hpp>

#include <string>

struct silent {
  penstock::redis::result<penstock::redis::reply> execute(penstock::redis::command const&, penstock::redis::deadline) {
    return penstock::redis::reply{};
  }
};

using limiter = penstock::redis::token_bucket<std::string, silent>;

silent nobody;

#ifdef PENSTOCK_WRONG
limiter limited(nobody, "api", limiter::config{.refill = penstock::per_second(5)});
#else
limiter limited(nobody, "api", limiter::config{.refill = penstock::per_second(5)}, penstock::redis::fail_open{});
#endif
