// clock/manual_clock.hpp, clock/coarse_clock.hpp and clock/tsc_clock.hpp. (That they are clocks: static/clock.cpp.)

#include <penstock/clock/coarse_clock.hpp>
#include <penstock/clock/manual_clock.hpp>
#include <penstock/clock/tsc_clock.hpp>
#include <penstock/limiters.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstdint>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

std::chrono::nanoseconds steady() { return std::chrono::steady_clock::now().time_since_epoch(); }

template <class Clock>
void never_goes_back() {
  int back = 0;
  auto last = Clock::now();
  for (int i = 0; i < 1'000'000; ++i) {
    auto const next = Clock::now();
    if (next < last) ++back;
    last = next;
  }
  CHECK(back == 0);
}

/// Between two readings of steady_clock, or beside them by no more than that.
template <class Clock>
void is_near_steady_clock(std::chrono::nanoseconds tolerance) {
  for (int i = 0; i < 100; ++i) {
    std::chrono::nanoseconds const before = steady();
    std::chrono::nanoseconds const reading = Clock::now().time_since_epoch();
    std::chrono::nanoseconds const after = steady();
    CHECK(reading >= before - tolerance);
    CHECK(reading <= after + tolerance);
  }
}

}  // namespace

TEST_CASE("a manual clock stands still until it is moved") {
  manual_clock clock;
  CHECK(clock.now() == manual_clock::time_point{});
  CHECK(clock.now() == clock.now());
  clock.advance(90s);
  CHECK(clock.now().time_since_epoch() == 90s);
  clock.advance(-30s);
  CHECK(clock.now().time_since_epoch() == 60s);
  clock.set(5ns);
  CHECK(clock.now().time_since_epoch() == 5ns);
  clock.set(manual_clock::time_point{-7h});
  CHECK(clock.now().time_since_epoch() == -7h);
}

TEST_CASE("a manual clock starts where it is told to") {
  CHECK(manual_clock{42s}.now().time_since_epoch() == 42s);
  CHECK(manual_clock{manual_clock::time_point{42s}}.now().time_since_epoch() == 42s);
}

TEST_CASE("copies of a manual clock share one hand; two clocks do not") {
  manual_clock clock, other;
  manual_clock copy = clock;
  clock.advance(1s);
  CHECK(copy.now() == clock.now());
  copy.advance(1s);
  CHECK(clock.now().time_since_epoch() == 2s);
  CHECK(other.now() == manual_clock::time_point{});
  other = clock;
  clock.set(9s);
  CHECK(other.now().time_since_epoch() == 9s);
}

TEST_CASE("a limiter is moved on by the clock that it was given") {
  manual_clock clock{1'000s};
  token_bucket<no_key, manual_clock> limit({.refill = per_second(1), .burst = 1}, clock);
  CHECK(limit.allow());
  CHECK_FALSE(limit.allow());
  clock.advance(1s - 1ns);
  CHECK_FALSE(limit.allow());
  clock.advance(1ns);
  CHECK(limit.allow());
  CHECK(limit.clock().now() == clock.now());
}

TEST_CASE("the coarse clock never goes back, and is a few ticks behind the steady one at most") {
  never_goes_back<coarse_clock>();
  is_near_steady_clock<coarse_clock>(1s);
}

TEST_CASE("the coarse clock is not ahead of the steady one") {
  for (int i = 0; i < 1'000; ++i) {
    std::chrono::nanoseconds const reading = coarse_clock::now().time_since_epoch();
    if (reading > steady()) FAIL("reading " << i);
  }
}

TEST_CASE("the tsc clock never goes back, and runs beside the steady one") {
  static_cast<void>(tsc_clock::calibrate());
  never_goes_back<tsc_clock>();
  is_near_steady_clock<tsc_clock>(100ms);
}

TEST_CASE("the tsc clock is calibrated once") {
  bool const counts = tsc_clock::calibrate();
  auto const before = tsc_clock::now();
  CHECK(tsc_clock::calibrate() == counts);
  CHECK(tsc_clock::now() - before < 10s);
}

TEST_CASE("a limiter may read any of the clocks") {
  auto const counts_to_three = []<class Clock>(Clock) {
    token_bucket<no_key, Clock> limit({.refill = per_day(1), .burst = 3});
    int passed = 0;
    for (int i = 0; i < 10; ++i) passed += limit.allow() ? 1 : 0;
    CHECK(passed == 3);
    CHECK(limit.peek().retry_after > 23h);
    CHECK(limit.peek().retry_after <= 24h);
  };
  counts_to_three(coarse_clock{});
  counts_to_three(tsc_clock{});
  counts_to_three(std::chrono::steady_clock{});
  counts_to_three(std::chrono::system_clock{});
}
