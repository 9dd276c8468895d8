#pragma once
// Several rules on one key: "ten a second and ten thousand a day". One lookup, one atomic update, all or nothing.
//
// The states of the rules lie side by side in one state, so whatever store holds it changes them together. Nests: a
// rule may be an all_of itself.

#include <penstock/algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace penstock::inline v0_1 {
namespace detail {

/// A tuple that is trivially copyable when its parts are (std::tuple need not be).
template <class First, class... Rest>
struct parts {
  First first{};
  parts<Rest...> rest{};
  friend constexpr bool operator==(parts const&, parts const&) = default;
};
template <class Last>
struct parts<Last> {
  Last first{};
  friend constexpr bool operator==(parts const&, parts const&) = default;
};

template <std::size_t I>
constexpr auto& part(auto& p) noexcept {
  if constexpr (I == 0)
    return p.first;
  else
    return part<I - 1>(p.rest);
}

/// How many rules an algorithm counts as in decision::rule.
template <class A>
inline constexpr std::uint8_t rules_in = 1;

}  // namespace detail

namespace algorithm {

template <limiting_algorithm... Rules>
class all_of {
  static_assert(sizeof...(Rules) > 0, "all_of needs at least one rule");
  using indices = std::index_sequence_for<Rules...>;

 public:
  static constexpr std::string_view name = "all_of";
  struct config {
    constexpr config(typename Rules::config const&... of_rules) : rules(of_rules...) {}
    std::tuple<typename Rules::config...> rules;
  };
  using state = detail::parts<typename Rules::state...>;
  using receipt = detail::parts<detail::receipt_of<Rules>...>;

