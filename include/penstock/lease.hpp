#pragma once
// Reserve now, settle the true cost later: for tokens of a language model, bytes, rows, whatever is known only
// afterwards.
//
//   auto lease = per_user.reserve(user, cost{500});              // an estimate
//   if (!lease) return reply_429(lease.answer().retry_after);
//   auto const reply = ask_model(prompt);
//   lease.commit(cost{reply.tokens});                            // less is given back, more becomes a debt
//
// A lease that is dropped without a commit gives all back.

#include <penstock/limiter.hpp>

#include <chrono>
#include <utility>

namespace penstock::inline v0_1 {

/// Units taken from a limiter, to be settled once. Refers to the limiter, which must outlive it. Move-only.
/// Concurrency: one thread at a time; different leases are independent.
template <class L>
class [[nodiscard("a lease that is dropped gives its units back")]] lease {
 public:
  /// Takes c units of this key; dropped later than valid_for, the lease gives nothing back.
  template <class Key>
  lease(L& limiter, Key const& key, cost c, std::chrono::nanoseconds valid_for)
      : lease(limiter, c, limiter.clock().now(), valid_for, [&](auto now) { return limiter.take(now, key, c); }) {}
  /// Takes a place in the line: the units are this caller's after answer().delay, which is at most max_delay.
  template <class Key>
  static lease within(L& limiter, Key const& key, std::chrono::nanoseconds max_delay, cost c) {
    return within_at(limiter, limiter.clock().now(), key, max_delay, c);
  }
  /// The same at a reading that the caller has.
  template <class Key>
  static lease within_at(L& limiter, typename L::time_point now, Key const& key, std::chrono::nanoseconds max_delay,
                         cost c) {
    return lease(limiter, c, now, std::chrono::nanoseconds::max(),
                 [&](auto reading) { return limiter.take_within(reading, key, max_delay, c); });
  }
  lease(lease&& other) noexcept
      : limiter_(std::exchange(other.limiter_, nullptr)),
        ticket_(std::exchange(other.ticket_, none())),
        reserved_(other.reserved_),
        deadline_(other.deadline_) {}
  lease& operator=(lease&& other) noexcept {
    if (this != &other) {
      cancel();
      limiter_ = std::exchange(other.limiter_, nullptr);
      ticket_ = std::exchange(other.ticket_, none());
      reserved_ = other.reserved_;
      deadline_ = other.deadline_;
    }
    return *this;
  }
  ~lease() { cancel(); }

  /// Was it admitted? Stays true after the lease is settled, but not when it was moved from.
  explicit operator bool() const noexcept { return static_cast<bool>(ticket_.answer); }
  /// The decision it began with; `delay` is to be waited for when it was reserved within one.
  decision const& answer() const noexcept { return ticket_.answer; }

  /// The estimate was right.
  void commit() noexcept { limiter_ = nullptr; }

  /// Settles the true cost, also after the deadline: less than reserved is given back, with the instant of the charge;
  /// more is charged now, as a debt if need be. Does nothing when it was refused or is settled already.
  void commit(cost actual) {
    L* const limiter = std::exchange(limiter_, nullptr);
    if (limiter == nullptr) return;
    if (actual.units < reserved_.units)
      limiter->give_back(ticket_, cost{reserved_.units - actual.units});
    else if (actual.units > reserved_.units)
      limiter->charge_more(limiter->clock().now(), ticket_, cost{actual.units - reserved_.units});
  }

  /// Gives all back; after the deadline nothing, because by then the work is taken to have been done.
  void cancel() noexcept {
    L* const limiter = std::exchange(limiter_, nullptr);
    if (limiter != nullptr && limiter->clock().now() <= deadline_) limiter->give_back(ticket_, reserved_);
  }

 private:
  using time_point = typename L::time_point;

  template <class Take>
  lease(L& limiter, cost c, time_point now, std::chrono::nanoseconds valid_for, Take take)
      : limiter_(&limiter), ticket_(take(now)), reserved_(c), deadline_(time_point::max()) {
    if (!ticket_) limiter_ = nullptr;
    using seconds = std::chrono::duration<double>;  // a clock's ticks may be finer or coarser than what they count to
    seconds const left = seconds(time_point::max().time_since_epoch()) - seconds(now.time_since_epoch());
    if (valid_for != std::chrono::nanoseconds::max() && seconds(valid_for) < left)
      deadline_ = now + std::chrono::duration_cast<typename time_point::duration>(valid_for);
  }

  static typename L::ticket none() {
    typename L::ticket refused;
    refused.answer.outcome = verdict::limited;
    return refused;
  }

  L* limiter_;  ///< null once there is nothing to settle
  typename L::ticket ticket_;
  cost reserved_;
  time_point deadline_;
};

/// A place in the line of a bucket, meter or queue: what a timer or a coroutine waits with. Dropping it gives it on.
template <class L>
lease<L> reserve_within(L& limiter, typename L::key_argument key, std::chrono::nanoseconds max_delay,
                        cost c = cost{1}) {
  return lease<L>::within(limiter, key, max_delay, c);
}
template <class L>
lease<L> reserve_within(L& limiter, std::chrono::nanoseconds max_delay, cost c = cost{1}) {
  return lease<L>::within(limiter, no_key{}, max_delay, c);
}

/// limiter.reserve(key, c), for whatever takes tickets: a tiered limiter too.
template <class L>
lease<L> reserve(L& limiter, typename L::key_argument key, cost c,
                 std::chrono::nanoseconds valid_for = std::chrono::nanoseconds::max()) {
  return {limiter, key, c, valid_for};
}
template <class L>
lease<L> reserve(L& limiter, cost c, std::chrono::nanoseconds valid_for = std::chrono::nanoseconds::max()) {
  return {limiter, no_key{}, c, valid_for};
}

}  // namespace penstock::inline v0_1
