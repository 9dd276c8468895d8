#pragma once
// Time and the whole-number arithmetic on it.
//
// Inside Penstock every moment is an `instant`: signed nanoseconds since the epoch of whichever clock the limiter was
// given. Readings are clamped to +-2^62 ns (146 years), so that the sum of an instant and the longest window (100
// years) always fits 64 bits; how far two instants are apart fits 64 bits without a sign (ahead_by, between).

#include <bit>
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>
#include <utility>

namespace penstock::inline v0_1 {

using duration = std::chrono::nanoseconds;

/// What instants are counted along. Not a clock: it has no now(); see std::chrono::local_t for the precedent.
struct timeline {};

/// A moment, in nanoseconds since the epoch of the limiter's clock.
using instant = std::chrono::time_point<timeline, duration>;

/// The first and the last reading; whatever lies beyond counts as these.
inline constexpr instant earliest{duration{-(std::int64_t{1} << 62)}};
inline constexpr instant latest{duration{std::int64_t{1} << 62}};

/// The longest period of a rate and the longest window: 100 Julian years.
inline constexpr duration longest_period = std::chrono::days{36'525};

namespace detail {

/// a / b rounded down, also for negative a; b > 0.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }

/// What that leaves of a, from 0 to b - 1.
constexpr std::int64_t floor_modulo(std::int64_t a, std::int64_t b) noexcept { return a % b + (a % b < 0 ? b : 0); }

/// By its bits: -ffast-math lets a compiler assume that what it compares is a number.
constexpr bool is_no_number(double x) noexcept {
  constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << 53;
  return std::bit_cast<std::uint64_t>(x) << 1 > infinity;
}

}  // namespace detail

/// A reading of any clock as an instant: rounded down to nanoseconds, clamped to [earliest, latest].
template <class Clock, class Duration>
[[gnu::always_inline]] constexpr instant to_instant(std::chrono::time_point<Clock, Duration> reading) noexcept {
  using tick = std::ratio_divide<typename Duration::period, std::nano>;
  auto const ticks = reading.time_since_epoch().count();
  constexpr auto most = latest.time_since_epoch().count();
  if constexpr (std::is_floating_point_v<typename Duration::rep>) {
    auto const ns = static_cast<long double>(ticks) * tick::num / tick::den;
    if (detail::is_no_number(static_cast<double>(ticks)) || ns <= -static_cast<long double>(most)) return earliest;
    if (ns >= static_cast<long double>(most)) return latest;
    auto const whole = static_cast<std::int64_t>(ns);
    return instant{duration{static_cast<long double>(whole) > ns ? whole - 1 : whole}};
  } else {
    // ticks * num / den, the whole multiples of den first: nothing overflows before it is clamped.
    if (std::cmp_greater(ticks, std::numeric_limits<std::int64_t>::max())) return latest;
    auto const count = static_cast<std::int64_t>(ticks);
    std::int64_t const wholes = detail::floor_divide(count, tick::den), rest = detail::floor_modulo(count, tick::den);
    if constexpr (tick::num > 1) {
      if (wholes > most / tick::num) return latest;
      if (wholes < -most / tick::num) return earliest;
    }
    std::int64_t const ns = wholes * tick::num + rest * tick::num / tick::den;
    if ((ns ^ (ns << 1)) < 0) [[unlikely]]  // the two highest bits differ: 2^62 or more, or less than -2^62
      return ns < 0 ? earliest : latest;
    return instant{duration{ns}};
  }
}

namespace detail {

/// a / b rounded up; b > 0.
constexpr std::uint64_t ceil_divide(std::uint64_t a, std::uint64_t b) noexcept { return a / b + (a % b != 0 ? 1 : 0); }

/// Nanoseconds as a duration; what does not fit is the longest one.
constexpr duration nanoseconds_of(std::uint64_t n) noexcept {
  return n < static_cast<std::uint64_t>(duration::max().count()) ? duration{static_cast<std::int64_t>(n)}
                                                                 : duration::max();
}

/// from a to b as an unsigned count of nanoseconds; a <= b.
constexpr std::uint64_t between(instant a, instant b) noexcept {
  return static_cast<std::uint64_t>(b.time_since_epoch().count()) -
         static_cast<std::uint64_t>(a.time_since_epoch().count());
}

/// By how much a is later than b; 0 when it is not.
constexpr std::uint64_t ahead_by(std::int64_t a, std::int64_t b) noexcept {
  return a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b) : 0;
}

/// A 128-bit unsigned product, for comparing products exactly.
struct wide {
  std::uint64_t high{}, low{};
  friend constexpr auto operator<=>(wide const&, wide const&) = default;
};

#if defined(__SIZEOF_INT128__)
__extension__ using uint128 = unsigned __int128;

constexpr wide multiply(std::uint64_t a, std::uint64_t b) noexcept {
  auto const product = static_cast<uint128>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}

/// a / b rounded down, at most 2^64 - 1; b > 0.
constexpr std::uint64_t divide(wide a, std::uint64_t b) noexcept {
  if (a.high >= b) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(((static_cast<uint128>(a.high) << 64) | a.low) / b);
}
#else
constexpr wide multiply(std::uint64_t a, std::uint64_t b) noexcept {  // schoolbook, in 32-bit halves
  constexpr std::uint64_t half = 0xffff'ffff;
  std::uint64_t const low = (a & half) * (b & half);
  std::uint64_t const middle = (a >> 32) * (b & half) + (low >> 32);
  std::uint64_t const cross = (a & half) * (b >> 32) + (middle & half);
  return {(a >> 32) * (b >> 32) + (middle >> 32) + (cross >> 32), (cross << 32) | (low & half)};
}

constexpr std::uint64_t divide(wide a, std::uint64_t b) noexcept {  // long division, bit by bit
  if (a.high >= b) return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t rest = a.high, quotient = 0;
  for (int bit = 63; bit >= 0; --bit) {
    bool const carry = (rest >> 63) != 0;
    rest = (rest << 1) | ((a.low >> bit) & 1);
    bool const fits = carry || rest >= b;
    if (fits) rest -= b;
    quotient = (quotient << 1) | (fits ? 1 : 0);
  }
  return quotient;
}
#endif

/// a / b rounded up, at most 2^64 - 1; b > 0.
constexpr std::uint64_t ceil_divide(wide a, std::uint64_t b) noexcept {
  std::uint64_t const quotient = divide(a, b);
  return multiply(quotient, b) < a && quotient != std::numeric_limits<std::uint64_t>::max() ? quotient + 1 : quotient;
}

}  // namespace detail
}  // namespace penstock::inline v0_1
