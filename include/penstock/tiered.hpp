#pragma once
// Plans: free, basic, enterprise. One table for all keys; each call says which plan its key is on.
//
//   enum class plan { free, basic };
//   penstock::tiered<penstock::token_bucket, plan, std::string> api({{plan::free, {.refill = per_minute(100)}},
//                                                                    {plan::basic, {.refill = per_minute(1000)}}});
//   api.allow(user.plan, user.id);
//
// A key that changes its plan keeps the instant at which it would be fresh, capped at the new plan's own full use: 40
// of 100 a minute become 40 % of 1000 a minute. It is neither a fresh allowance nor a conversion of counts.

#include <penstock/limiter.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock::inline v0_1 {
namespace detail {

/// One plan's algorithm over states that remember which plan wrote them.
template <limiting_algorithm A>
class tier {
 public:
  struct config {
    typename A::config plan;
    std::uint64_t number = 0;
  };
  struct state {
    typename A::state inner{};
    std::uint64_t tier{};
  };

  constexpr explicit tier(config const& c, instant origin = {}) : plan_(c.plan, origin), number_(c.number) {}
  constexpr tier(A const& plan, std::uint64_t number) : plan_(plan), number_(number) {}
  constexpr tier successor(config const& c) const { return {plan_.successor(c.plan), number_}; }
  constexpr A const& plan() const noexcept { return plan_; }

  constexpr bool admits(state const& s, instant now, cost c) const { return plan_.admits(seen(s, now), now, c); }
  constexpr void charge(state& s, instant now, cost c) const {
    if (c.units == 0) return;
    adopt(s, now);
    plan_.charge(s.inner, now, c);
    s.tier = number_;
  }
  using receipt = receipt_of<A>;
  constexpr void refund(state& s, instant charged_at, cost c) const
    requires(!std::same_as<receipt, instant>)
  {
    plan_.refund(s.inner, charged_at, c);
  }
  constexpr void refund(state& s, receipt const& charged_at, cost c) const { plan_.refund(s.inner, charged_at, c); }
  constexpr receipt charged_at(state const& s, instant now) const { return detail::receipt(plan_, seen(s, now), now); }
  constexpr void make_own(state& s, instant now) const { detail::make_own(plan_, s.inner, now); }
  constexpr decision describe(state const& s, instant now, cost c) const {
    return plan_.describe(seen(s, now), now, c);
  }
  constexpr instant fresh_at(state const& s) const { return plan_.fresh_at(s.inner); }
  constexpr bool is_fresh(state const& s, instant now) const { return detail::is_fresh(plan_, s.inner, now); }
  /// What two plans left belongs to neither.
  constexpr state join(state const& a, state const& b) const {
    return {plan_.join(a.inner, b.inner), a.tier == b.tier ? a.tier : no_tier};
  }
  /// A cap is kept, also by a refusal (see plan::adopt).
  constexpr bool reanchor(state& s, instant now) const {
    bool const capped = adopt(s, now);
    return detail::reanchor(plan_, s.inner, now) || capped;
  }
  constexpr bool adopt(state& s, instant now) const {
    if constexpr (adopts)
      if (s.tier != number_ && plan_.adopt(s.inner, now)) {
        s.tier = number_;
        return true;
      }
    return false;
  }
  constexpr duration full_use() const noexcept { return plan_.full_use(); }

  friend constexpr bool operator==(tier const&, tier const&) = default;

 private:
  static constexpr std::uint64_t no_tier = std::numeric_limits<std::uint64_t>::max();
  static constexpr bool adopts = requires(A const& a, typename A::state& s, instant now) { a.adopt(s, now); };

  /// The state as this plan sees it: by reference where nothing can be capped.
  constexpr auto seen(state const& s, instant now) const
    requires adopts
  {
    state capped = s;
    adopt(capped, now);
    return capped.inner;
  }
  constexpr auto const& seen(state const& s, instant) const
    requires(!adopts)
  {
    return s.inner;
  }

  A plan_;
  std::uint64_t number_;
};

}  // namespace detail

/// A keyed limiter with several configurations of one algorithm. L is one of the six names (penstock::token_bucket
/// ...), Tier an enum or an integer, numbered from 0. Concurrency: as limiter.
template <template <class, class, class> class L, class Tier, limit_key Key, clock_source C = std::chrono::steady_clock,
          class Store = default_store>
  requires(std::is_enum_v<Tier> || std::integral<Tier>) && (!std::same_as<Key, no_key>)
class tiered {
  using algorithm_type = typename L<no_key, C, default_store>::algorithm_type;
  using rule = detail::tier<algorithm_type>;
  using core = detail::limiter_core<rule, Key, C, Store>;
  using place = typename core::place;

 public:
  using config = typename algorithm_type::config;
  using clock_type = C;
  using time_point = typename C::time_point;
  /// A key and the plan it is on: what a layer of a stack projects a request to.
  struct key_argument {
    Tier plan;
    typename core::argument key;
  };

  /// Throws config_error: a bad configuration, a plan given twice, or a gap in the plans' numbers (they begin at 0).
  explicit tiered(std::initializer_list<std::pair<Tier, config>> tiers, store_options const& options = store_options{},
                  C clock = C{})
      : core_(options, std::move(clock)) {
    std::vector<config> configs;
    for (std::size_t number = 0; number < tiers.size(); ++number) {
      config const* found = nullptr;
      for (auto const& [plan, c] : tiers)
        if (number_of(plan) == number) {
          if (found != nullptr)
            detail::refuse({"tiered", "plans"}, "plan " + std::to_string(number) + " twice", "each plan once");
          found = &c;
        }
      if (found == nullptr)
        detail::refuse({"tiered", "plans"}, "without plan " + std::to_string(number), "all numbers from 0, each once");
      configs.push_back(*found);
    }
    if (configs.empty()) detail::refuse({"tiered", "plans"}, "empty", "at least one plan");
    instant const origin = core_.reading();
    for (std::size_t number = 0; number < configs.size(); ++number)
      tiers_.push_back(std::make_unique<detail::plans<rule>>(rule(plan_of(configs, number, origin), number)));
  }
  tiered(std::initializer_list<std::pair<Tier, config>> tiers, C clock)
      : tiered(tiers, store_options{}, std::move(clock)) {}
  tiered(tiered const&) = delete;
  tiered& operator=(tiered const&) = delete;

