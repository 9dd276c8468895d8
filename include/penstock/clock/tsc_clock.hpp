#pragma once
// The processor's own time stamp counter as a clock: half the price of clock_gettime.
//
// Used only where the counter is invariant, one rate in all sleep states (CPUID 8000_0007h, EDX bit 8: Intel
// SDM 18.17.1, AMD APM vol. 3, E.4.5), and where a Linux kernel does not distrust it: it changes its own clock source
// when the counters of the cores disagree. Elsewhere every reading is std::chrono::steady_clock's.

#include <penstock/clock.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <cstdio>
#include <cstring>
#endif

namespace penstock::inline v0_1 {

/// Starts at steady_clock's reading and runs beside it. Its rate is measured once, during 10 ms of the first reading
/// (call calibrate() at start-up to choose when), to some millionths: in a day the two may part by a fraction of a
/// second. Concurrency: safe from any thread; a reading is never before the start.
class tsc_clock {
 public:
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<tsc_clock, duration>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    calibration const& c = measured();
    if (!c.counts) return time_point{steady()};
    std::uint64_t const tick = ticks();
    detail::wide const ns = detail::multiply(tick > c.first_tick ? tick - c.first_tick : 0, c.rate);
    return time_point{c.start + duration{static_cast<rep>(ns.high << 32 | ns.low >> 32)}};
  }

  /// Measures now what the first reading would measure otherwise. Returns whether the counter is used.
  static bool calibrate() noexcept { return measured().counts; }

 private:
  struct calibration {
    bool counts = false;
    std::uint64_t first_tick = 0;
    std::uint64_t rate = 0;  ///< nanoseconds per tick, times 2^32
    duration start{};
  };

  static duration steady() noexcept {
    return std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch());
  }

#if defined(__x86_64__) && defined(__GNUC__)
  static std::uint64_t ticks() noexcept { return __builtin_ia32_rdtsc(); }
  static bool invariant() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x8000'0007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0;
  }
#else
  static std::uint64_t ticks() noexcept { return 0; }
  static bool invariant() noexcept { return false; }
#endif

  static bool trusted_by_kernel() noexcept {
#if defined(__linux__)
    // Virtual machines often keep time by kvm-clock or Hyper-V's page, which are made of the counter too.
    std::FILE* const file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file == nullptr) return true;
    char name[64] = {};
    bool const read = std::fgets(name, sizeof name, file) != nullptr;
    std::fclose(file);
    return !read || (std::strncmp(name, "hpet", 4) != 0 && std::strncmp(name, "acpi_pm", 7) != 0);
#else
    return true;
#endif
  }

  struct pair {
    duration time;
    std::uint64_t tick;
  };
  /// Both clocks at one moment: the closest of several tries, since any one of them may be interrupted in between.
  static pair read_both() noexcept {
    pair best{};
    for (std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), tries = 0; tries < 16; ++tries) {
      std::uint64_t const before = ticks();
      duration const time = steady();
      std::uint64_t const width = ticks() - before;
      if (width >= least) continue;
      least = width;
      best = {time, before + width / 2};
    }
    return best;
  }

  static calibration const& measured() noexcept {
    static calibration const once = measure();
    return once;
  }

  static calibration measure() noexcept {
    calibration c;
    if (!invariant() || !trusted_by_kernel()) return c;
    constexpr duration least = std::chrono::milliseconds{10};
    pair const begin = read_both();
    while (steady() - begin.time < least) {
    }
    pair const end = read_both();
    if (end.tick <= begin.tick) return c;
    auto const elapsed = static_cast<std::uint64_t>((end.time - begin.time).count());
    c.rate = detail::divide({elapsed >> 32, elapsed << 32}, end.tick - begin.tick);
    c.counts = c.rate != 0;
    c.first_tick = end.tick;
    c.start = end.time;
    return c;
  }
};

}  // namespace penstock::inline v0_1
