#pragma once
// One very hot state, for buckets and meters: each thread takes a small lease of units at a time and spends them alone.
//
// With a plain cell, threads on one limit pass its cache line around on every call; here on one call in thirty-two. The
// units of a lease are charged when it is taken, and may be spent only as long as the bucket could not have been full
// even without the units that all threads hold unspent. Until then a charge counts the same whether it is made early or
// late, and the bound holds exactly as in a plain cell. While the bucket is nearly full, calls are single charges.
//
// The price: a thread that stops calling strands at most its lease (32 units, or 1/64 of the allowance if that is less)
// until the bucket has recovered from it, and others may be refused that much early. Refunds and forget are not meant
// for such a limit: do not mix them with calls. `remaining` does not see what other threads have spent since this one
// took its lease.

#include <penstock/store/cell.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace penstock::inline v0_1::store {

/// Selects the leased cell as the store of an unkeyed token_bucket or leaky_meter.
/// Concurrency: safe from any thread, and wait-free while a lease lasts.
struct leased_cell {
  template <limiting_algorithm A, class Key>
  class of;
};

template <limiting_algorithm A, class Key>
class leased_cell::of : public detail::word_cell<A> {
  using state = typename A::state;
  static_assert(
      penstock::detail::word_count<state> == 1 && requires(A const& a, state& s, instant now, cost c) {
        a.reserve(s, now, c);
      }, "store::leased_cell is for limiters whose charges add up: token_bucket and leaky_meter");

 public:
  of() = default;
  of(of const&) = delete;
  of& operator=(of const&) = delete;

  void attempt() = delete;  // calls go to spend

  /// Spends c units of this thread's lease, or takes a new one; `elsewhere` when not even c units are there.
  [[gnu::always_inline]] attempted<state> spend(A const& algorithm, instant now, cost c) {
    lease& mine = leases[id_ % leases.size()];
    if (!mine.lasts(id_, algorithm, now) || c.units > mine.left) [[unlikely]]
      if (!renew(algorithm, now, c, mine)) return {};
    state seen = mine.before;  // as if this thread's units had been charged one by one
    algorithm.charge(seen, mine.taken, cost{mine.units - mine.left});
    mine.left -= c.units;
    return {penstock::attempt::changed, seen};
  }

 private:
  static constexpr std::uint64_t most = 32;

  struct lease {
    std::uint64_t cell = 0;  ///< 0: none
    std::uint64_t units = 0, left = 0;
    instant taken{}, until{};
    state before{};  ///< the shared state that the lease was taken from
    A const* algorithm = nullptr;

    bool lasts(std::uint64_t wanted_cell, A const& in_force, instant now) const noexcept {
      return cell == wanted_cell && algorithm == &in_force && taken <= now && now < until;
    }
  };

  /// Takes what is missing to c units, or a lease if that is more. False when it is not there.
  [[gnu::noinline]] bool renew(A const& algorithm, instant now, cost c, lease& mine) {
    if (mine.cell != id_) threads_.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t const kept = mine.lasts(id_, algorithm, now) ? mine.left : 0;
    std::uint64_t const missing = c.units - kept;
    std::uint64_t const usual =
        std::clamp<std::uint64_t>(algorithm.describe(state{}, now, cost{0}).limit / 64, 1, most);
    std::uint64_t const unspent = threads_.load(std::memory_order_relaxed) * most;
    lease renewed{id_, 0, 0, now, {}, {}, &algorithm};
    bool taken = false;
    this->update([&](state& s) {
      state spent_only = s;
      algorithm.refund(spent_only, now, cost{unspent});
      renewed.until = algorithm.fresh_at(spent_only);
      std::uint64_t wanted = renewed.until > now ? std::max(missing, usual) : missing;
      while (wanted > missing && !algorithm.admits(s, now, cost{wanted})) wanted = std::max(missing, wanted / 2);
      taken = algorithm.admits(s, now, cost{wanted});
      if (!taken) return false;
      renewed.before = s;
      renewed.units = renewed.left = kept + wanted;
      algorithm.charge(s, now, cost{wanted});
      return true;
    });
    if (taken) mine = renewed;
    return taken;
  }

  static inline thread_local constinit std::array<lease, 4> leases{};
  static inline std::atomic<std::uint64_t> last_id{0};

  std::uint64_t const id_ = ++last_id;
  std::atomic<std::uint64_t> threads_{0};  ///< at least as many as hold a lease
};

}  // namespace penstock::inline v0_1::store