  /// As limiter::allow, under the key's plan. A plan that was not configured admits nothing: `never`.
  decision allow(Tier plan, typename core::argument key, cost c = cost{1}) {
    place const p = core_.find(key);
    return with(plan, [&](auto const& in_force) { return core_.take(in_force, core_.reading(), p, c); });
  }
  decision allow_at(time_point now, Tier plan, typename core::argument key, cost c = cost{1}) {
    return with(plan, [&](auto const& in_force) { return core_.take(in_force, to_instant(now), core_.find(key), c); });
  }
  decision peek(Tier plan, typename core::argument key, cost c = cost{1}) const {
    return peek_at(core_.clock().now(), plan, key, c);
  }
  decision peek_at(time_point now, Tier plan, typename core::argument key, cost c = cost{1}) const {
    return with(plan, [&](auto const& in_force) { return core_.look(in_force, to_instant(now), core_.find(key), c); });
  }
  void charge(Tier plan, typename core::argument key, cost c) { charge_at(core_.clock().now(), plan, key, c); }
  void charge_at(time_point now, Tier plan, typename core::argument key, cost c) {
    if (configured(plan)) core_.settle(tiers_[number_of(plan)]->current(), to_instant(now), core_.find(key), c);
  }
  void refund(Tier plan, typename core::argument key, cost c) { refund_at(core_.clock().now(), plan, key, c); }
  void refund_at(time_point charged_at, Tier plan, typename core::argument key, cost c) {
    if (configured(plan))
      core_.give_back(tiers_[number_of(plan)]->current(), to_instant(charged_at), core_.find(key), c);
  }
  void forget(typename core::argument key) { core_.forget(tiers_[0]->current(), core_.find(key)); }
  store_stats stats() const { return core_.stats(tiers_[0]->current()); }

  /// Puts another configuration of one plan in force (see limiter::reconfigure). Throws config_error, nothing changed.
  void reconfigure(Tier plan, config const& c) {
    detail::check_range({"tiered", "plan"}, number_of(plan), 0, tiers_.size() - 1);
    auto& tier = *tiers_[number_of(plan)];
    tier.publish(tier.current().algorithm.successor({c, number_of(plan)}), core_.reading());
  }

  C const& clock() const noexcept { return core_.clock(); }
  /// The algorithm of a plan; the plan must be configured.
  algorithm_type algorithm(Tier plan) const { return tiers_[number_of(plan)]->current().algorithm.plan(); }

  // The layer's side (stack.hpp).
  class ticket {
   public:
    decision answer;
    constexpr explicit operator bool() const noexcept { return static_cast<bool>(answer); }

   private:
    friend tiered;
    place at_{};
    detail::receipt_of<rule> charged_at_{};
    cost units_{0};
    Tier plan_{};
  };
  decision peek(time_point now, key_argument const& k, cost c) const { return peek_at(now, k.plan, k.key, c); }
  ticket take(time_point now, key_argument const& k, cost c) {
    ticket t;
    t.at_ = core_.find(k.key);
    t.units_ = c;
    t.plan_ = k.plan;
    if (!configured(k.plan)) {
      t.answer = not_configured();
      return t;
    }
    auto const taken = core_.take(tiers_[number_of(k.plan)]->current(), to_instant(now), t.at_, c,
                                  detail::remembering<detail::ask_now>{});
    t.answer = taken.answer;
    t.charged_at_ = taken.charged_at;
    return t;
  }
  void undo(ticket&& t) { give_back(t, t.units_); }
  void give_back(ticket const& t, cost c) {
    if (t)
      core_.give_back(tiers_[number_of(t.plan_)]->current(), t.charged_at_, t.at_,
                      c.units < t.units_.units ? c : t.units_);
  }
  void charge_more(time_point now, ticket const& t, cost c) {
    if (configured(t.plan_)) core_.settle(tiers_[number_of(t.plan_)]->current(), to_instant(now), t.at_, c);
  }

 private:
  static constexpr std::uint64_t number_of(Tier plan) noexcept {
    return static_cast<std::uint64_t>(detail::integer_of(plan));
  }
  bool configured(Tier plan) const noexcept { return number_of(plan) < tiers_.size(); }
  static decision not_configured() noexcept {
    decision d;
    d.outcome = verdict::never;
    d.retry_after = duration::max();
    return d;
  }
  decision with(Tier plan, auto use) const {
    return configured(plan) ? use(tiers_[number_of(plan)]->current()) : not_configured();
  }

  /// All plans count in units that suit them all.
  static algorithm_type plan_of(std::vector<config> const& configs, std::size_t number, instant origin) {
    if constexpr (requires { algorithm_type::units_for(configs, origin); })
      return algorithm_type(configs[number], algorithm_type::units_for(configs, origin));
    else if constexpr (requires(algorithm_type const& first) { first.successor(configs[number]); })
      return algorithm_type(configs[0], origin).successor(configs[number]);
    else
      return algorithm_type(configs[number], origin);
  }

  core core_;
  std::vector<std::unique_ptr<detail::plans<rule>>> tiers_;
};

}  // namespace penstock::inline v0_1
