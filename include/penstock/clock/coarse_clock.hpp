#pragma once
// The time of the last kernel tick: a few nanoseconds to read, right to a few milliseconds (1/HZ).

#include <penstock/clock.hpp>

#include <chrono>
#include <cstdint>
#if defined(__linux__)
#include <time.h>
#endif

namespace penstock::inline v0_1 {

/// CLOCK_MONOTONIC_COARSE where there is one (Linux), elsewhere std::chrono::steady_clock. For limits of many
/// milliseconds; waits are exact on its own readings, which jump from tick to tick.
struct coarse_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<coarse_clock, duration>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
#if defined(__linux__)
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + duration{t.tv_nsec}};
#else
    return time_point{std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch())};
#endif
  }
};

}  // namespace penstock::inline v0_1
