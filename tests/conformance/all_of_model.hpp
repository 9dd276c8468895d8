#pragma once
// Several models on one key, as algorithm::all_of combines its rules: all or nothing.

#include <penstock/decision.hpp>

#include "oracle/answer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace conformance {

/// What a limiter must say where its model says `a`.
constexpr penstock::decision as_decision(oracle::answer const& a) {
  penstock::decision d;
  d.outcome = a.outcome == oracle::admitted  ? penstock::verdict::admitted
              : a.outcome == oracle::limited ? penstock::verdict::limited
                                             : penstock::verdict::never;
  d.limit = a.limit;
  d.remaining = a.remaining;
  d.retry_after =
      a.outcome == oracle::never ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds{a.retry_after};
  d.reset_after = std::chrono::nanoseconds{a.reset_after};
  d.next_after = std::chrono::nanoseconds{a.next_after};
  d.delay = std::chrono::nanoseconds{a.delay};
  return d;
}
constexpr penstock::decision as_decision(penstock::decision const& d) { return d; }

template <oracle::model... Rules>
class all_of_model {
 public:
  all_of_model(Rules... rules) : rules_(std::move(rules)...) {}

  penstock::decision ask(std::int64_t now, std::uint64_t cost) {
    auto const asked = each(now, cost);
    bool const all =
        std::all_of(asked.begin(), asked.end(), [](auto const& d) { return d.outcome == penstock::verdict::admitted; });
    bool const some_never =
        std::any_of(asked.begin(), asked.end(), [](auto const& d) { return d.outcome == penstock::verdict::never; });

    // Of those that refuse, the one with the longest wait is named. (Never is the longest.)
    std::size_t named = 0;
    for (std::size_t i = 1; i < asked.size(); ++i)
      if (asked[i].retry_after > asked[named].retry_after) named = i;

    penstock::decision d = least(all ? asked : each(now, 0));
    if (!all) {
      d.outcome = asked[named].outcome;
      d.limit = asked[named].limit;
      d.retry_after = asked[named].retry_after;
      d.rule = static_cast<std::uint8_t>(named);
    }
    // A rule that refuses takes nothing, but notes a clock set back; one that would admit is asked only if all do.
    if (!some_never)
      std::apply(
          [&](auto&... rule) {
            ((all || rule.look(now, cost).outcome == oracle::limited ? static_cast<void>(rule.ask(now, cost)) : void()),
             ...);
          },
          rules_);
    return d;
  }
  penstock::decision look(std::int64_t now, std::uint64_t cost) const { return all_of_model(*this).ask(now, cost); }
  void charge(std::int64_t now, std::uint64_t cost) {
    std::apply([&](auto&... rule) { (rule.charge(now, cost), ...); }, rules_);
  }
  void refund(std::int64_t charged_at, std::uint64_t cost) {
    std::apply([&](auto&... rule) { (rule.refund(charged_at, cost), ...); }, rules_);
  }
  void forget() {
    std::apply([&](auto&... rule) { (rule.forget(), ...); }, rules_);
  }
  bool fresh() const {
    return std::apply([](auto const&... rule) { return (rule.fresh() && ...); }, rules_);
  }

 private:
  using answers = std::array<penstock::decision, sizeof...(Rules)>;

  answers each(std::int64_t now, std::uint64_t cost) const {
    return std::apply([&](auto const&... rule) { return answers{as_decision(rule.look(now, cost))...}; }, rules_);
  }

  /// What is left is what the tightest rule leaves; it grows when all that are as tight have.
  static penstock::decision least(answers const& of_rule) {
    std::size_t tightest = 0;
    for (std::size_t i = 1; i < of_rule.size(); ++i)
      if (of_rule[i].remaining < of_rule[tightest].remaining) tightest = i;
    penstock::decision d = of_rule[tightest];
    d.rule = static_cast<std::uint8_t>(tightest);
    for (penstock::decision const& other : of_rule) {
      d.reset_after = std::max(d.reset_after, other.reset_after);
      d.delay = std::max(d.delay, other.delay);
      if (other.remaining == d.remaining) d.next_after = std::max(d.next_after, other.next_after);
    }
    return d;
  }

  std::tuple<Rules...> rules_;
};

}  // namespace conformance