  /// Throws config_error when a rule does.
  constexpr explicit all_of(config const& c, instant origin = {})
      : rules_(std::apply([&](auto const&... of_rule) { return std::tuple<Rules...>(Rules(of_rule, origin)...); },
                          c.rules)) {}
  constexpr all_of successor(config const& c) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return all_of(std::tuple<Rules...>(std::get<I>(rules_).successor(std::get<I>(c.rules))...));
    }(indices{});
  }

  constexpr bool admits(state const& s, instant now, cost c) const noexcept {
    return every([&](auto const& rule, auto const& of_rule) { return rule.admits(of_rule, now, c); }, s);
  }
  /// Throws as its rules do, the state unchanged: a rule that may throw is charged before those that may not, several
  /// on a copy.
  constexpr void charge(state& s, instant now, cost c) const noexcept(throwing == 0) {
    if constexpr (throwing > 1) {
      state charged = s;
      each([&](auto const& rule, auto& of_rule) { rule.charge(of_rule, now, c); }, charged);
      s = std::move(charged);
    } else {
      each(
          [&]<class R>(R const& rule, auto& of_rule) {
            if constexpr (may_throw<R>) rule.charge(of_rule, now, c);
          },
          s);
      each(
          [&]<class R>(R const& rule, auto& of_rule) {
            if constexpr (!may_throw<R>) rule.charge(of_rule, now, c);
          },
          s);
    }
  }
  constexpr void refund(state& s, instant charged_at, cost c) const {
    each([&](auto const& rule, auto& of_rule) { rule.refund(of_rule, charged_at, c); }, s);
  }

  constexpr void refund(state& s, receipt const& charged_at, cost c) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (std::get<I>(rules_).refund(detail::part<I>(s), detail::part<I>(charged_at), c), ...);
    }(indices{});
  }
  /// How a charge at this reading is kept, rule by rule.
  constexpr receipt charged_at(state const& s, instant now, cost c) const {
    receipt r;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((detail::part<I>(r) = detail::receipt(std::get<I>(rules_), detail::part<I>(s), now, c)), ...);
    }(indices{});
    return r;
  }
  constexpr void make_own(state& s, instant now) const {
    each([&](auto const& rule, auto& of_rule) { detail::make_own(rule, of_rule, now); }, s);
  }

  /// `rule` is the binding one: of those that refuse, the one with the longest wait (never is longest); of rules that
  /// all admit, the one with the least left. `limit` is that rule's; `remaining` is the smallest, `retry_after` the
  /// longest among the rules that refuse. Rules of a nested all_of are counted through.
  constexpr decision describe(state const& s, instant now, cost c) const noexcept {
    // What a refused call leaves is the present, also with the rules that would have admitted it.
    cost const counted = admits(s, now, c) ? c : cost{0};
    decision present, refusal;
    std::size_t rule_number = 0;
    bool first = true;
    each(
        [&]<class Rule>(Rule const& rule, auto const& of_rule) {
          auto const offset = rule_number;
          rule_number += detail::rules_in<Rule>;
          decision d = rule.describe(of_rule, now, counted);
          d.rule = static_cast<std::uint8_t>(d.rule + offset);
          join_present(present, d, first);
          first = false;
          if (counted == c) return;
          decision asked = rule.describe(of_rule, now, c);
          asked.rule = static_cast<std::uint8_t>(asked.rule + offset);
          if (!asked && (refusal.outcome == verdict::admitted || asked.retry_after > refusal.retry_after))
            refusal = asked;
        },
        s);
    if (counted == c) return present;
    present.outcome = refusal.outcome;
    present.rule = refusal.rule;
    present.limit = refusal.limit;
    present.retry_after = refusal.retry_after;
    return present;
  }

  constexpr instant fresh_at(state const& s) const noexcept {
    instant latest_of_all = earliest;
    each(
        [&](auto const& rule, auto const& of_rule) { latest_of_all = std::max(latest_of_all, rule.fresh_at(of_rule)); },
        s);
    return latest_of_all;
  }
  constexpr bool is_fresh(state const& s, instant now) const noexcept {
    return every([&](auto const& rule, auto const& of_rule) { return detail::is_fresh(rule, of_rule, now); }, s);
  }
  /// Only when every rule's part may go: what one rule has forgotten may bind another.
  constexpr bool is_forgettable(state const& s, instant now) const {
    return every([&](auto const& rule, auto const& of_rule) { return detail::is_forgettable(rule, of_rule, now); }, s);
  }
  constexpr state join(state const& a, state const& b) const {
    state joined;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((detail::part<I>(joined) = std::get<I>(rules_).join(detail::part<I>(a), detail::part<I>(b))), ...);
    }(indices{});
    return joined;
  }
  /// Rule by rule: one may have recovered that another binds.
  constexpr state floor_after(state floor, state dropped, instant now) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((detail::part<I>(floor) = detail::floor_after(std::get<I>(rules_), std::move(detail::part<I>(floor)),
                                                     std::move(detail::part<I>(dropped)), now)),
       ...);
    }(indices{});
    return floor;
  }
  constexpr bool reanchor(state& s, instant now) const {
    bool changed = false;
    each([&](auto const& rule, auto& of_rule) { changed = detail::reanchor(rule, of_rule, now) || changed; }, s);
    return changed;
  }

  constexpr bool adopt(state& s, instant now) const
    requires(detail::adopting<Rules> || ...)
  {
    bool changed = false;
    each(
        [&]<class R>(R const& rule, auto& of_rule) {
          if constexpr (detail::adopting<R>) changed = rule.adopt(of_rule, now) || changed;
        },
        s);
    return changed;
  }
  constexpr bool tied_to_epoch() const noexcept {
    return std::apply([](auto const&... of_rules) { return (detail::tied_to_epoch(of_rules) || ...); }, rules_);
  }
  constexpr state relative(state const& s, instant now) const {
    return moved(s, [&](auto const& rule, auto const& of_rule) { return rule.relative(of_rule, now); });
  }
  constexpr state absolute(state const& s, instant now) const {
    return moved(s, [&](auto const& rule, auto const& of_rule) { return rule.absolute(of_rule, now); });
  }

  constexpr duration full_use() const noexcept {
    duration longest{};
    for_each_rule([&](auto const& rule) {
      if constexpr (requires { rule.full_use(); }) longest = std::max(longest, rule.full_use());
    });
    return longest;
  }

  constexpr void for_each_rule(auto const& visit) const {
    std::apply([&](auto const&... of_rules) { (visit(of_rules), ...); }, rules_);
  }
  /// The rules themselves, by number.
  template <std::size_t I>
  constexpr auto const& rule() const noexcept {
    return std::get<I>(rules_);
  }

  friend constexpr bool operator==(all_of const&, all_of const&) = default;

 private:
  constexpr explicit all_of(std::tuple<Rules...> rules) : rules_(std::move(rules)) {}

  /// Can its charges throw? Those of states that own memory can.
  template <class Rule>
  static constexpr bool may_throw = !noexcept(std::declval<Rule const&>().charge(
      std::declval<typename Rule::state&>(), std::declval<instant>(), std::declval<cost>()));
  static constexpr int throwing = (may_throw<Rules> + ...);

  constexpr void each(auto const& visit, auto& s) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (visit(std::get<I>(rules_), detail::part<I>(s)), ...);
    }(indices{});
  }
  constexpr bool every(auto const& holds, auto const& s) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (holds(std::get<I>(rules_), detail::part<I>(s)) && ...);
    }(indices{});
  }

  constexpr state moved(state const& s, auto const& move) const {
    state result;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((detail::part<I>(result) = move(std::get<I>(rules_), detail::part<I>(s))), ...);
    }(indices{});
    return result;
  }

  static constexpr void join_present(decision& all, decision const& d, bool first) noexcept {
    if (first) {
      all = d;
      return;
    }
    duration const reset = std::max(all.reset_after, d.reset_after), delay = std::max(all.delay, d.delay);
    if (d.remaining < all.remaining)
      all = d;
    else if (d.remaining == all.remaining)  // the smallest grows when all that share it have
      all.next_after = std::max(all.next_after, d.next_after);
    all.reset_after = reset;
    all.delay = delay;
  }

  std::tuple<Rules...> rules_;
};

}  // namespace algorithm

namespace detail {
template <class... Rules>
inline constexpr std::uint8_t rules_in<algorithm::all_of<Rules...>> = (rules_in<Rules> + ...);
}  // namespace detail

}  // namespace penstock::inline v0_1
