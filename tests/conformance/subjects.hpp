#pragma once
// The limiters that the laws are held against: each algorithm in each store that can hold its states, behind one
// interface, so that the test cases are compiled once for each row (rows.hpp), and the limiters once, in
// limiters_*.cpp.

#include <penstock/store.hpp>

#include "rows.hpp"
#include "support/catch.hpp"
#include "unit/random.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace conformance {

/// A limiter that is told the time. Without keys, it has key 0 only.
class subject {
 public:
  using key = std::uint32_t;

  virtual ~subject() = default;
  virtual decision allow(nanoseconds at, units c, key k = 0) = 0;
  virtual decision peek(nanoseconds at, units c, key k = 0) const = 0;
  virtual void charge(nanoseconds at, units c, key k = 0) = 0;
  virtual void refund(nanoseconds charged_at, units c, key k = 0) = 0;
  virtual void forget(key k = 0) = 0;
  virtual penstock::store_stats stats() const = 0;

  /// Takes a ticket and keeps it; undo() gives back the newest one kept.
  virtual decision take(nanoseconds at, units c, key k = 0) = 0;
  virtual void undo() = 0;

  /// With keys only.
  virtual void allow_each(nanoseconds at, std::vector<key> const& keys, std::span<decision> answers, units c) = 0;

  /// By the limiter's clock, set to that reading first.
  virtual decision allow_by_clock(nanoseconds at, units c, key k = 0) = 0;
  virtual void reconfigure(nanoseconds at, shape const& s) = 0;
};

/// Everything that a limiter of some keys says at these readings.
inline std::vector<decision> present(subject const& s, std::vector<nanoseconds> const& readings, units size,
                                     subject::key k = 0) {
  std::vector<decision> all;
  for (nanoseconds const t : readings)
    for (units const c : {units{0}, units{1}, size / 2, size, size + 1}) all.push_back(s.peek(t, c, k));
  return all;
}

/// Makes a limiter of a row's algorithm over a store. Only for stores in Row::stores().
template <class Row>
std::unique_ptr<subject> make(store_kind store, shape const& s, nanoseconds start = 0ns,
                              penstock::store_options const& options = {.max_keys = 64});

/// Runs `hold(subject&, algorithm, shape, dice&)` on a new limiter for each shape and each store, the same dice for
/// each.
template <class Row, class Hold>
void with_every_store(Hold hold) {
  for (shape const& s : shapes())
    for (store_kind const store : Row::stores()) {
      INFO(s << ", over " << name_of(store));
      dice d(11);
      auto const limiter = make<Row>(store, s);
      hold(*limiter, algorithm_of<Row>(s), s, d);
    }
}

// ---- answers and readings -------------------------------------------------------------------------------------------

/// Readings of clocks that are honest, or lag, or are set.
class readings {
 public:
  enum class honesty : std::uint8_t {
    forward,  ///< stands or goes forward
    lagging,  ///< may also lie up to Λ behind the newest
    set,      ///< may also be set, by hours
  };
  template <class Row>
  readings(dice& d, honesty h, Row, typename Row::algorithm const& a)
      : dice_(d),
        honesty_(h),
        full_(Row::full(a)),
        lag_(Row::longest_lag(a)),
        one_(std::max<nanoseconds>(1ns, full_ / static_cast<std::int64_t>(Row::size(a)))) {}

  nanoseconds next() {
    switch (dice_.below(8)) {
      case 0:
      case 1:
      case 2:
        break;  // stands
      case 3:
      case 4:
        newest_ += dice_.up_to(2 * one_);
        break;
      case 5:
        newest_ += 1ns;
        break;
      case 6:
        newest_ += dice_.below(16) == 0 ? dice_.up_to(3 * full_) : dice_.up_to(full_ / 4 + 1ns);
        break;
      default:
        newest_ += one_;
    }
    if (honesty_ == honesty::set && dice_.below(200) == 0) {
      nanoseconds const most = 4 * (tolerance(full_) + full_);
      newest_ += dice_.up_to(2 * most) - most;
      // Arrival times can be kept for some years on either side of the origin.
      constexpr nanoseconds year = 8760h;
      if (newest_ > year || newest_ < -year) newest_ = dice_.up_to(2 * most) - most;
    }
    if (honesty_ == honesty::forward || dice_.below(6) != 0) return newest_;
    return newest_ - dice_.up_to(dice_.below(2) == 0 ? std::min(full_, lag_) : lag_);
  }
  nanoseconds newest() const { return newest_; }

 private:
  dice& dice_;
  honesty honesty_;
  nanoseconds full_, lag_, one_, newest_{};
};

/// Mostly small, now and then all of it or one more.
inline units some_cost(dice& d, units size) {
  switch (d.below(8)) {
    case 0:
      return d.below(size + 2);
    case 1:
      return size;
    case 2:
      return d.below(4) == 0 ? size + 1 + d.below(3) : 0;
    case 3:
    case 4:
      return 1 + d.below(3);
    default:
      return 1;
  }
}

/// Where a walk has got to, told only when something is wrong.
struct step {
  shape of;
  std::size_t number;
  units cost;
  nanoseconds at;
  friend std::ostream& operator<<(std::ostream& to, step const& s) {
    return to << s.of << ": step " << s.number << ", cost " << s.cost << " at " << s.at.count() << " ns";
  }
};

/// A check that costs nothing while it holds, in a function that gives up at the first that does not.
#define HOLD(where, ...)  \
  do {                    \
    if (!(__VA_ARGS__)) { \
      INFO(where);        \
      CHECK(__VA_ARGS__); \
      return;             \
    }                     \
  } while (false)

}  // namespace conformance
