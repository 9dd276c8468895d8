// Two instances of a service against one Redis: 400 concurrent requests at a limit of 50 a minute. Read-then-increment,
// as it is often written, lets more through; the script exactly 50.

#include "redis_server.hpp"

#include <atomic>
#include <functional>
#include <iomanip>
#include <iostream>
#include <penstock/redis.hpp>
#include <penstock/redis/hiredis.hpp>
#include <vector>

using namespace std::chrono_literals;
using namespace penstock::literals;
namespace redis = penstock::redis;

/// One Redis command of a service that counts for itself.
redis::reply say(redis::hiredis_pool& pool, std::vector<std::string_view> const& words) {
  auto const answer = pool.execute({words, words[1]}, std::chrono::steady_clock::now() + 5s);
  return answer ? *answer : redis::reply{};
}

bool read_then_increment(redis::hiredis_pool& pool, std::string const& key) {
  auto const count = say(pool, {"GET", key}).text;
  if (!count.empty() && std::stoi(count) >= 50) return false;
  say(pool, {"INCR", key});  // meanwhile others have read the same count
  say(pool, {"EXPIRE", key, "60"});
  return true;
}

/// One instance: 20 threads of 10 requests.
int admitted_of_200(std::function<bool()> const& allow) {
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 20; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) admitted += allow();
    });
  for (auto& t : threads) t.join();
  return admitted;
}

/// Runs `instance` in two processes and adds up what they return.
int in_two_processes(std::function<int()> const& instance) {
  int total = 0, ends[2];
  if (::pipe(ends) != 0) std::exit(2);
  for (int i = 0; i < 2; ++i)
    if (::fork() == 0) {
      int const admitted = instance();
      ::_exit(::write(ends[1], &admitted, sizeof admitted) == sizeof admitted ? 0 : 1);
    }
  for (int i = 0, admitted = 0; i < 2 && ::read(ends[0], &admitted, sizeof admitted) == sizeof admitted; ++i) total += admitted;
  ::close(ends[0]);
  ::close(ends[1]);
  return total;
}

int main() {
  redis_server const server;
  redis::endpoint const at{.host = "127.0.0.1", .port = server.port()};
  std::cout << "admitted of 400 requests to two instances, limit 50 a minute\n\n  round  read-then-increment  Penstock\n";
  for (int round = 1; round <= 5; ++round) {
    std::string const user = "user" + std::to_string(round);
    int const naive = in_two_processes([&] {
      redis::hiredis_pool pool(at, {.size = 20});
      return admitted_of_200([&] { return read_then_increment(pool, "naive:" + user); });
    });
    int const exact = in_two_processes([&] {
      redis::hiredis_pool pool(at, {.size = 20});
      redis::sliding_log<std::string> per_user(pool, "requests", {.limit = "50/min"_rate}, redis::fail_closed{1s}, {.timeout = 5s});
      return admitted_of_200([&] { return static_cast<bool>(per_user.allow(user)); });
    });
    std::cout << std::setw(7) << round << std::setw(21) << naive << std::setw(10) << exact << std::endl;
  }
}
