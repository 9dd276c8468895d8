#pragma once
// The failure policy at work: who answers while Redis cannot.

#include <penstock/limiters.hpp>
#include <penstock/redis/failure_policy.hpp>
#include <penstock/redis/remote_decision.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <variant>

namespace penstock::inline v0_1::redis::detail {

/// Windows aligned to the calendar must be aligned here too; the others count on a steady clock.
template <class A>
using local_clock = std::conditional_t<requires(A const& a) { a.tied_to_epoch(); }, std::chrono::system_clock,
                                       std::chrono::steady_clock>;

/// Concurrency: safe from any thread.
template <limiting_algorithm A, limit_key Key>
class fallback {
 public:
  using local_limiter = penstock::limiter<A, Key, local_clock<A>>;
  using key_argument = typename local_limiter::key_argument;
  using local_ticket = typename local_limiter::ticket;
  struct given {
    remote_decision answer;
    std::optional<local_ticket> ticket;  ///< of the local limiter, to be undone with the answer
  };

  fallback(failure_policy const& policy, typename A::config const& c, std::uint64_t limit,
           [[maybe_unused]] store_options const& keys)
      : policy_(policy), limit_(limit) {
    check_policy(policy_);
    auto const* const share = std::get_if<local>(&policy_);
    if (share == nullptr) return;
    if constexpr (std::same_as<Key, no_key>)
      local_ = std::make_unique<local_limiter>(scaled(c, share->fraction));
    else
      local_ = std::make_unique<local_limiter>(scaled(c, share->fraction), keys);
  }

  given take(key_argument key, cost c, std::error_code error) {
    if (!local_) return {stated(c, error), {}};
    given g;
    g.ticket = local_->take(local_->clock().now(), key, c);
    g.answer = {{told(g.ticket->answer, c)}, origin::local, error};
    return g;
  }
  remote_decision peek(key_argument key, cost c, std::error_code error) const {
    if (!local_) return stated(c, error);
    return {{told(local_->peek(local_->clock().now(), key, c), c)}, origin::local, error};
  }
  /// Redis, or a lease, admitted this: the local limiter must know of it on the day it is needed. Counted whether or
  /// not it fits the share; what undoes it, if it fitted: of a debt nobody knows how much was counted.
  std::optional<local_ticket> warm(key_argument key, cost c) {
    if (!local_) return {};
    auto const now = local_->clock().now();
    local_ticket t = local_->take(now, key, c);
    if (t) return t;
    local_->charge_more(now, t, c);
    return local_->take(now, key, cost{0});
  }
  void give_back(local_ticket const& t, cost c) { local_->give_back(t, c); }
  void charge_more(local_ticket const& t, cost c) { local_->charge_more(local_->clock().now(), t, c); }

  void charge(key_argument key, cost c) {
    with_key(key, [&](auto const&... k) { local_->charge(k..., c); });
  }
  void refund(key_argument key, cost c) {
    with_key(key, [&](auto const&... k) { local_->refund(k..., c); });
  }
  void forget(key_argument key) {
    with_key(key, [&](auto const&... k) { local_->forget(k...); });
  }

 private:
  /// Calls use(key), without a key use(), if there is a local limiter.
  void with_key(key_argument const& key, auto use) {
    if (!local_) return;
    if constexpr (std::same_as<Key, no_key>)
      use();
    else
      use(key);
  }

  /// What never fits the share but fits the limit waits for Redis, nobody knows how long.
  decision told(decision d, cost c) const {
    if (d.outcome != verdict::never || c.units > limit_) return d;
    d.outcome = verdict::limited;
    d.retry_after = local_->algorithm().full_use();
    return d;
  }

  /// Nothing is known of the key but the policy.
  remote_decision stated(cost c, std::error_code error) const {
    remote_decision d{{}, origin::policy, error};
    d.limit = limit_;
    auto const* const closed = std::get_if<fail_closed>(&policy_);
    if (closed == nullptr || c.units == 0) return d;
    bool const never = c.units > limit_;
    d.outcome = never ? verdict::never : verdict::limited;
    d.reset_after = d.next_after = closed->retry_after;
    d.retry_after = never ? duration::max() : closed->retry_after;
    return d;
  }

  failure_policy policy_;
  std::uint64_t limit_;
  std::unique_ptr<local_limiter> local_;
};

}  // namespace penstock::inline v0_1::redis::detail
