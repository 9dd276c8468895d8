// A service that speaks to Redis by Boost.Redis already: its client as the transport of a limit.

#include "../10_two_instances/redis_server.hpp"
#include "transport.hpp"

#include <boost/redis/src.hpp>

#include <iostream>
#include <memory>
#include <penstock/redis.hpp>

using namespace std::chrono_literals;
namespace redis = penstock::redis;

int main() {
  redis_server server;
  boost::redis::config to;
  to.addr = {"127.0.0.1", std::to_string(server.port())};
  boost_redis transport(to);
  redis::token_bucket<std::string, boost_redis> per_user(transport, "api", {.refill = penstock::per_hour(3)},
                                                         redis::fail_closed{1s}, {.timeout = 1s});
  for (int attempt = 0; attempt < 1000 && per_user.peek("ann").error; ++attempt) std::this_thread::sleep_for(5ms);

  for (int call = 1; call <= 5; ++call) {
    auto const d = per_user.allow("ann");
    std::cout << call << (d ? " admitted" : " refused") << ", " << d.remaining << " left\n";
  }
  server.stop();
  auto const d = per_user.allow("bob");
  std::cout << "server stopped: " << (d ? "admitted" : "refused") << " by "
            << (d.from == redis::origin::policy ? "policy" : "redis") << '\n';
  return d.error ? 0 : 1;
}
