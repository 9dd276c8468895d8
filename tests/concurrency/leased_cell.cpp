// store/leased_cell.hpp with threads that run freely. Bounded by counts, not by time.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/store/leased_cell.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

using hot_bucket = token_bucket<no_key, manual_clock, store::leased_cell>;

void in_threads(int count, auto work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& t : threads) t.join();
}

}  // namespace

TEST_CASE("threads on one leased cell and a standing clock admit exactly its limit") {
  for (std::uint64_t const size : {50U, 2'048U, 30'000U}) {
    hot_bucket limit({.refill = per_second(1'000), .burst = size});
    std::atomic<std::uint64_t> admitted{0};
    in_threads(8, [&](int) {
      std::uint64_t mine = 0;
      while (limit.allow()) ++mine;
      admitted += mine;
    });
    while (limit.allow()) ++admitted;  // what a thread gave back after another was refused
    CHECK(admitted == size);
  }
}

TEST_CASE("threads that come, take a little and go leave nothing behind") {
  hot_bucket limit({.refill = per_second(1'000), .burst = 30'000});
  for (int round = 0; round < 50; ++round)
    in_threads(8, [&](int thread) {
      for (int call = 0; call <= thread; ++call)
        if (!limit.allow()) std::abort();
    });
  CHECK(limit.peek(cost{0}).remaining == 30'000 - 50 * 36);
}

TEST_CASE("while time goes on, threads on a leased cell stay within the bound") {
  manual_clock clock{100s};
  hot_bucket limit({.refill = per_second(100'000), .burst = 2'048}, clock);
  std::atomic<std::uint64_t> admitted{0};
  in_threads(8, [&](int thread) {
    std::uint64_t mine = 0;
    for (int call = 0; call < 20'000; ++call) {
      if (thread == 0 && call % 4 == 0) clock.advance(10us);  // one unit each time
      mine += limit.allow() ? 1 : 0;
    }
    admitted += mine;
  });
  CHECK(admitted <= 2'048 + 5'000);
  CHECK(admitted >= 5'000);
}

TEST_CASE("cells come and go while threads use others") {
  std::atomic<std::uint64_t> wrong{0};
  in_threads(4, [&](int) {
    for (int round = 0; round < 200; ++round) {
      auto limit = std::make_unique<hot_bucket>(hot_bucket::config{.refill = per_second(1'000), .burst = 200});
      std::uint64_t admitted = 0;
      std::thread other([&] {
        for (int call = 0; call < 50; ++call) admitted += limit->allow() ? 1 : 0;
      });
      other.join();
      while (limit->allow()) ++admitted;
      if (admitted > 200 || admitted < 197) ++wrong;  // a thread that ended may strand a lease of three
    }
  });
  CHECK(wrong == 0);
}
