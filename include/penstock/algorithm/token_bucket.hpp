#pragma once
// Token bucket: a bucket holds up to `burst` tokens and gains them at `refill`; a call of cost c takes c, or is refused
// and takes none. RFC 2697, section 3; kept as a theoretical arrival time (arrival.hpp), not as a count of tokens.
//
// Admits a burst at once, then the steady rate: at most burst + refill * T in any closed interval of length T. It is
// the mirror image of leaky_meter, with the same verdicts: choose the one in whose words you think, what is left
// (bucket) or what has piled up (meter).

#include <penstock/algorithm/arrival.hpp>

#include <string_view>

namespace penstock::inline v0_1::algorithm {

class token_bucket : public metered {
 public:
  static constexpr std::string_view name = "token_bucket";
  struct config {
    rate refill;
    std::uint64_t burst = refill.count;
  };

  /// Throws config_error: a zero count or burst, a period that is not positive or over 100 years, a burst that takes
  /// longer than 2^60/M ns to refill, a rate that cannot be expressed to 0.2 %.
  constexpr explicit token_bucket(config const& c, instant origin = {})
      : token_bucket(c, time_units{best_units(c.refill).per_nanosecond(), origin}) {}
  /// In given units, so that it can share states with others.
  constexpr token_bucket(config const& c, time_units units)
      : metered({"token_bucket", "refill"}, c.refill, {"token_bucket", "burst"}, c.burst, units) {}

  /// The same algorithm with another configuration, for states that this one wrote.
  constexpr token_bucket successor(config const& c) const { return token_bucket(c, units()); }

  /// The units that suit all these configurations best.
  template <class Configs>
  static constexpr time_units units_for(Configs const& configs, instant origin) noexcept {
    best_units best;
    for (config const& c : configs) best.consider(c.refill);
    return {best.per_nanosecond(), origin};
  }
};

/// The largest refill with which a bucket of this burst never lets more than `ceiling.count` units through in any
/// closed interval of `ceiling.period`: burst + refill * period <= count. 100 per 10 s with burst 40: 60 per 10 s.
/// Throws config_error when the burst alone reaches the ceiling.
constexpr rate refill_within(rate ceiling, std::uint64_t burst) {
  detail::check_rate({"refill_within", "ceiling"}, ceiling);
  if (burst == 0 || burst >= ceiling.count)
    detail::refuse({"refill_within", "burst"}, std::to_string(burst),
                   "at least 1 and below the ceiling's count, " + std::to_string(ceiling.count));
  return {ceiling.count - burst, ceiling.period};
}

}  // namespace penstock::inline v0_1::algorithm

namespace penstock::inline v0_1 {
using algorithm::refill_within;
}
