// Leaky queue: units leave one interval (period / count) apart, the first one interval after it came to an empty queue.
// A cost takes that many places and leaves with its last unit; it is admitted when that is no later than `capacity`
// intervals from now, and told how long that is.
//
// Instants are kept in 1/count of a nanosecond, so a nanosecond is exactly `count` and the interval exactly `period`.
#pragma once

#include "answer.hpp"

#include <optional>

namespace oracle {

class leaky_queue {
 public:
  leaky_queue(std::uint64_t count, std::int64_t period_ns, std::uint64_t capacity)
      : capacity_(capacity), interval_(period_ns), ns_(count), longest_(wide(capacity) * period_ns) {}

  answer ask(std::int64_t now, std::uint64_t cost) {
    wide const n = ns_ * clamped(now);
    queue at = seen(n);
    wide const departure = at.last_departure + cost * interval_;
    int const outcome = verdict_of(cost, capacity_, departure - n <= longest_);
    if (outcome == admitted && cost != 0) at = {departure, n};
    if (cost != 0 && (outcome == admitted || (outcome == limited && set_back(n)))) stored_ = at;

    wide const waits = at.last_departure - n;  // of whoever came last
    answer a =
        describe(outcome, cost, capacity_, floor_div(longest_ - waits, interval_), ceil_div(waits, ns_),
                 [&](wide const& c) { return ceil_div(std::max(wide(0), waits + c * interval_ - longest_), ns_); });
    if (outcome == admitted && cost != 0) a.delay = to_nanoseconds(ceil_div(waits, ns_));
    return a;
  }

  answer look(std::int64_t now, std::uint64_t cost) const { return leaky_queue(*this).ask(now, cost); }

  void charge(std::int64_t now, std::uint64_t cost) {
    if (cost == 0) return;
    wide const n = ns_ * clamped(now);
    queue const at = seen(n);
    wide const latest = n + 2 * longest_;     // the debt is at most one capacity
    if (at.last_departure >= latest) return;  // as it is already, to a reading that lags
    stored_ = {std::min(at.last_departure + cost * interval_, latest), n};
  }

  // Only the newest promise can be given back: others have been told to leave after the older ones.
  void refund(std::int64_t charged_at, std::uint64_t cost) {
    wide const t = ns_ * clamped(charged_at);
    if (cost == 0 || !stored_ || stored_->promised_at != t || stored_->last_departure <= t) return;
    *stored_ = {stored_->last_departure - cost * interval_, std::nullopt};
    if (stored_->last_departure <= t) forget();
  }

  void forget() { stored_.reset(); }
  bool fresh() const { return !stored_; }

 private:
  struct queue {
    wide last_departure;
    std::optional<wide> promised_at;  // when the newest promise was made, while it can still be given back
  };

  bool set_back(wide const& n) const {
    return stored_ && stored_->last_departure > n + 2 * longest_ + patience(longest_, second_ns * ns_);
  }

  // The queue as this reading finds it: full, of promises that nobody holds, if the clock was set back; empty when the
  // last has left.
  queue seen(wide const& n) const {
    if (set_back(n)) return {n + longest_, std::nullopt};
    if (!stored_ || stored_->last_departure <= n) return {n, std::nullopt};
    return *stored_;
  }

  std::uint64_t capacity_;
  wide interval_;
  wide ns_;
  wide longest_;
  std::optional<queue> stored_{};
};

}  // namespace oracle
