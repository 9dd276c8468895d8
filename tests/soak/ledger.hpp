#pragma once
// What was admitted when, and whether it is within the bounds of law 2.

#include "concurrency/threads.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace soak {

using concurrency::nanoseconds;

/// An allowance of `size` units that comes back over `period`; period / size is whole.
struct allowance {
  std::uint64_t size;
  nanoseconds period;
};

struct admission {
  std::int64_t at;  ///< the reading, ns
  std::uint64_t units;
};

/// Did the readings of one key lag behind one another? Windows and logs are bound on corrected readings, which nobody
/// outside knows: then only the whole run is checked for them. Buckets are bound on the readings themselves.
enum class readings : std::uint8_t { in_order, lagging };

/// The largest sum of c in any closed interval is B + r * T: no unit comes before its interval.
inline bool within_bucket(std::vector<admission> const& sorted, allowance a) {
  std::int64_t const interval = a.period.count() / static_cast<std::int64_t>(a.size);
  std::int64_t ahead = std::numeric_limits<std::int64_t>::min();
  for (admission const& one : sorted) {
    ahead = std::max(ahead, one.at) + static_cast<std::int64_t>(one.units) * interval;
    if (ahead > one.at + a.period.count()) return false;
  }
  return true;
}

/// At most L inside each window that begins at a multiple of the period.
inline bool within_windows(std::vector<admission> const& sorted, allowance a, readings how) {
  std::int64_t const period = a.period.count();
  std::uint64_t sum = 0, total = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i].at / period != sorted[i - 1].at / period) sum = 0;
    sum += sorted[i].units;
    total += sorted[i].units;
    if (how == readings::in_order && sum > a.size) return false;
  }
  return sorted.empty() ||
         total <= a.size * static_cast<std::uint64_t>(sorted.back().at / period - sorted.front().at / period + 1);
}

/// At most L in any window (t - period, t].
inline bool within_log(std::vector<admission> const& sorted, allowance a, readings how) {
  std::uint64_t sum = 0, total = 0;
  std::size_t first = 0;
  for (admission const& one : sorted) {
    for (; sorted[first].at <= one.at - a.period.count(); ++first) sum -= sorted[first].units;
    sum += one.units;
    total += one.units;
    if (how == readings::in_order && sum > a.size) return false;
  }
  return sorted.empty() ||
         total <= a.size * (static_cast<std::uint64_t>((sorted.back().at - sorted.front().at) / a.period.count()) + 1);
}

template <class A>
struct bound {
  static bool holds(std::vector<admission> const& sorted, allowance a, readings) { return within_bucket(sorted, a); }
};
template <>
struct bound<penstock::algorithm::fixed_window> {
  static bool holds(std::vector<admission> const& sorted, allowance a, readings how) {
    return within_windows(sorted, a, how);
  }
};
template <>
struct bound<penstock::algorithm::sliding_counter> : bound<penstock::algorithm::fixed_window> {};
template <>
struct bound<penstock::algorithm::sliding_log> {
  static bool holds(std::vector<admission> const& sorted, allowance a, readings how) {
    return within_log(sorted, a, how);
  }
};
template <class... Rules>
struct bound<penstock::algorithm::all_of<Rules...>> {
  static bool holds(std::vector<admission> const& sorted, allowance a, readings how) {
    return (bound<Rules>::holds(sorted, a, how) && ...);
  }
};

/// What several threads had admitted, key by key.
class ledger {
 public:
  ledger(std::size_t threads, std::size_t keys) : keys_(keys), books_(threads * keys) {}

  void enter(std::size_t thread, std::size_t key, penstock::manual_clock::time_point at, std::uint64_t units) {
    if (units != 0) books_[thread * keys_ + key].push_back({at.time_since_epoch().count(), units});
  }
  /// All that a key had, by reading.
  std::vector<admission> of(std::size_t key) const {
    std::vector<admission> all;
    for (std::size_t i = key; i < books_.size(); i += keys_) all.insert(all.end(), books_[i].begin(), books_[i].end());
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.at < b.at; });
    return all;
  }
  std::uint64_t units(std::size_t key) const {
    std::uint64_t sum = 0;
    for (admission const& one : of(key)) sum += one.units;
    return sum;
  }

 private:
  std::size_t keys_;
  std::vector<std::vector<admission>> books_;
};

}  // namespace soak
