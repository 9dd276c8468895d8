// Fixed window: at most `count` units in each window [end - period, end). Windows lie on the multiples of the period,
// or start at the first charge that no earlier window holds.
#pragma once

#include "answer.hpp"

namespace oracle {

class fixed_window {
 public:
  fixed_window(std::uint64_t count, std::int64_t period_ns, bool aligned)
      : limit_(count), period_(period_ns), aligned_(aligned) {}

  answer ask(std::int64_t now, std::uint64_t cost) {
    wide const n = clamped(now);
    window at = seen(n);
    int const outcome = verdict_of(cost, limit_, at.used + cost <= limit_);
    if (outcome == admitted) at.used += cost;
    if (cost != 0 && (outcome == admitted || (outcome == limited && set_back(n)))) stored_ = at;

    // Nothing changes before the window ends, and there everything does.
    wide const left = at.used == 0 ? wide(0) : at.end - n;
    return describe(outcome, cost, limit_, limit_ - at.used, left, [&](wide const&) { return left; });
  }

  answer look(std::int64_t now, std::uint64_t cost) const { return fixed_window(*this).ask(now, cost); }

  void charge(std::int64_t now, std::uint64_t cost) {
    if (cost == 0) return;
    stored_ = seen(clamped(now));
    stored_.used = std::min(stored_.used + cost, 2 * wide(limit_));  // the debt is at most one allowance
  }

  void refund(std::int64_t charged_at, std::uint64_t cost) {
    wide const t = clamped(charged_at);
    if (fresh() || t < stored_.end - period_ || t >= stored_.end) return;
    stored_.used -= std::min(stored_.used, wide(cost));
  }

  void forget() { stored_ = {}; }
  bool fresh() const { return stored_.used == 0; }

 private:
  struct window {
    wide end;
    wide used;  // 0: no window at all, and `end` says nothing
  };

  bool set_back(wide const& n) const { return !fresh() && n < stored_.end - period_ - patience(period_, second_ns); }

  window opened_by(wide const& n, wide const& used) const {
    return {(aligned_ ? floor_div(n, period_) * period_ : n) + period_, used};
  }

  // The window that a reading falls into. One before the stored window lags, and counts into the stored one.
  window seen(wide const& n) const {
    if (set_back(n)) return opened_by(n, limit_);
    if (fresh() || n >= stored_.end) return opened_by(n, 0);
    return stored_;
  }

  std::uint64_t limit_;
  wide period_;
  bool aligned_;
  window stored_{};
};

}  // namespace oracle
