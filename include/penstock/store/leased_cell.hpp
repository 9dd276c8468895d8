#pragma once
// One very hot state, for buckets and meters: each thread takes a small lease of units at a time and spends them alone.
//
// With a plain cell, threads on one limit pass its cache line around on every call; here on one call in thirty-two. The
// units of a lease are charged when it is taken, and may be spent only as long as the bucket could not be full even
// without the units that all threads hold unspent. Until then a charge counts the same whether it is made early or
// late, so the bound holds exactly as in a plain cell. While the bucket is nearly full, calls are single charges.
//
// The price: a thread holds back at most its lease, 31 units, or 1/64 of the allowance if that is less. It gives the
// rest back when it ends, and when it takes the next lease. One that falls silent without ending keeps others from
// those units until the bucket has recovered from them, as if it had spent them. A lease is called in, and what is
// unspent of it counts as spent, when units are refunded or forgotten, when the configuration changes, and when
// somebody charges a bucket that may have been full meanwhile. peek and `remaining` see the shared state, not what
// threads hold, this one among them.

#include <penstock/store/cell.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace penstock::inline v0_1::store {

/// Selects the leased cell as the store of an unkeyed token_bucket or leaky_meter.
/// Concurrency: safe from any thread, and wait-free while a lease lasts.
struct leased_cell {
  template <limiting_algorithm A, class Key>
  class of;
};

template <limiting_algorithm A, class Key>
class leased_cell::of : public detail::word_cell<A> {
  using base = detail::word_cell<A>;
  using state = typename A::state;
  static_assert(
      penstock::detail::word_count<state> == 1 && std::is_trivially_destructible_v<A> &&
          requires(A const& a, state& s, instant now, cost c) { a.reserve(s, now, c), a.size(); },
      "store::leased_cell is for limiters whose charges add up: token_bucket and leaky_meter");

 public:
  using place = typename base::place;

  of() { desk_->cell = this; }
  of(of const&) = delete;
  of& operator=(of const&) = delete;
  ~of() {
    std::lock_guard const guard(desk_->lock);
    desk_->cell = nullptr;
  }

  void attempt() = delete;  // calls go to spend

  /// Spends c units of this thread's lease, or takes a new one; `unchanged` when not even c units are there.
  [[gnu::always_inline]] attempted<state> spend(A const& algorithm, instant now, cost c) {
    lease& mine = leases[slot_];
    if (!lasts(mine, algorithm, now) || c.units > mine.left) [[unlikely]]
      if (auto const refused = renew(algorithm, now, c, mine)) return *refused;
    state seen = mine.before;  // as if this thread's units had been charged one by one
    algorithm.charge(seen, mine.taken, cost{mine.units - mine.left});
    mine.left -= c.units;
    return {penstock::attempt::changed, seen};
  }

