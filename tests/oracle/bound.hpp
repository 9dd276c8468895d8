// The bound that no limiter may exceed, checked over every interval of time at once.
//
// A checker is fed with what was admitted, in order: `admit(t, units)`, and `take_back(t, units)` for a refund of units
// admitted at t. A reading behind the newest one counts as the newest: law 2 is stated on corrected readings. Zero
// units only move that newest reading. After a clock was set back, begin with a new checker. `holds()` turns false at
// the first interval that holds too much and stays so.
//
// Beside each fast checker stands a naive one that looks at every interval between two admissions, to check it against.
#pragma once

#include "exact.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace oracle::bound {

struct admission {
  std::int64_t at;
  wide units;
};

// Removes up to that many units admitted at t, the newest first. Returns the place of the oldest admission touched,
// or the size when there is none.
template <class Admissions>
std::size_t remove_units(Admissions& all, std::int64_t t, wide units) {
  std::size_t touched = all.size();
  for (std::size_t i = all.size(); i-- > 0 && all[i].at >= t && units > 0;) {
    if (all[i].at != t) continue;
    wide const back = std::min(all[i].units, units);
    all[i].units -= back;
    units -= back;
    touched = i;
  }
  return touched;
}

// Bucket, meter and queue: in any closed interval [s, t] at most burst + count/period * (t - s) units.
//
// Multiplied by the period, all is whole. The worst interval that ends at an admission is either the worst that ended
// at the admission before, extended, or this admission alone:
//   excess(j) = max(excess(j - 1) - count * (t(j) - t(j - 1)), 0) + units(j) * period <= burst * period.
class bucket {
 public:
  bucket(std::uint64_t count, std::int64_t period_ns, std::uint64_t burst)
      : count_(count), period_(period_ns), most_(wide(burst) * period_ns) {}

  void admit(std::int64_t t, wide const& units) {
    if (all_.empty())
      before_at_ = t;  // the first of all: nothing before it
    else
      t = std::max(t, all_.back().at);
    all_.push_back({t, units});
    excess_.push_back(0);
    measure(all_.size() - 1);
    // Once nothing of the past is carried over, no interval that begins there can be the worst, whatever is taken back.
    if (excess_.back() == units * period_) drop(all_.size() - 1);
    if (all_.size() > 2 * remembered) drop(all_.size() - remembered);
  }

  // Reaches back as far as the admissions remembered; a refund of an older one leaves the checker too strict.
  void take_back(std::int64_t t, wide const& units) {
    for (std::size_t i = remove_units(all_, t, units); i < all_.size(); ++i) measure(i);
  }

  [[nodiscard]] bool holds() const { return holds_; }

 private:
  static constexpr std::size_t remembered = 4096;

  void measure(std::size_t j) {
    wide const carried = j == 0 ? before_ - count_ * (wide(all_[0].at) - before_at_)
                                : excess_[j - 1] - count_ * (wide(all_[j].at) - all_[j - 1].at);
    excess_[j] = std::max(carried, wide(0)) + all_[j].units * period_;
    holds_ = holds_ && excess_[j] <= most_;
  }

  void drop(std::size_t how_many) {
    if (how_many == 0) return;
    before_ = excess_[how_many - 1];
    before_at_ = all_[how_many - 1].at;
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(how_many));
    excess_.erase(excess_.begin(), excess_.begin() + static_cast<std::ptrdiff_t>(how_many));
  }

  wide count_, period_, most_;
  std::deque<admission> all_{};
  std::deque<wide> excess_{};  // of the worst interval that ends at each
  wide before_ = 0;            // the same of the newest one dropped, and when that was
  std::int64_t before_at_ = 0;
  bool holds_ = true;
};

// Sliding log: at most `count` units in any half-open window (t - period, t].
class sliding_log {
 public:
  sliding_log(std::uint64_t count, std::int64_t period_ns) : count_(count), period_(period_ns) {}

  void admit(std::int64_t t, wide const& units) {
    if (!window_.empty()) t = std::max(t, window_.back().at);
    window_.push_back({t, units});
    sum_ += units;
    while (wide(t) - window_.front().at >= period_) {
      sum_ -= window_.front().units;
      window_.pop_front();
    }
    holds_ = holds_ && sum_ <= count_;
  }

  void take_back(std::int64_t t, wide const& units) {
    remove_units(window_, t, units);
    sum_ = 0;
    for (admission const& a : window_) sum_ += a.units;
  }

