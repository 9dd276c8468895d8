#pragma once
// Units taken ahead: one round trip fetches several, which are then spent here. Buckets and meters only, and opt-in.
//
// The price is exactness. K instances that take N units at a time and keep them for tau admit, in any interval w, at
// most burst + rate * w + min(K * N, rate * tau). Units not spent within tau are lost to everybody.

#include <penstock/cost.hpp>
#include <penstock/decision.hpp>
#include <penstock/redis/bounded_map.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::inline v0_1::redis {

struct lease_options {
  std::uint64_t units = 0;                                              ///< N, taken at a time; 0: no leases
  std::chrono::nanoseconds valid_for = std::chrono::milliseconds{500};  ///< tau
  std::size_t max_keys = 4096;
};

namespace detail {

/// Concurrency: safe from any thread.
class lease_book {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit lease_book(lease_options const& o) : options_(o), held_(o.units == 0 ? 0 : o.max_keys) {}

  bool lends() const noexcept { return options_.units != 0; }

  /// Admits out of what is held. The waits are those of the last answer of Redis.
  std::optional<decision> spend(fingerprint key, cost c, time_point now) {
    std::optional<decision> answer;
    held_.find(key, now, [&](holding& h) {
      if (h.left < c.units) return;
      h.left -= c.units;
      answer = told(h);
    });
    return answer;
  }

  /// How many units to ask Redis for: N, unless it is known to have fewer.
  cost wanted(fingerprint key, cost c, time_point now) {
    std::uint64_t units = std::max(options_.units, c.units);
    held_.find(key, now, [&](holding const& h) {
      if (h.last.remaining < options_.units) units = c.units;
    });
    return cost{units};
  }

  /// Redis answered a request for `taken` units, of which c are spent at once. Units held before are kept with these.
  decision took(fingerprint key, cost taken, cost c, decision const& d, time_point asked) {
    decision answer = d;
    held_.put(key, asked, [&](holding& h) {
      h.until = asked + options_.valid_for;
      h.last = d;
      if (d.outcome != verdict::admitted) return;
      h.left = std::min(h.left + taken.units - c.units, options_.units);
      answer = told(h);
    });
    return answer;
  }

  void give_back(fingerprint key, cost c, time_point now) {
    held_.find(key, now, [&](holding& h) { h.left = std::min(h.left + c.units, options_.units); });
  }
  void erase(fingerprint key) { held_.erase(key); }

 private:
  struct holding {
    time_point until{};
    std::uint64_t left = 0;
    decision last{};
  };
  static decision told(holding const& h) {
    decision d = h.last;
    d.outcome = verdict::admitted;
    d.retry_after = {};
    d.remaining = std::min(d.remaining + h.left, d.limit);
    return d;
  }

  lease_options options_;
  bounded_map<holding> held_;
};

}  // namespace detail
}  // namespace penstock::inline v0_1::redis
