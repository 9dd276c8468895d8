#pragma once
// Penstock and its rivals behind one face, and the three levels at which keys can be: far from their limit, over it,
// and half of each.

#include "keys.hpp"
#include "rivals.hpp"

#include <penstock/penstock.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace bench {

using penstock::cost;

/// Time is given by the caller, who counts it up by a nanosecond a call.
using given_time = penstock::manual_clock;

template <class Clock>
inline constexpr char const* clock_name = nullptr;
template <>
inline constexpr char const* clock_name<given_time> = "given";
template <>
inline constexpr char const* clock_name<std::chrono::steady_clock> = "steady_clock";
template <>
inline constexpr char const* clock_name<penstock::tsc_clock> = "tsc_clock";
template <>
inline constexpr char const* clock_name<penstock::coarse_clock> = "coarse_clock";

template <class Clock>
inline constexpr typename Clock::time_point start{std::chrono::hours{1}};

enum class level : std::uint8_t { admitted, refused, half };
constexpr char const* name_of_level(level l) {
  return l == level::admitted ? "admitted" : l == level::refused ? "refused" : "half";
}
/// Is key number i over its limit at this level?
constexpr bool over(level l, std::size_t i) {
  return l == level::refused || (l == level::half && (i * 0x9e37'79b9'7f4a'7c15 >> 40 & 1) != 0);
}

/// A bucket that no benchmark can empty nor see recover: were the states to become fresh between two calls, one would
/// measure how a table takes keys in, not how it finds them.
inline constexpr std::uint64_t burst = 1'000'000'000'000'000'000;
inline constexpr penstock::token_bucket<>::config endless{.refill = penstock::per_second(1'000'000'000),
                                                          .burst = burst};
inline constexpr cost for_days{burst / 1000}, beyond_its_limit{2 * burst};

template <class Keys, class Clock>
class table {
 public:
  using keys = Keys;
  using clock = Clock;
  static constexpr char const* name = "penstock";

  explicit table(std::size_t max_keys, penstock::when_full full = penstock::when_full::inherit)
      : limiter(endless, {.max_keys = max_keys, .full = full}, Clock()) {}
  bool allow_at(typename Clock::time_point now, typename Keys::argument key) {
    return static_cast<bool>(limiter.allow_at(now, key));
  }
  bool allow(typename Keys::argument key) { return static_cast<bool>(limiter.allow(key)); }

  penstock::token_bucket<typename Keys::type, Clock> limiter;
};

template <class Contender>
bool call(Contender& contender, [[maybe_unused]] typename Contender::clock::time_point now,
          typename Contender::keys::argument key) {
  if constexpr (std::same_as<typename Contender::clock, given_time>)
    return contender.allow_at(now, key);
  else
    return contender.allow(key);
}

/// Makes key number i known, under or over its limit.
template <class Contender>
void set(Contender& contender, typename Contender::keys::argument key, bool is_over) {
  if constexpr (requires { contender.limiter; }) {
    cost const c = is_over ? beyond_its_limit : for_days;
    if constexpr (std::same_as<typename Contender::clock, given_time>)
      contender.limiter.charge_at(start<given_time>, key, c);
    else
      contender.limiter.charge(key, c);
  } else {
    contender.set(key, is_over ? -double_bucket::burst * 1e6 : double_bucket::burst / 2);
  }
}

template <class Contender>
void fill(Contender& contender, std::size_t keys, level l) {
  typename Contender::keys::maker key;
  for (std::size_t i = 0; i < keys; ++i) set(contender, key(i), over(l, i));
}

}  // namespace bench
