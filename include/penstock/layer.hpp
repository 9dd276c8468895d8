#pragma once
// One limiter's part in a stack: its name in answers, and what of a request is its key.

#include <penstock/limiter.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace penstock::inline v0_1 {

/// What a layer needs of a limiter (or a guard): peek says what take would answer; take decides and counts; undo takes
/// that back. A source that lives elsewhere says `static constexpr bool remote = true`, is not peeked at and goes last.
template <class L>
concept layer_source = requires(L& limiter, typename L::ticket ticket, typename L::time_point) {
  { ticket.answer } -> std::convertible_to<decision>;
  limiter.undo(std::move(ticket));
  { limiter.clock().now() } -> std::same_as<typename L::time_point>;
};

/// What one layer of a stack said. Binds as [name, decision].
struct layer_report {
  std::string_view name;
  penstock::decision decision;
  bool skipped = false;  ///< the layer did not apply to this request
  bool shadow = false;   ///< the layer is on trial: it decides and is reported, and never refuses
  cost units{0};         ///< what the layer was asked for

  constexpr bool refuses() const noexcept { return !skipped && !shadow && !decision; }

  template <std::size_t I>
  constexpr auto& get() & noexcept {
    return part<I>(*this);
  }
  template <std::size_t I>
  constexpr auto const& get() const& noexcept {
    return part<I>(*this);
  }
  template <std::size_t I>
  constexpr auto&& get() && noexcept {
    return std::move(part<I>(*this));
  }

 private:
  template <std::size_t I>
  static constexpr auto& part(auto& report) noexcept {
    if constexpr (I == 0)
      return report.name;
    else
      return report.decision;
  }
};

namespace detail {

template <class Projection, class Request>
using projected = decltype(std::invoke(std::declval<Projection const&>(), std::declval<Request const&>()));

/// The projection of a layer without a key.
struct to_no_key {
  constexpr no_key operator()(auto const&) const noexcept { return {}; }
};
/// The cost of a layer that charges what the stack is asked for.
struct given_cost {};

template <class L>
concept remote_source = layer_source<L> && requires { requires L::remote; };

/// Gives back what a stack has taken when a layer throws: calls give_back(), unless dismissed. If that throws
/// too, the rest stays taken.
template <class GiveBack>
struct rollback {
  GiveBack give_back;
  bool dismissed = false;

  explicit rollback(GiveBack f) : give_back(std::move(f)) {}
  rollback(rollback const&) = delete;
  rollback& operator=(rollback const&) = delete;
  ~rollback() {
#ifdef __cpp_exceptions
    if (dismissed) return;
    try {
      give_back();
    } catch (...) {
    }
#endif
  }
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

}  // namespace detail

/// One limiter's part in a stack. Refers to the limiter, which must outlive the stack.
template <layer_source L, class Projection, class Costing = detail::given_cost>
class limiter_layer {
 public:
  using limiter_type = L;
  using time_point = typename L::time_point;

  limiter_layer(std::string_view name, L& limiter, Projection projection, Costing costing = {}, bool in_shadow = false)
      : name_(name),
        limiter_(&limiter),
        projection_(std::move(projection)),
        costing_(std::move(costing)),
        shadow_(in_shadow) {}

  /// The same layer on trial: it counts and is reported, and never refuses.
  limiter_layer shadow() && { return {name_, *limiter_, std::move(projection_), std::move(costing_), true}; }
  /// The same layer, charging costing(request) (a number or a cost) instead of the cost that the stack is asked for.
  template <class F>
  limiter_layer<L, Projection, F> costs(F costing) && {
    return {name_, *limiter_, std::move(projection_), std::move(costing), shadow_};
  }

  std::string_view name() const noexcept { return name_; }
  L& limiter() const noexcept { return *limiter_; }
  bool is_shadow() const noexcept { return shadow_; }

  template <class Request>
  decltype(auto) key_of(Request const& request) const {
    return std::invoke(projection_, request);
  }
  /// Cost 0 asks for the present, of every layer.
  template <class Request>
  cost cost_of([[maybe_unused]] Request const& request, cost given) const {
    if (given.units == 0) return given;
    if constexpr (std::same_as<Costing, detail::given_cost>)
      return given;
    else if constexpr (std::convertible_to<detail::projected<Costing, Request>, cost>)
      return std::invoke(costing_, request);
    else
      return cost{static_cast<std::uint64_t>(std::invoke(costing_, request))};
  }

 private:
  std::string name_;
  L* limiter_;
  [[no_unique_address]] Projection projection_;
  [[no_unique_address]] Costing costing_;
  bool shadow_;
};

/// A layer: its name in answers, its limiter, and what of a request is its key: a callable or a pointer to a member.
/// A projection that returns std::optional skips the layer when it is empty.
template <layer_source L, class Projection>
limiter_layer<L, Projection> layer(std::string_view name, L& limiter, Projection projection) {
  return {name, limiter, std::move(projection)};
}
/// A layer without a key.
template <layer_source L>
limiter_layer<L, detail::to_no_key> layer(std::string_view name, L& limiter) {
  return {name, limiter, {}};
}
template <class L, class... Rest>
  requires(!std::is_lvalue_reference_v<L>)
void layer(std::string_view name, L&& temporary, Rest...) = delete;  // a layer refers to its limiter

}  // namespace penstock::inline v0_1

template <>
struct std::tuple_size<penstock::layer_report> : std::integral_constant<std::size_t, 2> {};
template <>
struct std::tuple_element<0, penstock::layer_report> {
  using type = std::string_view;
};
template <>
struct std::tuple_element<1, penstock::layer_report> {
  using type = penstock::decision;
};
