// Leaky meter: a vessel of `capacity` units that drains `count` units in `period` nanoseconds; a cost is admitted when
// it fits. What it holds is told by the instant at which it will be empty, each unit adding one interval to it.
//
// Instants are kept in 1/count of a nanosecond, so a nanosecond is exactly `count` and the interval exactly `period`.
// It says what the token bucket says, written the other way round: the two check each other.
#pragma once

#include "answer.hpp"

#include <optional>

namespace oracle {

class leaky_meter {
 public:
  leaky_meter(std::uint64_t count, std::int64_t period_ns, std::uint64_t capacity)
      : capacity_(capacity), interval_(period_ns), ns_(count), reset_(wide(capacity) * period_ns) {}

  answer ask(std::int64_t now, std::uint64_t cost) {
    wide const n = ns_ * clamped(now);
    wide empty = std::max(empty_at(n), n);
    int const outcome = verdict_of(cost, capacity_, empty + cost * interval_ - n <= reset_);
    if (outcome == admitted) empty += cost * interval_;
    if (cost != 0 && (outcome == admitted || (outcome == limited && set_back(n)))) empty_at_ = empty;

    wide const room = reset_ - (empty - n);
    auto const whole_ns = [&](wide const& t) { return t > 0 ? ceil_div(t, ns_) : wide(0); };
    return describe(outcome, cost, capacity_, floor_div(room, interval_), whole_ns(empty - n),
                    [&](wide const& c) { return whole_ns(c * interval_ - room); });
  }

  answer look(std::int64_t now, std::uint64_t cost) const { return leaky_meter(*this).ask(now, cost); }

  void charge(std::int64_t now, std::uint64_t cost) {
    if (cost == 0) return;
    wide const n = ns_ * clamped(now);
    wide const empty = std::max(empty_at(n), n);
    wide const charged = std::min(empty + cost * interval_, n + 2 * reset_);  // the debt is at most one capacity
    empty_at_ = std::max(empty, charged);                                     // and nothing drains by being charged
  }

  void refund(std::int64_t charged_at, std::uint64_t cost) {
    wide const t = ns_ * clamped(charged_at);
    if (!empty_at_ || *empty_at_ <= t) return;
    *empty_at_ -= cost * interval_;
    if (*empty_at_ <= t) forget();  // empty at the instant of the charge: as if nothing had been
  }

  void forget() { empty_at_.reset(); }
  bool fresh() const { return !empty_at_; }

 private:
  bool set_back(wide const& n) const {
    return empty_at_ && *empty_at_ > n + 2 * reset_ + patience(reset_, second_ns * ns_);
  }

  // When the vessel will be empty, as this reading sees it: full now, if the clock was set back.
  wide empty_at(wide const& n) const {
    if (set_back(n)) return n + reset_;
    return empty_at_.value_or(n);
  }

  std::uint64_t capacity_;
  wide interval_;
  wide ns_;
  wide reset_;  // from full to empty
  std::optional<wide> empty_at_{};
};

}  // namespace oracle
