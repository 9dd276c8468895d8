#pragma once
// A limiter: an algorithm, a store for the states of its keys, and a clock.
//
//   penstock::token_bucket<std::string> per_user({.refill = per_second(5), .burst = 20}, {.max_keys = 1'000'000});
//   if (auto d = per_user.allow(user); !d) reply_429(d.retry_after);

#include <penstock/limiter_core.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace penstock::inline v0_1 {

template <class L>
class lease;  // lease.hpp

/// Concurrency: every member is safe to call from any thread, and exact: no two calls are admitted on one allowance.
/// (But a limiter over store::unsynchronized is for one thread.)
///
/// Each question has a twin that takes the time: for replays, simulations and tests, for callers who have read the
/// clock already, and where one reading must serve several limiters. Readings may lag behind one another (design: law
/// 6).
template <limiting_algorithm A, limit_key Key = no_key, clock_source C = std::chrono::steady_clock,
          class Store = default_store>
class limiter {
  static constexpr bool keyed = !std::same_as<Key, no_key>;
  using core = detail::limiter_core<A, Key, C, Store>;
  using place = typename core::place;

 public:
  using algorithm_type = A;
  using key_type = Key;
  using clock_type = C;
  using config = typename A::config;
  using time_point = typename C::time_point;
  /// What a key is passed as: std::string_view for texts; integers refuse a type that would lose bits.
  using key_argument = typename core::argument;

  /// Throws config_error, which names the field, its value and the allowed range.
  explicit limiter(config const& c, C clock = C{})
    requires(!keyed)
      : core_(std::move(clock)), plans_(A(c, core_.reading())) {}
  explicit limiter(config const& c, store_options const& options = store_options{}, C clock = C{})
    requires(keyed)
      : core_(options, std::move(clock)), plans_(A(c, core_.reading())) {}
  /// (A template, so that {} means the options.)
  template <std::convertible_to<C> Given = C>
  limiter(config const& c, Given clock)
    requires(keyed)
      : limiter(c, store_options{}, std::move(clock)) {}
  limiter(limiter const&) = delete;
  limiter& operator=(limiter const&) = delete;

  /// May this key have `c` units now? Counts them if so; a refusal changes nothing. Cost 0 is always admitted.
  /// O(1); allocates nothing (but in a sliding log and a sharded map).
  [[gnu::always_inline]] decision allow(key_argument key, cost c = cost{1})
    requires(keyed)
  {
    auto const& plan = plans_.current();
    place const p = core_.find(key);  // the memory is on its way while the clock is read
    return core_.take(plan, core_.reading(), p, c);
  }
  [[gnu::always_inline]] decision allow_at(time_point now, key_argument key, cost c = cost{1})
    requires(keyed)
  {
    auto const& plan = plans_.current();
    return core_.take(plan, to_instant(now), core_.find(key), c);
  }

  /// What allow would return; changes nothing, also not what a call would note of a clock that was set back. cost{0}
  /// asks for the present: what is left, and when more comes.
  decision peek(key_argument key, cost c = cost{1}) const
    requires(keyed)
  {
    place const p = core_.find(key);
    return core_.look(plans_.current(), core_.reading(), p, c);
  }
  decision peek_at(time_point now, key_argument key, cost c = cost{1}) const
    requires(keyed)
  {
    return core_.look(plans_.current(), to_instant(now), core_.find(key), c);
  }

  /// Like allow, but admits also what can go within max_delay: the units are taken now, and the caller waits for the
  /// decision's `delay`. First come, first served. Buckets, meters and queues only. A wait of more than W + max(W, 60
  /// s)/2 cannot be promised, W being what the whole allowance takes to recover (a queue: W).
  decision allow_within(key_argument key, std::chrono::nanoseconds max_delay, cost c = cost{1})
    requires(keyed && detail::reserving<A>)
  {
    place const p = core_.find(key);
    return core_.take(plans_.current(), core_.reading(), p, c, detail::ask_within{max_delay});
  }
  decision allow_within_at(time_point now, key_argument key, std::chrono::nanoseconds max_delay, cost c = cost{1})
    requires(keyed && detail::reserving<A>)
  {
    return core_.take(plans_.current(), to_instant(now), core_.find(key), c, detail::ask_within{max_delay});
  }

