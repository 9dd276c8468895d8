#pragma once
// What a Redis limiter counts of itself, for an alert: share of degraded answers, errors, breaker openings.

#include <atomic>
#include <cstdint>

namespace penstock::inline v0_1::redis {

/// Totals since construction.
struct counts {
  std::uint64_t round_trips = 0;    ///< commands sent, or tried to
  std::uint64_t script_loads = 0;   ///< NOSCRIPT answered with EVAL
  std::uint64_t by_redis = 0;       ///< decisions of the store
  std::uint64_t by_deny_cache = 0;  ///< refused without asking
  std::uint64_t by_lease = 0;       ///< admitted out of a lease
  std::uint64_t degraded = 0;       ///< decisions by the failure policy
  std::uint64_t maybe_counted = 0;  ///< calls that took or charged, without an answer: Redis may have counted them
  std::uint64_t unsettled = 0;      ///< charges and refunds that Redis did not confirm
  std::uint64_t misconfigured = 0;  ///< errors that only a person can mend, and unreadable keys
  std::uint64_t breaker_opened = 0;
};

namespace detail {

struct atomic_counts {
  using counter = std::atomic<std::uint64_t>;
  counter round_trips{}, script_loads{}, by_redis{}, by_deny_cache{}, by_lease{}, degraded{}, maybe_counted{},
      unsettled{}, misconfigured{};

  static void add(counter& c) noexcept { c.fetch_add(1, std::memory_order_relaxed); }
  static std::uint64_t read(counter const& c) noexcept { return c.load(std::memory_order_relaxed); }
  counts snapshot(std::uint64_t breaker_opened) const noexcept {
    return {read(round_trips), read(script_loads),  read(by_redis),  read(by_deny_cache), read(by_lease),
            read(degraded),    read(maybe_counted), read(unsettled), read(misconfigured), breaker_opened};
  }
};

}  // namespace detail
}  // namespace penstock::inline v0_1::redis
