#pragma once
// A configuration in force, and how one takes over from another under traffic.
//
// States are not converted, swept or locked when a configuration changes: a state says when its key will be fresh
// again, and that instant is kept, capped at the new plan's own full use. So a plan must know until when it may still
// meet states of its predecessors; a debt made in that time is cut to full use too.

#include <penstock/algorithm.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace penstock::inline v0_1::detail {

template <limiting_algorithm A>
struct plan {
  explicit plan(A const& a) : algorithm(a) {}

  /// What an earlier plan left becomes what this one can mean. When that changes the state, it is kept, also by a
  /// refusal: else the cap would be taken anew at every reading, and the key would never recover.
  [[gnu::always_inline]] bool adopt(typename A::state& s, instant now) const {
    if constexpr (adopting<A>)
      if (adopts_at(now)) [[unlikely]] {
        if constexpr (std::is_trivially_copyable_v<typename A::state>) {
          // By value, so that the state of a call that adopts nothing stays in a register.
          auto const [capped, changed] = capped_remembering(s, now);
          s = capped;
          return changed;
        } else {
          return cap_remembering(s, now);
        }
      }
    return false;
  }
  /// The same for a copy that is only looked at.
  void adopt_copy(typename A::state& s, instant now) const {
    if constexpr (adopting<A>)
      if (adopts_at(now)) cap(s, now);
  }
  /// Until no reading can lag behind the last instant at which a state of an earlier plan means anything.
  bool adopts_at(instant now) const noexcept {
    return now.time_since_epoch().count() < watches_until.load(std::memory_order_relaxed);
  }

  /// What this plan promises beyond its full use (the state that it leaves would be capped) is not what an earlier one
  /// left. To be said before it is promised, while it adopts.
  void promise(typename A::state next, instant now, duration delay) const {
    if constexpr (adopting<A>)
      if (algorithm.adopt(next, now)) raise(promised_until, (now + delay).time_since_epoch().count());
  }

  /// States of earlier plans are about until then.
  void adopt_until(instant until) noexcept {
    raise(adopts_until, until.time_since_epoch().count());
    raise(watches_until, (until + tolerance(algorithm.full_use())).time_since_epoch().count());
  }

  /// The newest reading that a call came with. A cap taken at one that lags would cut what was charged under this plan
  /// since. One that is ahead by more than readings may lag is from before the clock was set back.
  instant newest(instant now) const noexcept {
    instant const seen{duration{newest_reading.load(std::memory_order_relaxed)}};
    return seen > now && !is_lost(seen, now) ? seen : now;
  }
  void remember(instant now) const noexcept {
    duration::rep const mine = now.time_since_epoch().count();
    duration::rep seen = newest_reading.load(std::memory_order_relaxed);
    while ((seen < mine || is_lost(instant{duration{seen}}, now)) &&
           !newest_reading.compare_exchange_weak(seen, mine, std::memory_order_relaxed)) {
    }
  }

  A const algorithm;
  std::atomic<duration::rep> adopts_until{duration::min().count()};
  std::unique_ptr<plan> older;

 private:
  bool cap_remembering(typename A::state& s, instant now) const {
    remember(now);
    return cap(s, now);
  }
  [[gnu::noinline]] std::pair<typename A::state, bool> capped_remembering(typename A::state s, instant now) const {
    bool const changed = cap_remembering(s, now);
    return {s, changed};
  }
  /// A state that reaches no further than a promise may be one.
  bool cap(typename A::state& s, instant now) const {
    instant const reading = newest(now);
    if (reading.time_since_epoch().count() >= adopts_until.load(std::memory_order_relaxed)) return false;
    if constexpr (reserving<A>)
      if (instant const promised{duration{promised_until.load(std::memory_order_relaxed)}}; promised > reading)
        if (auto probe = s; !algorithm.adopt(probe, promised)) return false;
    return algorithm.adopt(s, reading);
  }
  bool is_lost(instant seen, instant now) const noexcept {
    return seen > now && between(now, seen) > static_cast<std::uint64_t>(tolerance(algorithm.full_use()).count());
  }
  static void raise(std::atomic<duration::rep>& what, duration::rep to) noexcept {
    duration::rep seen = what.load(std::memory_order_relaxed);
    while (seen < to && !what.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
    }
  }

  std::atomic<duration::rep> watches_until{duration::min().count()};
  // Kept while it adopts.
  mutable std::atomic<duration::rep> newest_reading{earliest.time_since_epoch().count()};
  mutable std::atomic<duration::rep> promised_until{earliest.time_since_epoch().count()};
};

/// The plan in force and those before it. Each different configuration stays in memory as long as the limiter lives,
/// because a thread may be reading it; going back to one that was used before takes no more memory.
template <limiting_algorithm A>
class plans {
 public:
  explicit plans(A const& first) : first_(first), current_(&first_) {}
  /// One after another: left to themselves, each would end inside the one before it, and the stack with the many.
  ~plans() {
    for (auto next = std::move(first_.older); next;) next = std::move(next->older);
  }

  plan<A> const& current() const noexcept { return *current_.load(std::memory_order_acquire); }

  /// Puts `next` in force at `now`. Concurrency: safe from any thread; a call that is under way ends under the plan it
  /// began with.
  void publish(A const& next, instant now) {
    std::lock_guard const guard(changing_);
    A const& old = current().algorithm;
    if (old == next) return;
    plan<A>& successor = find_or_add(next);
    // Twice: a debt doubles what a key can be ahead by. What the plans before the old one left may be about as well.
    instant const before{duration{current().adopts_until.load(std::memory_order_relaxed)}};
    successor.adopt_until(std::max(before, std::min(latest, now + 2 * std::min(old.full_use(), longest_period / 2))));
    successor.remember(current().newest(now));
    current_.store(&successor, std::memory_order_release);
  }

 private:
  plan<A>& find_or_add(A const& wanted) {
    plan<A>* last = &first_;
    for (;; last = last->older.get()) {
      if (last->algorithm == wanted) return *last;
      if (!last->older) break;
    }
    last->older = std::make_unique<plan<A>>(wanted);
    return *last->older;
  }

  plan<A> first_;
  std::atomic<plan<A> const*> current_;
  std::mutex changing_;
};

}  // namespace penstock::inline v0_1::detail