  /// Counts `c` units whether or not they fit: settles a cost known only afterwards. The debt is at most one allowance.
  void charge(key_argument key, cost c)
    requires(keyed)
  {
    place const p = core_.find(key);
    core_.settle(plans_.current(), core_.reading(), p, c);
  }
  void charge_at(time_point now, key_argument key, cost c)
    requires(keyed)
  {
    core_.settle(plans_.current(), to_instant(now), core_.find(key), c);
  }

  /// Undoes a charge made at `charged_at` (refund: just now); never above fresh. What a window, a log or a queue can no
  /// longer give back, and keys that are not held, are left alone. The units are those of the configuration in force,
  /// and of charges at one instant the last is meant: leases and the tickets of take() remember which.
  void refund(key_argument key, cost c)
    requires(keyed)
  {
    place const p = core_.find(key);
    core_.give_back(plans_.current(), core_.reading(), p, c);
  }
  void refund_at(time_point charged_at, key_argument key, cost c)
    requires(keyed)
  {
    core_.give_back(plans_.current(), to_instant(charged_at), core_.find(key), c);
  }

  /// Takes c units now, to be settled when the true cost is known; dropped, the lease gives them back (unless later
  /// than valid_for). Include lease.hpp.
  lease<limiter> reserve(key_argument key, cost c, std::chrono::nanoseconds valid_for = std::chrono::nanoseconds::max())
    requires(keyed)
  {
    return {*this, key, c, valid_for};
  }

  /// From now on as if never seen.
  void forget(key_argument key)
    requires(keyed)
  {
    core_.forget(plans_.current(), core_.find(key));
  }

  /// allow for many keys: decisions[i] answers keys[i]. The memory of the next keys is fetched while one is decided,
  /// which makes a batch out of cache several times faster than single calls. One reading of the clock serves all.
  /// Both spans must be of one length; excess is left alone.
  void allow_each(std::span<Key const> keys, std::span<decision> decisions, cost c = cost{1})
    requires(keyed)
  {
    allow_each_from(core_.reading(), keys, decisions, c);
  }
  void allow_each_at(time_point now, std::span<Key const> keys, std::span<decision> decisions, cost c = cost{1})
    requires(keyed)
  {
    allow_each_from(to_instant(now), keys, decisions, c);
  }

  // The same for a limiter without a key.
  [[gnu::always_inline]] decision allow(cost c = cost{1})
    requires(!keyed)
  {
    return core_.take(plans_.current(), core_.reading(), {}, c);
  }
  [[gnu::always_inline]] decision allow_at(time_point now, cost c = cost{1})
    requires(!keyed)
  {
    return core_.take(plans_.current(), to_instant(now), {}, c);
  }
  decision peek(cost c = cost{1}) const
    requires(!keyed)
  {
    return core_.look(plans_.current(), core_.reading(), {}, c);
  }
  decision peek_at(time_point now, cost c = cost{1}) const
    requires(!keyed)
  {
    return core_.look(plans_.current(), to_instant(now), {}, c);
  }
  decision allow_within(std::chrono::nanoseconds max_delay, cost c = cost{1})
    requires(!keyed && detail::reserving<A>)
  {
    return core_.take(plans_.current(), core_.reading(), {}, c, detail::ask_within{max_delay});
  }
  decision allow_within_at(time_point now, std::chrono::nanoseconds max_delay, cost c = cost{1})
    requires(!keyed && detail::reserving<A>)
  {
    return core_.take(plans_.current(), to_instant(now), {}, c, detail::ask_within{max_delay});
  }
  void charge(cost c)
    requires(!keyed)
  {
    core_.settle(plans_.current(), core_.reading(), {}, c);
  }
  void charge_at(time_point now, cost c)
    requires(!keyed)
  {
    core_.settle(plans_.current(), to_instant(now), {}, c);
  }
  void refund(cost c)
    requires(!keyed)
  {
    core_.give_back(plans_.current(), core_.reading(), {}, c);
  }
  void refund_at(time_point charged_at, cost c)
    requires(!keyed)
  {
    core_.give_back(plans_.current(), to_instant(charged_at), {}, c);
  }
  lease<limiter> reserve(cost c, std::chrono::nanoseconds valid_for = std::chrono::nanoseconds::max())
    requires(!keyed)
  {
    return {*this, no_key{}, c, valid_for};
  }
  void forget()
    requires(!keyed)
  {
    core_.forget(plans_.current(), {});
  }

  /// What can be undone or settled later: a decision, and where and when it was taken.
  class ticket {
   public:
    decision answer;
    constexpr explicit operator bool() const noexcept { return static_cast<bool>(answer); }

