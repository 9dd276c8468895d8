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

#include <penstock/algorithm/tier.hpp>
#include <penstock/limiter.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock::inline v0_1 {

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
    typename detail::argument_of<Key>::part key;
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
    std::vector<algorithm_type> plans;
    for (std::size_t number = 0; number < configs.size(); ++number) plans.push_back(plan_of(configs, number, origin));
    auto const& widest = *std::max_element(plans.begin(), plans.end(),
                                           [](auto const& a, auto const& b) { return a.full_use() < b.full_use(); });
    for (std::size_t number = 0; number < plans.size(); ++number)
      tiers_.push_back(std::make_unique<detail::plans<rule>>(rule(plans[number], number, widest)));
  }
  /// (A template, so that {} means the options.)
  template <std::convertible_to<C> Given = C>
  tiered(std::initializer_list<std::pair<Tier, config>> tiers, Given clock)
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
  /// As limiter::allow_within. Buckets, meters and queues only.
  decision allow_within(Tier plan, typename core::argument key, std::chrono::nanoseconds max_delay, cost c = cost{1})
    requires detail::reserving<algorithm_type>
  {
    place const p = core_.find(key);
    return with(plan, [&](auto const& in_force) {
      return core_.take(in_force, core_.reading(), p, c, detail::ask_within{max_delay});
    });
  }
  decision allow_within_at(time_point now, Tier plan, typename core::argument key, std::chrono::nanoseconds max_delay,
                           cost c = cost{1})
    requires detail::reserving<algorithm_type>
  {
    return with(plan, [&](auto const& in_force) {
      return core_.take(in_force, to_instant(now), core_.find(key), c, detail::ask_within{max_delay});
    });
  }
  /// As limiter::allow_each: decisions[i] answers requests[i], each under its own plan.
  void allow_each(std::span<key_argument const> requests, std::span<decision> decisions, cost c = cost{1}) {
    allow_each_from(core_.reading(), requests, decisions, c);
  }
  void allow_each_at(time_point now, std::span<key_argument const> requests, std::span<decision> decisions,
                     cost c = cost{1}) {
    allow_each_from(to_instant(now), requests, decisions, c);
  }
  void charge(Tier plan, typename core::argument key, cost c) { charge_at(core_.clock().now(), plan, key, c); }
  void charge_at(time_point now, Tier plan, typename core::argument key, cost c) {
    if (configured(plan)) core_.settle(rule_for(plan), to_instant(now), core_.find(key), c);
  }
  void refund(Tier plan, typename core::argument key, cost c) { refund_at(core_.clock().now(), plan, key, c); }
  void refund_at(time_point charged_at, Tier plan, typename core::argument key, cost c) {
    if (configured(plan)) core_.give_back(rule_for(plan), to_instant(charged_at), core_.find(key), c);
  }
  void forget(typename core::argument key) { core_.forget(tiers_[0]->current(), core_.find(key)); }
  store_stats stats() const { return core_.stats(tiers_[0]->current()); }

  /// visit(plan, key, decision) for every key that is not fresh, under the plan that charged it last; see
  /// limiter::for_each.
  template <class Visit>
  void for_each(Visit visit) const {
    core_.for_each_state(tiers_[0]->current(), [&](auto const& key, auto const& state, instant now) {
      std::size_t const number = state.tier < tiers_.size() ? static_cast<std::size_t>(state.tier) : 0;
      auto const& in_force = tiers_[number]->current();
      if (detail::is_fresh(in_force.algorithm, state, now)) return;  // to its own plan, if not to the widest
      visit(static_cast<Tier>(number), key, core_.described(in_force, state, now));
    });
  }

  /// As limiter::snapshot and restore; the plans may have changed meanwhile, but not the units that suit them all.
  std::vector<std::byte> snapshot(std::chrono::system_clock::time_point wall = std::chrono::system_clock::now()) const {
    return core_.snapshot(tied()->current(), wall);
  }
  void restore(std::span<std::byte const> bytes,
               std::chrono::system_clock::time_point wall = std::chrono::system_clock::now()) {
    core_.restore(tied()->current(), bytes, wall);
  }

  /// Puts another configuration of one plan in force (see limiter::reconfigure). Throws config_error, nothing changed.
  void reconfigure(Tier plan, config const& c) {
    detail::check_range({"tiered", "plan"}, number_of(plan), 0, tiers_.size() - 1);
    std::lock_guard const guard(changing_);
    instant const now = core_.reading();
    auto const& old = rule_for(plan).algorithm;
    algorithm_type const next = old.successor({c, number_of(plan)}).plan();
    algorithm_type const widest = next.full_use() > old.widest().full_use() ? next : old.widest();
    for (std::size_t number = 0; number < tiers_.size(); ++number) {
      auto const& kept = tiers_[number]->current().algorithm.plan();
      tiers_[number]->publish(rule(number == number_of(plan) ? next : kept, number, widest), now);
    }
  }

  C const& clock() const noexcept { return core_.clock(); }
  /// The algorithm of a plan; the plan must be configured.
  algorithm_type algorithm(Tier plan) const { return rule_for(plan).algorithm.plan(); }

  /// What a layer's projection returns: [&](auto const& request) { return api.on(request.plan, request.user); }
  static key_argument on(Tier plan, typename core::argument key) { return {plan, key}; }

  // The layer's side (stack.hpp); also what leases are made of.
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
  ticket take(time_point now, key_argument const& k, cost c) { return issue(now, k, c, detail::ask_now{}); }
  ticket take_within(time_point now, key_argument const& k, std::chrono::nanoseconds max_delay, cost c)
    requires detail::reserving<algorithm_type>
  {
    return issue(now, k, c, detail::ask_within{max_delay});
  }
  void undo(ticket&& t) { give_back(t, t.units_); }
  void give_back(ticket const& t, cost c) {
    if (!t || !configured(t.plan_)) return;
    core_.amend(rule_for(t.plan_), t.at_, [&](typename rule::state& s) {
      auto const& wrote =
          s.tier < tiers_.size() ? tiers_[static_cast<std::size_t>(s.tier)]->current() : rule_for(t.plan_);
      wrote.algorithm.plan().refund(s.inner, t.charged_at_, std::min(c, t.units_));
    });
  }
  void charge_more(time_point now, ticket const& t, cost c) {
    if (configured(t.plan_)) core_.settle(rule_for(t.plan_), to_instant(now), t.at_, c);
  }

 private:
  static constexpr std::uint64_t number_of(Tier plan) noexcept {
    return static_cast<std::uint64_t>(detail::integer_of(plan));
  }
  bool configured(Tier plan) const noexcept { return number_of(plan) < tiers_.size(); }
  auto const& rule_for(Tier plan) const { return tiers_[static_cast<std::size_t>(number_of(plan))]->current(); }
  static decision not_configured() noexcept {
    decision d;
    d.outcome = verdict::never;
    d.retry_after = duration::max();
    return d;
  }
  template <class Ask>
  ticket issue(time_point now, key_argument const& k, cost c, Ask ask) {
    ticket t;
    t.at_ = core_.find(k.key);
    t.units_ = c;
    t.plan_ = k.plan;
    if (!configured(k.plan)) {
      t.answer = not_configured();
      return t;
    }
    auto const taken = core_.take(rule_for(k.plan), to_instant(now), t.at_, c, detail::remembering<Ask>{ask});
    t.answer = taken.answer;
    t.charged_at_ = taken.charged_at;
    return t;
  }

  void allow_each_from(instant now, std::span<key_argument const> requests, std::span<decision> decisions, cost c) {
    std::size_t const count = std::min(requests.size(), decisions.size());
    core_.in_flight(
        count, [&](std::size_t i) { return core_.find(requests[i].key); },
        [&](std::size_t i, place const& p) {
          decisions[i] = with(requests[i].plan, [&](auto const& in_force) { return core_.take(in_force, now, p, c); });
        });
  }

  /// A plan whose states mean nothing to a clock of another epoch, if there is one: it speaks for the table.
  auto const& tied() const {
    auto const found = std::find_if(tiers_.begin(), tiers_.end(),
                                    [](auto const& tier) { return detail::tied_to_epoch(tier->current().algorithm); });
    return found == tiers_.end() ? tiers_.front() : *found;
  }

  decision with(Tier plan, auto use) const { return configured(plan) ? use(rule_for(plan)) : not_configured(); }

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
  std::mutex changing_;
};

}  // namespace penstock::inline v0_1
