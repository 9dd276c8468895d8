#pragma once
// Units taken ahead: one round trip fetches several, which are then spent here. Buckets and meters only, and opt-in.
//
// The price is exactness. K instances that take N units at a time and keep them for tau admit, in any interval w, at
// most burst + rate * w + min(K * N, rate * tau). Units that are not spent within tau are lost to everybody, and so are
// those of a key that is forgotten, or that gives way to others when more than max_keys hold some.

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
      if (h.spendable <= now || h.left < c.units) return;
      h.left -= c.units;
      answer = told(h);
    });
    return answer;
  }

  /// How many units to ask Redis for: N, unless it is known to have fewer, or another call is fetching N already: that
  /// call's answer, or its end at longest_call, is waited for.
  cost wanted(fingerprint key, cost c, time_point now, std::chrono::nanoseconds longest_call) {
    if (c.units >= options_.units) return c;
    cost wanted{options_.units};
    held_.put(key, now, [&](holding& h) {
      if (h.fetching > now || (h.known && h.last.remaining < options_.units)) {
        wanted = c;
        return;
      }
      h.fetching = now + longest_call;
      h.until = std::max(h.until, h.fetching);
    });
    return wanted;
  }

  /// Redis answered a request for `taken` units, of which c are spent at once: those held longest go first.
  decision took(fingerprint key, cost taken, cost c, decision const& d, time_point asked) {
    decision answer = d;
    held_.put(key, asked, [&](holding& h) {
      time_point const ends = asked + options_.valid_for;
      h.until = std::max(h.until, ends);
      h.last = d;
      h.known = true;
      if (taken.units > c.units) h.fetching = {};
      if (d.outcome != verdict::admitted) return;
      if (h.spendable <= asked) h.left = 0;
      bool const old_ones_remain = h.left > c.units;
      h.left = std::min(h.left + taken.units - c.units, options_.units);
      if (!old_ones_remain) h.spendable = ends;
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
    time_point until{};      ///< when all that stands here means nothing any more
    time_point spendable{};  ///< until when `left` may be spent
    time_point fetching{};   ///< until when a call may be fetching N
    std::uint64_t left = 0;
    bool known = false;  ///< `last` is an answer of Redis
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
