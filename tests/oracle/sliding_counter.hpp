// Sliding counter: two windows aligned to the epoch, the previous one weighted by its share of the last period.
// At e into the current window the estimate before the last unit of a cost must lie below the limit:
//   previous * (period - e) / period + current + cost - 1 < count.
#pragma once

#include "answer.hpp"

namespace oracle {

class sliding_counter {
 public:
  sliding_counter(std::uint64_t count, std::int64_t period_ns) : limit_(count), period_(period_ns) {}

  answer ask(std::int64_t now, std::uint64_t cost) {
    wide const n = clamped(now);
    windows at = seen(n);
    int const outcome = verdict_of(cost, to_count(limit_), below_limit(at, into(at, n), cost));
    if (outcome == admitted) at.current += cost;
    if (cost != 0 && (outcome == admitted || (outcome == limited && set_back(n)))) stored_ = at;

    wide const weighted = floor_div(at.previous * (period_ - into(at, n)), period_);
    wide reset = 0;
    if (at.previous > 0) reset = at.end - n;
    if (at.current > 0) reset = at.end + period_ - n;
    return describe(outcome, cost, to_count(limit_), limit_ - at.current - weighted, reset,
                    [&](wide const& c) { return wait(at, n, c); });
  }

  answer look(std::int64_t now, std::uint64_t cost) const { return sliding_counter(*this).ask(now, cost); }

  void charge(std::int64_t now, std::uint64_t cost) {
    if (cost == 0) return;
    stored_ = seen(clamped(now));
    stored_.current = std::min(stored_.current + cost, 2 * wide(limit_));  // the debt is at most one allowance
  }

  void refund(std::int64_t charged_at, std::uint64_t cost) {
    wide const t = clamped(charged_at);
    if (fresh() || t >= stored_.end || t < stored_.end - 2 * period_) return;
    wide& count = t >= stored_.end - period_ ? stored_.current : stored_.previous;
    count -= std::min(count, wide(cost));
  }

  void forget() { stored_ = {}; }
  bool fresh() const { return stored_.previous == 0 && stored_.current == 0; }

 private:
  struct windows {
    wide end;  // of the current window; says nothing when both counts are 0
    wide previous;
    wide current;
  };

  bool set_back(wide const& n) const { return !fresh() && n < stored_.end - period_ - patience(period_, second_ns); }

  // The two windows that a reading sees. One before the current window lags, and counts as the window's first instant.
  windows seen(wide const& n) const {
    wide const end = (floor_div(n, period_) + 1) * period_;
    if (set_back(n)) return {end, 0, limit_};
    if (fresh() || n >= stored_.end + period_) return {end, 0, 0};
    if (n >= stored_.end) return {end, stored_.current, 0};
    return stored_;
  }

  wide into(windows const& at, wide const& n) const { return std::max(wide(0), n - (at.end - period_)); }

  bool below_limit(windows const& at, wide const& e, wide const& cost) const {
    return at.previous * (period_ - e) + (at.current + cost - 1) * period_ < limit_ * period_;
  }

  // The first instant into a window, from 0 to period, at which `previous` leaves room for the cost beside `current`;
  // the whole period when none does. From the rule: previous * (period - e) < room * period, in integers.
  wide first_instant(wide const& previous, wide const& current, wide const& cost) const {
    wide const room = limit_ - current - cost + 1;
    if (room <= 0) return period_;
    if (previous == 0) return 0;
    return std::max(wide(0), period_ - floor_div(room * period_ - 1, previous));
  }

  wide wait(windows const& at, wide const& n, wide const& cost) const {
    if (below_limit(at, into(at, n), cost)) return 0;
    wide const here = first_instant(at.previous, at.current, cost);
    if (here < period_) return at.end - period_ + here - n;
    return at.end + first_instant(at.current, 0, cost) -
           n;  // in the next window, or at its end, where all is forgotten
  }

  wide limit_;
  wide period_;
  windows stored_{};
};

}  // namespace oracle
