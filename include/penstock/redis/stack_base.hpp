#pragma once
// What both kinds of Redis stacks do before they ask: keys and costs of a request, layer by layer.

#include <penstock/config_error.hpp>
#include <penstock/layer.hpp>
#include <penstock/redis/stack_decision.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace penstock::inline v0_1::redis::detail {

template <class... Layers>
class stack_base {
 public:
  static constexpr std::size_t count = sizeof...(Layers);
  static_assert(count > 0, "a stack needs at least one layer");
  static_assert((penstock::detail::remote_source<typename Layers::limiter_type> && ...),
                "the layers of a Redis stack are Redis limiters; penstock::stack joins them with others");
  using decision_type = stack_decision<count>;

 protected:
  explicit stack_base(Layers... layers) : layers_(std::move(layers)...) {
    each([&]<std::size_t I>() {
      each([&]<std::size_t J>() {
        if (I < J && at<I>().name() == at<J>().name())
          penstock::detail::refuse({"redis::stack", "layer"}, "\"" + std::string(at<I>().name()) + "\" twice",
                                   "a name of its own for each layer");
      });
    });
  }

  template <std::size_t I>
  auto const& at() const noexcept {
    return std::get<I>(layers_);
  }
  template <class F>
  static void each(F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f.template operator()<I>(), ...);
    }(std::make_index_sequence<count>{});
  }
  template <class F>
  static void each_backwards(F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f.template operator()<count - 1 - I>(), ...);
    }(std::make_index_sequence<count>{});
  }

  /// A request's keys and costs; projections are called once each.
  template <class Request>
  struct question {
    question(stack_base const& stack, Request const& request, cost c)
        : keys(std::apply([&](auto const&... layer) { return decltype(keys){layer.key_of(request)...}; },
                          stack.layers_)),
          costs(std::apply([&](auto const&... layer) { return decltype(costs){layer.cost_of(request, c)...}; },
                           stack.layers_)) {}

    /// Calls use(key), unless the layer does not apply.
    template <std::size_t I, class Use>
    void with_key(Use use) const {
      auto const& key = std::get<I>(keys);
      if constexpr (!penstock::detail::is_optional<std::remove_cvref_t<decltype(key)>>)
        use(key);
      else if (key)
        use(*key);
    }

    std::tuple<decltype(std::declval<Layers const&>().key_of(std::declval<Request const&>()))...> keys;
    std::array<cost, count> costs;
  };

  /// Nobody asked yet.
  decision_type fresh_decision(std::array<cost, count> const& costs) const {
    decision_type d;
    each([&]<std::size_t I>() { d.report(I) = {at<I>().name(), {}, true, at<I>().is_shadow(), costs[I]}; });
    return d;
  }

 private:
  std::tuple<Layers...> layers_;
};

}  // namespace penstock::inline v0_1::redis::detail
