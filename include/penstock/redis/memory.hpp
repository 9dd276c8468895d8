#pragma once
// What a limiter knows of keys without asking: units lent to it, refusals it was given.

#include <penstock/redis/counters.hpp>
#include <penstock/redis/deny_cache.hpp>
#include <penstock/redis/lease_book.hpp>
#include <penstock/redis/remote_decision.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

namespace penstock::inline v0_1::redis::detail {

/// Concurrency: safe from any thread.
class memory {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// longest_call: how long a question may be under way.
  memory(std::size_t denials, lease_options const& lease, std::chrono::nanoseconds longest_call)
      : denied_(denials), leases_(lease), longest_call_(longest_call) {}

  bool lends() const noexcept { return leases_.lends(); }

  /// The answer to this call, if it needs no round trip.
  std::optional<remote_decision> find(fingerprint key, cost c, time_point now, atomic_counts& counted) {
    if (leases_.lends())
      if (auto const lent = leases_.spend(key, c, now)) {
        counted.add(counted.by_lease);
        return remote_decision{{*lent}, origin::lease, {}};
      }
    if (auto const refused = denied_.find(key, c, now)) {
      counted.add(counted.by_deny_cache);
      return remote_decision{{*refused}, origin::deny_cache, {}};
    }
    return {};
  }

  /// How many units to ask for when c are wanted.
  cost wanted(fingerprint key, cost c, time_point now) {
    return leases_.lends() ? leases_.wanted(key, c, now, longest_call_) : c;
  }

  /// Redis was asked for `taken` units, of which c are for this call, and answered d. What the call is told.
  decision learn(fingerprint key, cost c, cost taken, decision const& d, time_point asked) {
    if (!d && taken == c) denied_.refused(key, c, d, asked);
    return leases_.lends() ? leases_.took(key, taken, c, d, asked) : d;
  }

  /// Units of a lease that were not used after all.
  void unspend(fingerprint key, cost c, time_point now) { leases_.give_back(key, c, now); }
  /// Redis got units back; or the attempt has ended, and perhaps it did.
  void refunded(fingerprint key, time_point now) { denied_.given_back(key, now, longest_call_); }
  void forget(fingerprint key, time_point now) {
    refunded(key, now);
    leases_.erase(key);
  }

 private:
  class deny_cache denied_;
  lease_book leases_;
  std::chrono::nanoseconds longest_call_;
};

}  // namespace penstock::inline v0_1::redis::detail
