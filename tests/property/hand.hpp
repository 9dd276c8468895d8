#pragma once
// What the numbers of a step mean to a certain limiter: where its clock goes, and what is asked for.

#include "trial.hpp"
#include "walk.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace property {

/// A reading plus or minus a time, where that can be told from others.
inline bool within(facts const& f, nanoseconds from, nanoseconds by) {
  return by >= 0ns ? from <= f.last - by : from >= f.first - by;
}

/// The clock of a walk: it stands, goes on, lags, or is set.
class hand {
 public:
  hand(facts const& f, nanoseconds start) : facts_(f), now_(std::clamp(start, f.first, f.last)) {}

  nanoseconds now() const { return now_; }
  nanoseconds move(step const& s, bool may_be_set) {
    nanoseconds const w = facts_.full, one = std::max<nanoseconds>(
                                           1ns, w / static_cast<std::int64_t>(std::min<units>(facts_.size, 1u << 30)));
    nanoseconds const some{static_cast<std::int64_t>(s.more)};
    switch (s.move % 16) {
      case 0:
      case 1:
      case 2:
        break;
      case 3:
        go(1ns);
        break;
      case 4:
        go(one);
        break;
      case 5:
        go(one - 1ns);
        break;
      case 6:
        go(some);
        break;
      case 7:
        go(w / (1 + s.more % 8));
        break;
      case 8:
        go(w);
        break;
      case 9:
        go(w - 1ns);
        break;
      case 10:
        go(std::min(w, facts_.last / 2 - facts_.first / 2) + w);
        break;
      case 11:
        return lagging(std::min(some, facts_.lag));
      case 12:
        return lagging(std::min(w / (1 + s.more % 8), facts_.lag));
      case 13:
        return lagging(facts_.lag);
      case 14:  // set back, further than readings lag
        if (may_be_set) go(-(facts_.lag / 2 * (1 + s.more % 9)));
        break;
      default:
        if (may_be_set) go((s.more % 2 == 0 ? 1 : -1) * (facts_.last / 8 - facts_.first / 8));
    }
    return now_;
  }
  /// As the last answer told.
  void wait(nanoseconds t) { go(t); }

 private:
  void go(nanoseconds by) {
    if (within(facts_, now_, by)) now_ += by;
  }
  nanoseconds lagging(nanoseconds by) const { return within(facts_, now_, -by) ? now_ - by : now_; }

  facts facts_;
  nanoseconds now_;
};

/// Which cost a step asks for: mostly small, now and then all of it, or more.
inline units cost_of(step const& s, units size) {
  constexpr units most = std::numeric_limits<units>::max();
  switch (s.part % 12) {
    case 0:
    case 1:
    case 2:
    case 3:
      return 1;
    case 4:
      return 2;
    case 5:
      return size / 2;
    case 6:
      return size;
    case 7:
      return size - 1;
    case 8:
      return size + 1;
    case 9:
      return 0;
    case 10:
      return 1 + s.more % size;
    default:
      return s.more % 2 == 0 ? most : 2 * std::min(size, most / 2);
  }
}

}  // namespace property