   private:
    friend limiter;
    place at_{};
    detail::receipt_of<A> charged_at_{};
    cost units_{0};
  };

  // The layer's side of a limiter (stack.hpp); also what leases are made of. Without a key, pass no_key{}.
  decision peek(time_point now, key_argument key, cost c) const {
    return core_.look(plans_.current(), to_instant(now), core_.find(key), c);
  }
  ticket take(time_point now, key_argument key, cost c) {
    return issue(core_.find(key), to_instant(now), c, detail::ask_now{});
  }
  ticket take_within(time_point now, key_argument key, std::chrono::nanoseconds max_delay, cost c)
    requires(detail::reserving<A>)
  {
    return issue(core_.find(key), to_instant(now), c, detail::ask_within{max_delay});
  }
  /// Gives back `c` of the ticket's units (all of them, if c is left out).
  void undo(ticket&& t) { give_back(t, t.units_); }
  void give_back(ticket const& t, cost c) {
    if (t) core_.give_back(plans_.current(), t.charged_at_, t.at_, std::min(c, t.units_));
  }
  /// Charges `c` more units to the ticket's key.
  void charge_more(time_point now, ticket const& t, cost c) {
    core_.settle(plans_.current(), to_instant(now), t.at_, c);
  }

  /// Puts another configuration in force, at once and for all keys; calls under way end under the old one. A key keeps
  /// the instant at which it would be fresh, capped at what the new configuration takes to recover from full use.
  /// Throws config_error, nothing changed; also for a rate that the units chosen at construction do not express to 0.2
  /// %.
  void reconfigure(config const& c) { plans_.publish(plans_.current().algorithm.successor(c), core_.reading()); }

  /// visit(key, decision) for every key that is not fresh, with its present decision (cost 0): for admin pages.
  /// Integers and enums are given back as they were; a store has no other keys, so those are told by their fingerprint.
  /// Under traffic, keys that come or go meanwhile may be seen or not. visit must not call the limiter.
  template <class Visit>
  void for_each(Visit visit) const
    requires(keyed)
  {
    auto const& plan = plans_.current();
    core_.for_each_state(
        plan, [&](auto const& key, auto const& state, instant now) { visit(key, core_.described(plan, state, now)); });
  }

  /// The table's states as bytes, so that a restarted service does not forget: versioned, checksummed, portable between
  /// machines. It holds the secret that keys are hashed under: keep it as you keep the process's memory. Safe under
  /// traffic. Throws config_error for windows aligned to a steady clock, whose epoch does not outlive the machine.
  std::vector<std::byte> snapshot(std::chrono::system_clock::time_point wall = std::chrono::system_clock::now()) const
    requires(keyed)
  {
    return core_.snapshot(plans_.current(), wall);
  }
  /// Takes over a snapshot of a limiter of the same kind and max_keys; what has passed by the wall clock counts. Before
  /// the limiter serves: not while others call it. Throws config_error, and changes nothing, when the bytes are
  /// damaged, foreign, or of another shape.
  void restore(std::span<std::byte const> bytes,
               std::chrono::system_clock::time_point wall = std::chrono::system_clock::now())
    requires(keyed)
  {
    core_.restore(plans_.current(), bytes, wall);
  }

  /// Keys held, capacity, evictions, newcomers refused. Walks all keys: for dashboards.
  store_stats stats() const { return core_.stats(plans_.current()); }

  /// The algorithm in force: its size, true rate and so on.
  A algorithm() const { return plans_.current().algorithm; }
  C const& clock() const noexcept { return core_.clock(); }

 private:
  template <class Ask>
  ticket issue(place const& p, instant now, cost c, Ask ask) {
    auto const t = core_.take(plans_.current(), now, p, c, detail::remembering<Ask>{ask});
    ticket issued;
    issued.answer = t.answer;
    issued.at_ = p;
    issued.charged_at_ = t.charged_at;
    issued.units_ = c;
    return issued;
  }

  void allow_each_from(instant now, std::span<Key const> keys, std::span<decision> decisions, cost c) {
    auto const& plan = plans_.current();
    core_.in_flight(
        std::min(keys.size(), decisions.size()), [&](std::size_t i) { return core_.find(keys[i]); },
        [&](std::size_t i, place const& p) { decisions[i] = core_.take(plan, now, p, c); });
  }

  core core_;
  detail::plans<A> plans_;
};

}  // namespace penstock::inline v0_1
