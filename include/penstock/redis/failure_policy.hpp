#pragma once
// What a limiter answers while the store cannot: a choice that nobody can make for you, so it has no default.

#include <penstock/algorithm/arrival.hpp>
#include <penstock/config_error.hpp>
#include <penstock/rate.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <variant>

namespace penstock::inline v0_1::redis {

/// Everything is admitted: where refusing the rightful costs more than letting too many in.
struct fail_open {};

/// Everything is refused, to be tried again after retry_after: where a count above the limit costs money or safety.
struct fail_closed {
  std::chrono::nanoseconds retry_after;
};

/// An in-process limiter of the same kind decides, with this share of the limit: 1 / instances keeps the sum. It is
/// kept warm by charging it whatever Redis admits here, so that an outage does not begin with a fresh allowance.
struct local {
  double fraction;
};

using failure_policy = std::variant<fail_open, fail_closed, local>;

namespace detail {

inline void check_policy(failure_policy const& policy) {
  if (auto const* const closed = std::get_if<fail_closed>(&policy);
      closed && closed->retry_after <= std::chrono::nanoseconds::zero())
    penstock::detail::refuse({"fail_closed", "retry_after"}, std::to_string(closed->retry_after.count()) + " ns",
                             "more than 0");
  if (auto const* const share = std::get_if<local>(&policy); share && !(share->fraction > 0 && share->fraction <= 1))
    penstock::detail::refuse({"local", "fraction"}, std::to_string(share->fraction), "above 0, up to 1");
}

/// At least one unit, else rounded down.
inline std::uint64_t share_of(std::uint64_t units, double fraction) {
  double const share = std::floor(static_cast<double>(units) * fraction);
  return share < 1 ? 1 : share >= static_cast<double>(units) ? units : static_cast<std::uint64_t>(share);
}
/// The same count in a longer time, rounded up: to a rate that can be kept, if units come so fast that not all can.
inline rate slower(rate r, double fraction) {
  double const period = std::ceil(static_cast<double>(r.period.count()) / fraction);
  auto const longest = penstock::longest_period;
  rate const share{r.count, period >= static_cast<double>(longest.count())
                                ? longest
                                : std::max(r.period, duration{static_cast<std::int64_t>(period)})};
  using algorithm::best_units, algorithm::time_units, algorithm::unit_interval;
  if (share.count == 0 || unit_interval(share, best_units(share).per_nanosecond()).is_kept()) return share;
  return {time_units::most, duration{static_cast<std::int64_t>(unit_interval(share, time_units::most).length)}};
}

/// A configuration with this share of the limit.
template <class Config>
Config scaled(Config c, double fraction) {
  if constexpr (requires { c.refill; }) {
    c.refill = slower(c.refill, fraction);
    c.burst = share_of(c.burst, fraction);
  } else if constexpr (requires { c.drain; }) {
    c.drain = slower(c.drain, fraction);
    c.capacity = share_of(c.capacity, fraction);
  } else if constexpr (requires { c.rules; }) {
    std::apply([&](auto&... rule) { ((rule = scaled(rule, fraction)), ...); }, c.rules);
  } else {
    c.limit.count = share_of(c.limit.count, fraction);
  }
  return c;
}

}  // namespace detail
}  // namespace penstock::inline v0_1::redis