  [[nodiscard]] bool holds() const { return holds_; }

 private:
  wide count_, period_;
  std::deque<admission> window_{};
  wide sum_ = 0;
  bool holds_ = true;
};

// Fixed window: at most `count` units in each window: on the multiples of the period, or from the first admission that
// no earlier window holds. Any interval no longer than a period meets two windows at most, hence twice the count.
class fixed_window {
 public:
  fixed_window(std::uint64_t count, std::int64_t period_ns, bool aligned)
      : count_(count), period_(period_ns), aligned_(aligned) {}

  void admit(std::int64_t t, wide const& units) {
    newest_ = std::max(newest_.value_or(t), t);
    if (units == 0) return;
    if (sum_ == 0 || *newest_ >= start_ + period_) {
      start_ = aligned_ ? floor_div(*newest_, period_) * period_ : wide(*newest_);
      sum_ = 0;
    }
    sum_ += units;
    holds_ = holds_ && sum_ <= count_;
  }

  // A window that gives everything back has never been.
  void take_back(std::int64_t t, wide const& units) {
    if (t >= start_ && t < start_ + period_) sum_ -= std::min(sum_, units);
  }

  [[nodiscard]] bool holds() const { return holds_; }

 private:
  wide count_, period_;
  bool aligned_;
  std::optional<std::int64_t> newest_{};
  wide start_ = 0, sum_ = 0;
  bool holds_ = true;
};

// The departures that a queue promises, `delay` after each reading, rounded up: before that rounding they are one
// interval (period / count) apart for each unit, so no two come closer than that less one nanosecond.
//
// As above, over every pair i < j at once: sum of units(i + 1 .. j) * period - count * (d(j) - d(i)) < count.
class departures {
 public:
  departures(std::uint64_t count, std::int64_t period_ns) : count_(count), period_(period_ns) {}

  void promise(std::int64_t departure, wide const& units) {
    if (any_) early_ = std::max(early_, wide(0)) + units * period_ - count_ * (wide(departure) - newest_);
    holds_ = holds_ && early_ < count_;
    newest_ = departure;
    any_ = true;
  }

  [[nodiscard]] bool holds() const { return holds_; }

 private:
  wide count_, period_;
  bool any_ = false;
  wide early_ = 0;
  std::int64_t newest_ = 0;
  bool holds_ = true;
};

// The naive variants: everything is kept and every pair of admissions is an interval. They judge what stands at the
// time of the question, so they must be asked after each admission to see what a later refund would hide.
class everything {
 public:
  void admit(std::int64_t t, wide const& units) {
    if (!all_.empty()) t = std::max(t, all_.back().at);
    all_.push_back({t, units});
  }

  void take_back(std::int64_t t, wide const& units) { remove_units(all_, t, units); }

  [[nodiscard]] bool holds_as_bucket(std::uint64_t count, std::int64_t period_ns, std::uint64_t burst) const {
    return every_interval([&](wide const& length, wide const& units) {
      return units * period_ns <= wide(burst) * period_ns + wide(count) * length;
    });
  }

  [[nodiscard]] bool holds_as_sliding_log(std::uint64_t count, std::int64_t period_ns) const {
    return every_interval([&](wide const& length, wide const& units) { return length >= period_ns || units <= count; });
  }

  [[nodiscard]] bool holds_as_aligned_window(std::uint64_t count, std::int64_t period_ns) const {
    for (admission const& a : all_) {
      wide units = 0;
      for (admission const& b : all_)
        if (floor_div(a.at, period_ns) == floor_div(b.at, period_ns)) units += b.units;
      if (units > count) return false;
    }
    return true;
  }

  // The most units in any half-open interval of that length.
  [[nodiscard]] wide most_within(std::int64_t length_ns) const {
    wide most = 0;
    every_interval([&](wide const& length, wide const& units) {
      if (length < length_ns) most = std::max(most, units);
      return true;
    });
    return most;
  }

 private:
  template <class Rule>
  bool every_interval(Rule rule) const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      wide units = 0;
      for (std::size_t j = i; j < all_.size(); ++j) {
        units += all_[j].units;
        if (!rule(wide(all_[j].at) - all_[i].at, units)) return false;
      }
    }
    return true;
  }

  std::vector<admission> all_{};
};

}  // namespace oracle::bound
