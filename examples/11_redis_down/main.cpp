// Redis goes away and comes back while a service runs: what each failure policy does, second by second.
//
//   11_redis_down [milliseconds]    the length of a "second"; 1000

#include "../10_two_instances/redis_server.hpp"

#include <array>
#include <iomanip>
#include <iostream>
#include <optional>
#include <penstock/redis.hpp>
#include <penstock/redis/hiredis.hpp>

using namespace std::chrono_literals;
namespace redis = penstock::redis;
using std::chrono::steady_clock;

constexpr std::array names{"redis", "deny_cache", "lease", "local", "policy"};

int main(int argc, char** argv) {
  std::chrono::milliseconds const second{argc > 1 ? std::stoi(argv[1]) : 1000};
  redis_server server;
  redis::hiredis_pool pool({.host = "127.0.0.1", .port = server.port()});
  redis::token_bucket<>::config const ten{.refill = penstock::per(10, second), .burst = 10};
  redis::options const settings{.timeout = 20ms, .deny_cache = 0, .breaker = {.first_pause = second / 4, .longest_pause = second}};
  redis::token_bucket<> open(pool, "open", ten, redis::fail_open{}, settings);
  redis::token_bucket<> closed(pool, "closed", ten, redis::fail_closed{second}, settings);
  redis::token_bucket<> share(pool, "share", ten, redis::local{0.5}, settings);  // two instances

  std::cout << "20 requests a second, limit 10 a second: admitted of 20, who answered the last, the slowest call\n\n"
               "  second         fail_open               fail_closed             local{0.5}\n";
  for (int now = 0; now < 8; ++now) {
    auto const begun = steady_clock::now();
    if (now == 2) server.stop();
    if (now == 5) server.start();
    std::cout << std::setw(5) << now << (now < 2 ? "  up    " : now < 5 ? "  down  " : "  up    ");
    for (auto* limiter : {&open, &closed, &share}) {
      int admitted = 0;
      redis::origin last{};
      steady_clock::duration slowest{};
      for (int request = 0; request < 20; ++request) {
        auto const asked = steady_clock::now();
        auto const d = limiter->allow();
        slowest = std::max(slowest, steady_clock::now() - asked);
        admitted += static_cast<bool>(d);
        last = d.from;
      }
      std::cout << std::setw(4) << admitted << ' ' << std::left << std::setw(7) << names[static_cast<std::size_t>(last)] << std::right << std::setw(8)
                << std::chrono::duration_cast<std::chrono::microseconds>(slowest).count() << " us ";
    }
    std::cout << std::endl;
    std::this_thread::sleep_until(begun + second);
  }
  auto const seen = share.stats();
  std::cout << "\nlocal{0.5}: " << seen.by_redis << " answers of Redis, " << seen.degraded << " degraded, breaker opened " << seen.breaker_opened << " times\n";
}
