// time.hpp: readings become instants, and the arithmetic is exact.

#include <penstock/time.hpp>

#include "arithmetic.hpp"
#include "random.hpp"
#include "support/catch.hpp"

#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

/// What to_instant makes of a reading of that many ticks, in nanoseconds.
template <class Rep, class Period>
std::int64_t reading(Rep ticks) {
  struct clock {};
  using ticking = std::chrono::duration<Rep, Period>;
  return to_instant(std::chrono::time_point<clock, ticking>{ticking{ticks}}).time_since_epoch().count();
}

constexpr std::int64_t last = std::int64_t{1} << 62;
constexpr auto most = std::numeric_limits<std::int64_t>::max();
constexpr auto least = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("a reading in nanoseconds is an instant, clamped to 2^62 on both sides") {
  struct row {
    std::int64_t ticks, expected;
  };
  row const rows[] = {{0, 0},           {1, 1},       {-1, -1},       {last - 1, last - 1}, {last, last},
                      {last + 1, last}, {most, last}, {-last, -last}, {-last - 1, -last},   {least, -last}};
  for (auto const& r : rows) {
    INFO(r.ticks);
    CHECK(reading<std::int64_t, std::nano>(r.ticks) == r.expected);
  }
}

TEST_CASE("a coarse reading is converted exactly, and clamped before it could overflow") {
  CHECK(reading<std::int64_t, std::ratio<1>>(3) == 3'000'000'000);
  CHECK(reading<std::int64_t, std::ratio<1>>(-3) == -3'000'000'000);
  CHECK(reading<std::int64_t, std::milli>(-1) == -1'000'000);
  CHECK(reading<std::int64_t, std::ratio<3600>>(1'000'000) == 3'600'000'000'000'000'000);
  CHECK(reading<std::int64_t, std::ratio<1>>(most) == last);
  CHECK(reading<std::int64_t, std::ratio<1>>(least) == -last);
  CHECK(reading<std::int64_t, std::micro>(most) == last);
  CHECK(reading<std::int64_t, std::micro>(least) == -last);
  CHECK(reading<std::int64_t, std::ratio<86'400>>(most) == last);
  CHECK(reading<std::int32_t, std::ratio<1>>(2'000'000'000) == 2'000'000'000'000'000'000);
  CHECK(reading<std::int8_t, std::ratio<3600>>(100) == 360'000'000'000'000);
  CHECK(reading<std::int16_t, std::milli>(-30'000) == -30'000'000'000);
}

TEST_CASE("the last whole tick before the clamp is still exact") {
  CHECK(reading<std::int64_t, std::ratio<1>>(4'611'686'017) == 4'611'686'017'000'000'000);
  CHECK(reading<std::int64_t, std::ratio<1>>(4'611'686'018) == 4'611'686'018'000'000'000);
  CHECK(reading<std::int64_t, std::ratio<1>>(-4'611'686'018) == -4'611'686'018'000'000'000);
  CHECK(reading<std::int64_t, std::ratio<1>>(4'611'686'019) == last);
  CHECK(reading<std::int64_t, std::ratio<1>>(-4'611'686'019) == -last);
  CHECK(reading<std::int64_t, std::ratio<3600>>(1'281'023) == 1'281'023 * std::int64_t{3'600'000'000'000});
}

TEST_CASE("an unsigned clock reads as a signed one does") {
  CHECK(reading<std::uint32_t, std::milli>(5) == 5'000'000);
  CHECK(reading<std::uint32_t, std::ratio<1>>(4'000'000'000) == 4'000'000'000'000'000'000);
  CHECK(reading<std::uint64_t, std::nano>(5) == 5);
  CHECK(reading<std::uint64_t, std::milli>(0) == 0);
  CHECK(reading<std::uint64_t, std::milli>(5) == 5'000'000);
  CHECK(reading<std::uint64_t, std::ratio<1>>(3'600) == 3'600'000'000'000);
  CHECK(reading<std::uint64_t, std::ratio<1>>(std::numeric_limits<std::uint64_t>::max()) == last);
  CHECK(reading<std::uint64_t, std::nano>(std::numeric_limits<std::uint64_t>::max()) == last);
}

TEST_CASE("a finer reading is rounded down, before the epoch too") {
  CHECK(reading<std::int64_t, std::pico>(1'999) == 1);
  CHECK(reading<std::int64_t, std::pico>(-1) == -1);
  CHECK(reading<std::int64_t, std::pico>(-1'000) == -1);
  CHECK(reading<std::int64_t, std::pico>(-1'001) == -2);
  CHECK(reading<std::int64_t, std::pico>(most) == most / 1'000);
  CHECK(reading<std::int64_t, std::pico>(least) == least / 1'000 - 1);
}

TEST_CASE("a clock may count in floating point") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(reading<double, std::ratio<1>>(1.5) == 1'500'000'000);
  CHECK(reading<double, std::ratio<1>>(-1.5) == -1'500'000'000);
  CHECK(reading<double, std::ratio<1>>(1e300) == last);
  CHECK(reading<double, std::ratio<1>>(-1e300) == -last);
  CHECK(reading<double, std::ratio<1>>(infinity) == last);
  CHECK(reading<double, std::ratio<1>>(-infinity) == -last);
  CHECK(reading<float, std::ratio<3600>>(0.5F) == 1'800'000'000'000);
  CHECK(reading<double, std::nano>(2.75) == 2);
  CHECK(reading<double, std::nano>(-0.25) == -1);
  CHECK(reading<double, std::nano>(1e30) == last);
  CHECK(reading<double, std::nano>(-1e30) == -last);
  CHECK(reading<double, std::pico>(1e30) == last);
  CHECK(reading<double, std::pico>(-infinity) == -last);
}

TEST_CASE("what a clock counts in floating point and is not a number, is the earliest reading, also with -ffast-math") {
  constexpr std::uint64_t infinity = 0x7ff0'0000'0000'0000, sign = std::uint64_t{1} << 63;
  for (std::uint64_t const bits : {infinity + 1, infinity + (std::uint64_t{1} << 51), ~sign}) {
    CHECK(reading<double, std::ratio<1>>(std::bit_cast<double>(bits)) == -last);
    CHECK(reading<double, std::nano>(std::bit_cast<double>(bits | sign)) == -last);
  }
  CHECK(reading<float, std::ratio<60>>(std::bit_cast<float>(std::uint32_t{0x7fc0'0000})) == -last);
}

TEST_CASE("a clock may tick in any fraction of a second, for decades") {
  constexpr std::int64_t decade = 315'576'000;  // seconds
  using quartz = std::ratio<1, 32'768>;
  using third = std::ratio<1, 3>;
  using mach = std::ratio<125, 3'000'000'000>;
  CHECK(reading<std::int64_t, quartz>(32'768) == 1'000'000'000);
  CHECK(reading<std::int64_t, quartz>(1) == 30'517);
  CHECK(reading<std::int64_t, quartz>(-1) == -30'518);
  CHECK(reading<std::int64_t, quartz>(decade * 32'768) == decade * 1'000'000'000);
  CHECK(reading<std::int64_t, quartz>(-decade * 32'768) == -decade * 1'000'000'000);
  CHECK(reading<std::int64_t, quartz>(most) == last);
  CHECK(reading<std::int64_t, third>(14 * decade * 3) == 14 * decade * 1'000'000'000);
  CHECK(reading<std::int64_t, third>(most) == last);
  CHECK(reading<std::int64_t, mach>(24'000'000) == 1'000'000'000);
  CHECK(reading<std::int64_t, mach>(14 * decade * 24'000'000) == 14 * decade * 1'000'000'000);
}

TEST_CASE("the differences of the extremes fit") {
  CHECK(detail::between(earliest, latest) == std::uint64_t{1} << 63);
  CHECK(detail::between(latest, latest) == 0);
  CHECK((latest + longest_period).time_since_epoch() > latest.time_since_epoch());
  CHECK((earliest - longest_period).time_since_epoch() < earliest.time_since_epoch());
}

TEST_CASE("128-bit products and quotients are exact") {
  using detail::wide;
  arithmetic::is_exact<wide>([](std::uint64_t a, std::uint64_t b) { return detail::multiply(a, b); },
                             [](wide a, std::uint64_t b) { return detail::divide(a, b); },
                             [](wide a, std::uint64_t b) { return detail::ceil_divide(a, b); });
}

TEST_CASE("division of one word rounds as its name says, below zero too") {
  for (std::int64_t a = -50; a <= 50; ++a)
    for (std::int64_t b = 1; b <= 12; ++b) {
      std::int64_t const q = detail::floor_divide(a, b);
      CHECK((q * b <= a && a < (q + 1) * b));
    }
  CHECK(detail::floor_divide(least, most) == -2);
  CHECK(detail::floor_divide(least, 1) == least);
  CHECK(detail::floor_divide(most, most) == 1);
  CHECK(detail::floor_divide(-1, most) == -1);

  constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t a = 0; a <= 50; ++a)
    for (std::uint64_t b = 1; b <= 12; ++b) {
      std::uint64_t const q = detail::ceil_divide(a, b);
      CHECK((q * b >= a && (q == 0 || (q - 1) * b < a)));
    }
  CHECK(detail::ceil_divide(largest, std::uint64_t{1}) == largest);
  CHECK(detail::ceil_divide(largest, std::uint64_t{2}) == std::uint64_t{1} << 63);
  CHECK(detail::ceil_divide(largest, largest) == 1);
}

TEST_CASE("nanoseconds that do not fit a duration are the longest one") {
  CHECK(detail::nanoseconds_of(0) == 0ns);
  CHECK(detail::nanoseconds_of(5) == 5ns);
  CHECK(detail::nanoseconds_of(static_cast<std::uint64_t>(most)) == duration::max());
  CHECK(detail::nanoseconds_of(std::numeric_limits<std::uint64_t>::max()) == duration::max());
}
