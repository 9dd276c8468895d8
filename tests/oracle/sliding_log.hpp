// Sliding log: at most `count` units in any window (t - period, t]. Every charge is kept with its instant, and each
// question counts the window again.
#pragma once

#include "answer.hpp"

#include <cstddef>
#include <deque>

namespace oracle {

class sliding_log {
 public:
  sliding_log(std::uint64_t count, std::int64_t period_ns) : limit_(count), period_(period_ns) {}

  answer ask(std::int64_t now, std::uint64_t cost) {
    std::int64_t const n = clamped(now);
    if (set_back(n)) {
      if (cost == 0 || cost > limit_) return anchored(n).ask(now, cost);  // says what it sees, keeps nothing
      *this = anchored(n);
    }
    std::int64_t const t = corrected(n);
    int const outcome = verdict_of(cost, limit_, units_in_window_ending(t) + cost <= limit_);
    if (outcome == admitted && cost != 0) record(t, cost);

    wide const used = units_in_window_ending(t);
    wide const reset = used == 0 ? wide(0) : wide(log_.back().at) + period_ - n;
    return describe(outcome, cost, limit_, limit_ - used, reset,
                    [&](wide const& c) { return wait(n, t, used + c - limit_); });
  }

  answer look(std::int64_t now, std::uint64_t cost) const { return sliding_log(*this).ask(now, cost); }

  void charge(std::int64_t now, std::uint64_t cost) {
    std::int64_t const n = clamped(now);
    if (cost == 0) return;
    if (set_back(n)) *this = anchored(n);
    std::int64_t const t = corrected(n);
    wide const room = 2 * wide(limit_) - units_in_window_ending(t);  // the debt is at most one allowance
    if (room > 0) record(t, to_count(std::min(room, wide(cost))));
  }

  void refund(std::int64_t charged_at, std::uint64_t cost) {
    std::int64_t const t = clamped(charged_at);
    for (entry& e : log_) {
      if (e.at != t) continue;
      std::uint64_t const back = std::min(e.units, cost);
      e.units -= back;
      cost -= back;
      total_ -= back;
    }
    std::erase_if(log_, [](entry const& e) { return e.units == 0; });
  }

  void forget() { *this = sliding_log(limit_, to_nanoseconds(period_)); }
  bool fresh() const { return log_.empty(); }
  std::size_t entries() const { return log_.size(); }

 private:
  struct entry {
    std::int64_t at;
    std::uint64_t units;
  };

  bool set_back(std::int64_t n) const { return !fresh() && wide(log_.back().at) - n > patience(period_, second_ns); }

  sliding_log anchored(std::int64_t n) const {  // all used, at this reading
    sliding_log result(limit_, to_nanoseconds(period_));
    result.record(n, limit_);
    return result;
  }

  // A reading behind the newest entry counts as that entry's, so instants never run backwards in the log.
  std::int64_t corrected(std::int64_t n) const { return fresh() ? n : std::max(n, log_.back().at); }

  bool expired(entry const& e, std::int64_t t) const {
    return wide(e.at) + period_ <= t;
  }  // exactly one period old: out

  wide units_in_window_ending(std::int64_t t) const {  // all but the oldest, which have expired
    wide units = total_;
    for (entry const& e : log_) {
      if (!expired(e, t)) break;
      units -= e.units;
    }
    return units;
  }

  // A charge at t lets go of what has expired at t: readings count as t or later from now on. Only a refund of the
  // newest entry could tell, and it finds those entries gone. A refusal lets go of nothing.
  void record(std::int64_t t, std::uint64_t units) {
    while (!log_.empty() && expired(log_.front(), t)) {
      total_ -= log_.front().units;
      log_.pop_front();
    }
    log_.push_back({t, units});
    total_ += units;
  }

  // The wait from n until `excess` units have left the window that ends at t: until the entry that holds the last of
  // them is one period old, which is later than t.
  wide wait(std::int64_t n, std::int64_t t, wide excess) const {
    if (excess <= 0) return 0;
    for (entry const& e : log_) {
      if (expired(e, t)) continue;
      excess -= e.units;
      if (excess <= 0) return wide(e.at) + period_ - n;
    }
    return 0;  // not reached: no cost up to the limit needs more than all to leave
  }

  std::uint64_t limit_;
  wide period_;
  std::deque<entry> log_{};  // oldest first
  wide total_{};
};

}  // namespace oracle
