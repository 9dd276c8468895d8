// Token bucket: a balance that grows by `count` units in `period` nanoseconds, never above `burst`; a cost is admitted
// when the balance covers it.
//
// The balance is kept in 1/period of a unit, so a nanosecond brings exactly `count` and a unit is exactly `period`.
#pragma once

#include "answer.hpp"

#include <optional>

namespace oracle {

class token_bucket {
 public:
  token_bucket(std::uint64_t count, std::int64_t period_ns, std::uint64_t burst)
      : burst_(burst), unit_(period_ns), per_ns_(count), full_(wide(burst) * period_ns) {}

  answer ask(std::int64_t now, std::uint64_t cost) {
    wide const n = clamped(now);
    wide balance = seen(n);
    int const outcome = verdict_of(cost, burst_, balance >= cost * unit_);
    if (outcome == admitted) balance -= cost * unit_;
    if (cost != 0 && (outcome == admitted || (outcome == limited && set_back(n)))) stored_ = {n, balance};

    auto const wait_for = [&](wide const& missing) { return missing > 0 ? ceil_div(missing, per_ns_) : wide(0); };
    return describe(outcome, cost, burst_, floor_div(balance, unit_), wait_for(full_ - balance),
                    [&](wide const& c) { return wait_for(c * unit_ - balance); });
  }

  answer look(std::int64_t now, std::uint64_t cost) const { return token_bucket(*this).ask(now, cost); }

  void charge(std::int64_t now, std::uint64_t cost) {
    if (cost == 0) return;
    wide const n = clamped(now);
    wide const balance = seen(n);
    wide const deepest = std::min(balance, -full_);  // a debt of one burst; what a lagging reading sees may be deeper
    stored_ = {n, std::max(balance - cost * unit_, deepest)};
  }

  void refund(std::int64_t charged_at, std::uint64_t cost) {
    wide const t = clamped(charged_at);
    wide const balance = balance_at(t);
    if (balance >= full_) return;
    stored_ = {t, balance + cost * unit_};
    if (stored_->balance >= full_) forget();  // full at the instant of the charge: as if nothing had been
  }

  void forget() { stored_.reset(); }
  bool fresh() const { return !stored_; }

 private:
  struct point {
    wide at;
    wide balance;  // below full: only a charge stores a point
  };

  // The line through the stored point, capped. It holds for readings before the point too, where it owes more.
  wide balance_at(wide const& n) const {
    return stored_ ? std::min(full_, stored_->balance + per_ns_ * (n - stored_->at)) : full_;
  }

  // A debt never exceeds one burst, so whatever lies deeper lags; deeper than the patience, it was a clock set back.
  bool set_back(wide const& n) const { return -balance_at(n) > full_ + patience(full_, second_ns * per_ns_); }

  wide seen(wide const& n) const { return set_back(n) ? wide(0) : balance_at(n); }

  std::uint64_t burst_;
  wide unit_;
  wide per_ns_;
  wide full_;
  std::optional<point> stored_{};
};

}  // namespace oracle
