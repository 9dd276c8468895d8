// Two processes, many threads, one count.

#include "support/server.hpp"

#include <support/catch.hpp>

#include <penstock/penstock.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace penstock::literals;
namespace algorithm = penstock::algorithm;
namespace redis = penstock::redis;

struct tally {
  int admitted = 0, degraded = 0;
};

template <class Ask>
tally ask_from_threads(Ask ask) {
  std::atomic<int> admitted{0}, degraded{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 20; ++t)
    threads.emplace_back([&] {
      for (int call = 0; call < 20; ++call) {
        auto const d = ask();
        admitted += static_cast<bool>(d);
        degraded += static_cast<bool>(d.error);
      }
    });
  for (auto& t : threads) t.join();
  return {admitted, degraded};
}

/// make_and_ask() -> tally, here and in a process forked off.
template <class Run>
tally in_two_processes(Run run) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::pid_t const child = ::fork();
  if (child == 0) {
    tally const there = run();
    bool const told = ::write(ends[1], &there, sizeof there) == sizeof there;
    ::_exit(told ? 0 : 1);
  }
  tally const here = run();
  tally there;
  REQUIRE(::read(ends[0], &there, sizeof there) == sizeof there);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  return {here.admitted + there.admitted, here.degraded + there.degraded};
}

template <class A>
void admits_exactly_50(typename A::config const& config) {
  std::string const id = test::fresh_id("count");
  auto const at = test::shared_server().at();
  tally const all = in_two_processes([&] {
    redis::hiredis_pool pool(at);
    redis::limiter<A, std::string, redis::hiredis_pool> limited(pool, id, config, redis::fail_closed{1h},
                                                                {.timeout = 10s});
    return ask_from_threads([&] { return limited.allow("k"); });
  });
  INFO(A::name);
  CHECK(all.admitted == 50);
  CHECK(all.degraded == 0);
}

}  // namespace

TEST_CASE("2 processes of 20 threads ask 800 times: exactly 50 are admitted, whatever the algorithm") {
  admits_exactly_50<algorithm::token_bucket>({.refill = "50/10 d"_rate});
  admits_exactly_50<algorithm::leaky_meter>({.drain = "50/10 d"_rate});
  admits_exactly_50<algorithm::leaky_queue>({.drain = "50/10 d"_rate});
  admits_exactly_50<algorithm::fixed_window>({.limit = "50/h"_rate, .starts = penstock::window_start::first_request});
  admits_exactly_50<algorithm::sliding_counter>({.limit = "50/1000 d"_rate});
  admits_exactly_50<algorithm::sliding_log>({.limit = "50/h"_rate});
}

TEST_CASE("a stack of 50 and 30 admits 30, and debits the looser exactly 30") {
  std::string const loose_id = test::fresh_id("count"), tight_id = test::fresh_id("count");
  auto const at = test::shared_server().at();
  auto const with_stack = [&](auto use) {
    redis::hiredis_pool pool(at);
    redis::options const patient{.timeout = 10s};
    redis::sliding_log<std::string> loose(pool, loose_id, {.limit = "50/h"_rate}, redis::fail_closed{1h}, patient);
    redis::token_bucket<std::string> tight(pool, tight_id, {.refill = "30/10 d"_rate}, redis::fail_closed{1h}, patient);
    auto const self = [](std::string_view who) { return who; };
    auto limits = redis::stack(penstock::layer("loose", loose, self), penstock::layer("tight", tight, self));
    return use(limits, loose);
  };
  tally const all = in_two_processes([&] {
    return with_stack(
        [](auto& limits, auto&) { return ask_from_threads([&] { return limits.allow(std::string_view("k")); }); });
  });
  CHECK(all.admitted == 30);
  CHECK(all.degraded == 0);
  CHECK(with_stack([](auto&, auto& loose) { return loose.peek("k", penstock::cost{0}).remaining; }) == 20);
}

TEST_CASE("leases save round trips, and K instances exceed the limit by at most K leases") {
  redis::hiredis_pool& pool = test::shared_pool();
  redis::options const lending{.timeout = 5s, .lease = {.units = 10, .valid_for = 60s}};
  std::string const id = test::fresh_id("lease");
  redis::token_bucket<std::string> first(pool, id, {.refill = "100/10 d"_rate}, redis::fail_closed{1h}, lending);
  redis::token_bucket<std::string> second(pool, id, {.refill = "100/10 d"_rate}, redis::fail_closed{1h}, lending);
  int admitted = 0;
  for (int call = 0; call < 80; ++call) {
    admitted += static_cast<bool>(first.allow("k"));
    admitted += static_cast<bool>(second.allow("k"));
  }
  CHECK(admitted == 100);  // every unit is spent once, none is made up
  CHECK(first.stats().by_lease + second.stats().by_lease == 90);
  CHECK(first.stats().round_trips + second.stats().round_trips <= 14);
  CHECK(first.allow("k").from == redis::origin::deny_cache);
}
