#pragma once
// Leaky bucket as a meter: a bucket of `capacity` drains at `drain`; a call of cost c pours c in, or is refused when it
// would overflow. J. Turner, "New directions in communications", 1986; ITU-T I.371, annex A.
//
// The mirror image of token_bucket: what has piled up here is what is missing there, and the verdicts are the same.

#include <penstock/algorithm/arrival.hpp>

#include <string_view>

namespace penstock::inline v0_1::algorithm {

class leaky_meter : public metered {
 public:
  static constexpr std::string_view name = "leaky_meter";
  struct config {
    rate drain;
    std::uint64_t capacity = drain.count;
  };

  /// Throws config_error for the same reasons as token_bucket.
  constexpr explicit leaky_meter(config const& c, instant origin = {})
      : leaky_meter(c, time_units{best_units(c.drain).per_nanosecond(), origin}) {}
  /// In given units, so that it can share states with others.
  constexpr leaky_meter(config const& c, time_units units)
      : metered({"leaky_meter", "drain"}, c.drain, {"leaky_meter", "capacity"}, c.capacity, units) {}

  /// The same algorithm with another configuration, for states that this one wrote.
  constexpr leaky_meter successor(config const& c) const { return leaky_meter(c, units()); }

  /// The units that suit all these configurations best.
  template <class Configs>
  static constexpr time_units units_for(Configs const& configs, instant origin) noexcept {
    best_units best;
    for (config const& c : configs) best.consider(c.drain);
    return {best.per_nanosecond(), origin};
  }
};

}  // namespace penstock::inline v0_1::algorithm
