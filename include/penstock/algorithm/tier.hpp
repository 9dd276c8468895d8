#pragma once
// One plan of a tiered limiter: an algorithm over states that remember which plan wrote them.

#include <penstock/algorithm.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

namespace penstock::inline v0_1::detail {

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

  static constexpr std::string_view name = "tiered";

  constexpr explicit tier(config const& c, instant origin = {})
      : plan_(c.plan, origin), widest_(plan_), number_(c.number) {}
  /// `widest` is the plan of all that takes longest to recover: what another plan left is judged by it.
  constexpr tier(A const& plan, std::uint64_t number, A const& widest)
      : plan_(plan), widest_(widest), number_(number) {}
  constexpr tier successor(config const& c) const { return {plan_.successor(c.plan), number_, widest_}; }
  constexpr A const& plan() const noexcept { return plan_; }
  constexpr A const& widest() const noexcept { return widest_; }

  constexpr bool admits(state const& s, instant now, cost c) const { return plan_.admits(seen(s, now), now, c); }
  constexpr void charge(state& s, instant now, cost c) const {
    if (c.units == 0) return;
    take_over(s, now);
    plan_.charge(s.inner, now, c);
    s.tier = number_;
  }
  constexpr void refund(state& s, instant charged_at, cost c) const { plan_.refund(s.inner, charged_at, c); }
  using receipt = receipt_of<A>;
  constexpr receipt charged_at(state const& s, instant now, cost c) const {
    return detail::receipt(plan_, seen(s, now), now, c);
  }
  constexpr void make_own(state& s, instant now) const { detail::make_own(plan_, s.inner, now); }
  constexpr decision describe(state const& s, instant now, cost c) const {
    return plan_.describe(seen(s, now), now, c);
  }
  constexpr instant fresh_at(state const& s) const { return judge_of(s).fresh_at(s.inner); }
  constexpr bool is_fresh(state const& s, instant now) const { return detail::is_fresh(judge_of(s), s.inner, now); }
  /// Not by what this plan would cap: that is a live key's. Nor by how long readings of this plan may lag.
  constexpr bool is_forgettable(state const& s, instant now) const {
    return is_fresh(s, now) || detail::is_forgettable(widest_, s.inner, now);
  }
  constexpr bool anchor(state& s, instant now) const { return detail::anchor(judge_of(s), s.inner, now); }
  /// What two plans left belongs to neither.
  constexpr state join(state const& a, state const& b) const {
    return a.tier == b.tier ? state{judge_of(a).join(a.inner, b.inner), a.tier}
                            : state{widest_.join(a.inner, b.inner), no_tier};
  }
  /// A cap is kept, also by a refusal (see plan::adopt).
  constexpr bool reanchor(state& s, instant now) const {
    bool const capped = take_over(s, now);
    return detail::reanchor(plan_, s.inner, now) || capped;
  }
  /// Caps what any plan left, also this one under an earlier configuration.
  constexpr bool adopt(state& s, instant now) const
    requires adopting<A>
  {
    if (!plan_.adopt(s.inner, now)) return false;
    s.tier = number_;
    return true;
  }
  constexpr duration full_use() const noexcept { return plan_.full_use(); }

  // Reservation, where the plans have it.
  constexpr bool admits_within(state const& s, instant now, duration max_delay, cost c) const
    requires reserving<A>
  {
    return plan_.admits_within(seen(s, now), now, max_delay, c);
  }
  constexpr decision describe_within(state const& s, instant now, duration max_delay, cost c) const
    requires reserving<A>
  {
    return plan_.describe_within(seen(s, now), now, max_delay, c);
  }
  constexpr void reserve(state& s, instant now, cost c) const
    requires reserving<A>
  {
    take_over(s, now);
    plan_.reserve(s.inner, now, c);
    s.tier = number_;
  }

  // Snapshots. A state's distances mean the same in every plan, because they share their units; how far they may reach
  // is the widest plan's to say.
  constexpr void for_each_rule(auto use) const { use(plan_); }
  constexpr bool tied_to_epoch() const noexcept { return detail::tied_to_epoch(plan_); }
  constexpr state relative(state const& s, instant now) const { return {widest_.relative(s.inner, now), s.tier}; }
  constexpr state absolute(state const& s, instant now) const { return {widest_.absolute(s.inner, now), s.tier}; }

  friend constexpr bool operator==(tier const&, tier const&) = default;

 private:
  static constexpr std::uint64_t no_tier = std::numeric_limits<std::uint64_t>::max();

  constexpr A const& judge_of(state const& s) const noexcept { return s.tier == number_ ? plan_ : widest_; }

  /// Caps what another plan left.
  constexpr bool take_over(state& s, instant now) const {
    if constexpr (adopting<A>)
      if (s.tier != number_) return adopt(s, now);
    return false;
  }

  /// The state as this plan sees it: by reference where nothing can be capped.
  constexpr auto seen(state const& s, instant now) const
    requires adopting<A>
  {
    state capped = s;
    take_over(capped, now);
    return capped.inner;
  }
  constexpr auto const& seen(state const& s, instant) const
    requires(!adopting<A>)
  {
    return s.inner;
  }

  A plan_, widest_;
  std::uint64_t number_;
};

}  // namespace penstock::inline v0_1::detail
