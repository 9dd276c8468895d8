#include <penstock/redis.hpp>
#include <penstock/redis/hiredis.hpp>

// Nobody listens at this port: what is tried here is that the component compiles, links and runs.
int main() {
  namespace redis = penstock::redis;
  redis::hiredis_pool pool({.host = "127.0.0.1", .port = 1});
  redis::token_bucket<> limiter(pool, "site", {.refill = penstock::per_day(1)}, redis::fail_open{});
  auto const d = limiter.allow();
  return d && d.from == redis::origin::policy && d.error ? 0 : 1;
}