  template <class Step>
  std::optional<no_room<typename A::state>> change(A const& algorithm, place, instant now, Step step) {
    base::update([&](state& s) {
      state const before = s;
      call_in_if_full(algorithm, s, now, 0);
      if (!step(s)) return false;
      if (word_of(s) < word_of(before)) call_in();  // capped, or the clock was set back
      return true;
    });
    return {};
  }
  template <class Step>
  void insist(A const& algorithm, place at, instant now, Step step) {
    change(algorithm, at, now, step);
  }
  template <class Step>
  void amend(A const&, place, Step step) {
    amending_.fetch_add(1, std::memory_order_acq_rel);  // no new leases until it is done
    call_in();
    base::update(step);
    amending_.fetch_sub(1, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t most = 32;

  /// Where threads that end find the cell, or that it is gone.
  struct desk {
    std::mutex lock;
    of* cell;
  };
  struct lease {
    desk* from = nullptr;
    std::uint64_t units = 0, left = 0;
    std::uint64_t calling = 0;  ///< calls_ when it was taken
    bool counted = false;       ///< in holders_
    instant taken{earliest}, until{};
    state before{};  ///< the shared state that the lease was taken from
    A const* algorithm = nullptr;
    std::optional<A> rule{};  ///< the same: a thread may end when the limiter's own is gone
  };

  bool called_in(lease const& l) const noexcept { return l.calling != calls_.load(std::memory_order_acquire); }
  bool lasts(lease const& l, A const& in_force, instant now) const noexcept {
    return l.from == desk_.get() && l.algorithm == &in_force && !called_in(l) && l.taken <= now && now < l.until;
  }

  static std::uint64_t word_of(state const& s) noexcept { return std::bit_cast<std::uint64_t>(s); }

  void call_in() noexcept { calls_.fetch_add(1, std::memory_order_acq_rel); }

  /// When the bucket would be full without all that `holders` may have unspent. To be asked after the state was read: a
  /// thread counts itself before it takes, and gives back before it counts itself out.
  static instant could_be_full_at(A const& algorithm, state s, instant now, std::uint64_t holders) noexcept {
    algorithm.refund(s, now, cost{holders * most});
    return algorithm.fresh_at(s);
  }
  /// A charge that finds the bucket full, or that would if others had not taken leases, makes those leases inexact.
  void call_in_if_full(A const& algorithm, state const& s, instant now, std::uint64_t mine) noexcept {
    if (granted_.load(std::memory_order_acquire) != calls_.load(std::memory_order_acquire)) return;  // there are none
    if (granted_under_.load(std::memory_order_acquire) != &algorithm ||
        could_be_full_at(algorithm, s, now, holders_.load(std::memory_order_acquire) - mine) <= now)
      call_in();
  }

  /// Gives back what is left of this thread's lease and takes a new one, in one step. Says why not, if not.
  [[gnu::noinline]] std::optional<attempted<state>> renew(A const& algorithm, instant now, cost c, lease& mine) {
    if (ending) return attempted<state>{};
    if (mine.from != desk_.get()) keeper.exchange(slot_, desk_);
    if (now < mine.taken) return attempted<state>{};  // a reading that lags charges the cell itself
    std::uint64_t const usual = std::clamp<std::uint64_t>(algorithm.size() / 64, 1, most);
    lease next{desk_.get(), 0, 0, 0, mine.counted, now, {}, {}, &algorithm, algorithm};
    bool admitted = false;
    this->update([&](state& s) {
      if (mine.algorithm == &algorithm && !called_in(mine)) algorithm.refund(s, mine.taken, cost{mine.left});
      next.before = s;
      admitted = algorithm.admits(s, now, c);
      if (!admitted) return false;
      call_in_if_full(algorithm, s, now, next.counted ? 1 : 0);
      next.calling = calls_.load(std::memory_order_acquire);
      next.units = c.units;
      if (amending_.load(std::memory_order_acquire) == 0) grant(algorithm, s, now, c, usual, next);
      algorithm.charge(s, now, cost{next.units});
      return true;
    });
    if (!admitted) {
      if (next.counted && !mine.counted) holders_.fetch_sub(1, std::memory_order_release);
      return attempted<state>{penstock::attempt::unchanged, next.before};
    }
    if (next.counted && next.units == c.units) {
      holders_.fetch_sub(1, std::memory_order_release);
      next.counted = false;
    }
    next.left = next.units;
    mine = next;
    return {};
  }

  /// Makes `next` a lease of as much as there is, up to the usual, if the bucket is far enough from full.
  void grant(A const& algorithm, state const& s, instant now, cost c, std::uint64_t usual, lease& next) {
    std::uint64_t units = std::max(c.units, usual);
    while (units > c.units && !algorithm.admits(s, now, cost{units})) units = std::max(c.units, units / 2);
    if (units == c.units) return;
    state after = s;
    algorithm.charge(after, now, cost{units});
    std::uint64_t const holders = holders_.load(std::memory_order_acquire) + (next.counted ? 0 : 1);
    next.until = could_be_full_at(algorithm, after, now, holders);
    if (next.until <= now) return;
    next.units = units;
    if (!std::exchange(next.counted, true)) holders_.fetch_add(1, std::memory_order_acq_rel);
    if (granted_under_.load(std::memory_order_relaxed) != &algorithm)
      granted_under_.store(&algorithm, std::memory_order_release);
    std::uint64_t last = granted_.load(std::memory_order_relaxed);
    while (last < next.calling && !granted_.compare_exchange_weak(last, next.calling, std::memory_order_release)) {
    }
  }

  /// What is left of a thread's lease goes back; the thread holds none any more.
  void take_back(lease const& l) noexcept {
    this->update([&](state& s) {
      if (l.left == 0 || called_in(l)) return false;
      l.rule->refund(s, l.taken, cost{l.left});
      return true;
    });
    if (l.counted) holders_.fetch_sub(1, std::memory_order_release);
  }

  static constexpr std::size_t leases_per_thread = 4;
  static inline thread_local constinit std::array<lease, leases_per_thread> leases{};

  /// Gives this thread's leases back: when it ends, and when a lease makes room for one of another cell.
  struct lease_keeper {
    std::array<std::shared_ptr<desk>, leases_per_thread> desks;

    void exchange(std::size_t slot, std::shared_ptr<desk> const& next) {
      if (auto const from = std::exchange(desks[slot], next)) {
        std::lock_guard const guard(from->lock);
        if (from->cell != nullptr) from->cell->take_back(leases[slot]);
      }
      leases[slot] = lease{};
      leases[slot].from = next.get();
    }
    ~lease_keeper() {
      ending = true;
      for (std::size_t slot = 0; slot < leases_per_thread; ++slot) exchange(slot, nullptr);
    }
  };
  static inline thread_local constinit bool ending = false;  ///< the keeper is gone
  static inline thread_local lease_keeper keeper{};
  static inline std::atomic<std::size_t> next_slot{0};

  // What every call reads lies apart from the word that is written; of the rest, all is written seldom.
  alignas(64) std::shared_ptr<desk> const desk_ = std::make_shared<desk>();
  std::size_t const slot_ = next_slot.fetch_add(1, std::memory_order_relaxed) % leases_per_thread;
  std::atomic<std::uint64_t> calls_{1};     ///< how often all leases were called in
  std::atomic<std::uint64_t> granted_{0};   ///< calls_ when the last lease was granted
  std::atomic<A const*> granted_under_{};   ///< the configuration under which it was
  std::atomic<std::uint64_t> holders_{0};   ///< threads that may hold a lease
  std::atomic<std::uint64_t> amending_{0};  ///< how many change the state in ways that leases do not foresee
};

}  // namespace penstock::inline v0_1::store
