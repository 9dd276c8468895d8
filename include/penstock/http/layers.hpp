#pragma once
// What the HTTP edge asks of the decision of a stack.

#include <penstock/decision.hpp>

#include <concepts>
#include <ranges>
#include <string_view>

namespace penstock::inline v0_1::http {

/// The answers of several layers to one request: limited_by() names the one that waits longest (empty when admitted),
/// layers() is a range of elements with `name` and `decision`. An element may say that it was `skipped` or that it is a
/// `shadow`, which decides nothing: then no client hears of it.
template <class D>
concept layered_decision = requires(D const& answers) {
  { answers.limited_by() } -> std::convertible_to<std::string_view>;
  { answers.layers() } -> std::ranges::input_range;
  requires requires(std::ranges::range_reference_t<decltype(answers.layers())> layer) {
    { layer.name } -> std::convertible_to<std::string_view>;
    { layer.decision } -> std::convertible_to<decision const&>;
  };
};

namespace detail {

/// Is this layer the client's business?
template <class Layer>
constexpr bool counts(Layer const& layer) noexcept {
  if constexpr (requires { static_cast<bool>(layer.skipped); })
    if (layer.skipped) return false;
  if constexpr (requires { static_cast<bool>(layer.shadow); })
    if (layer.shadow) return false;
  return true;
}

/// Does `a` bind more than `b`? A refusal more than an admission, the longer wait more than the shorter, what is nearly
/// used up more than what is not.
constexpr bool binds_more(decision const& a, decision const& b) noexcept {
  if (static_cast<bool>(a) != static_cast<bool>(b)) return !a;
  return a ? a.remaining < b.remaining : a.retry_after > b.retry_after;
}

/// The answer of the layer that binds most: of those that refuse the one that waits longest, else the one with the
/// least remaining.
template <layered_decision D>
decision binding(D const& answers) {
  decision most{};
  bool any = false;
  for (auto const& layer : answers.layers()) {
    if (!counts(layer)) continue;
    decision const& d = layer.decision;
    if (!any || binds_more(d, most)) most = d;
    any = true;
  }
  return most;
}

}  // namespace detail
}  // namespace penstock::inline v0_1::http
