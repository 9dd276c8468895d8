#pragma once
// Several limiters over different keys, one request: all must agree, or none is charged.
//
//   auto limits = stack(layer("user", per_user, &request::user), layer("tenant", per_tenant, &request::tenant),
//   layer("site", site)); if (auto d = limits.allow(request); !d) reply_429(d.limited_by(), d.retry_after);
//
// All layers are peeked at first, at one reading per type of clock; only when none refuses are all taken from, each
// conditionally. (One that refuses is asked in earnest too, for it may have to note something.) A layer that was
// overtaken meanwhile refuses, and what was taken before it is undone, with the instant it was taken at. So a refused
// request leaves every layer as it was, and no layer ever admits above its limit.

#include <penstock/config_error.hpp>
#include <penstock/layer.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace penstock::inline v0_1 {

/// What a stack answers. Names are views into the stack.
template <class... Layers>
class stack_decision {
  using tickets = std::tuple<std::optional<typename Layers::limiter_type::ticket>...>;
  static constexpr bool holds_permits = !(std::is_copy_constructible_v<typename Layers::limiter_type::ticket> && ...);

 public:
  verdict outcome = verdict::admitted;
  std::uint64_t remaining = std::numeric_limits<std::uint64_t>::max();  ///< the smallest of the layers that count
  std::chrono::nanoseconds retry_after{};  ///< the longest wait among the layers that refuse

  /// Admitted? A decision that holds permits gives them back when it dies, so testing a temporary does not compile:
  /// write `if (auto d = limits.allow(request))`.
  constexpr explicit operator bool() const& noexcept { return outcome == verdict::admitted; }
  constexpr explicit operator bool() const&& noexcept
    requires(!holds_permits)
  {
    return outcome == verdict::admitted;
  }
  explicit operator bool() const&&
    requires holds_permits
  = delete;

  /// The layer that waits longest; empty when admitted.
  constexpr std::string_view limited_by() const noexcept { return limited_by_; }
  /// Every layer's answer, in the order of the stack: for headers and logs.
  constexpr std::span<layer_report const> layers() const& noexcept { return reports_; }
  constexpr std::array<layer_report, sizeof...(Layers)> layers() && noexcept { return reports_; }

 private:
  template <class... L>
  friend class layer_stack;

  /// Draws the conclusion from the reports.
  void conclude() noexcept {
    outcome = verdict::admitted;
    remaining = std::numeric_limits<std::uint64_t>::max();
    for (layer_report const& r : reports_) {
      if (r.skipped || r.shadow) continue;
      remaining = std::min(remaining, r.decision.remaining);
      if (r.decision || (outcome != verdict::admitted && r.decision.retry_after <= retry_after)) continue;
      outcome = r.decision.outcome;
      retry_after = r.decision.retry_after;
      limited_by_ = r.name;
    }
  }

  std::array<layer_report, sizeof...(Layers)> reports_{};
  std::string_view limited_by_;
  [[no_unique_address]] std::conditional_t<holds_permits, tickets, std::tuple<>> permits_{};
};

/// Concurrency: as its limiters; the stack itself holds no state.
template <class... Layers>
class layer_stack {
  static constexpr std::size_t count = sizeof...(Layers);
  static_assert(count > 0, "a stack needs at least one layer");
  template <std::size_t I>
  using layer_at = std::tuple_element_t<I, std::tuple<Layers...>>;
  template <std::size_t I>
  static constexpr bool remote = detail::remote_source<typename layer_at<I>::limiter_type>;
  using first_time_point = typename layer_at<0>::time_point;
  static constexpr bool one_clock = (std::same_as<first_time_point, typename Layers::time_point> && ...);
  static_assert(
      [] {
        bool const is_remote[] = {detail::remote_source<typename Layers::limiter_type>...};
        return std::is_sorted(std::begin(is_remote), std::end(is_remote));
      }(),
      "layers that live elsewhere go last, so that they are asked only for what passed the others");

 public:
  using decision_type = stack_decision<Layers...>;

  /// Throws config_error when two layers have one name.
  explicit layer_stack(Layers... layers) : layers_(std::move(layers)...) {
    std::array<std::string_view, count> names;
    each([&]<std::size_t I>() { names[I] = at<I>().name(); });
    for (std::size_t i = 0; i < count; ++i)
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<std::ptrdiff_t>(i))
        detail::refuse({"stack", "layer"}, "\"" + std::string(names[i]) + "\" twice",
                       "a name of its own for each layer");
  }

  /// May this request go? Charges every layer that applies, or none. Projections are called once each.
  template <class Request>
  decision_type allow(Request const& request, cost c = cost{1}) {
    return decide(question<Request>(*this, request, c, readings()));
  }
  template <class Request>
  decision_type allow_at(first_time_point now, Request const& request, cost c = cost{1})
    requires one_clock
  {
    return decide(question<Request>(*this, request, c, {same_for<Layers>(now)...}));
  }
  /// visit(layer) for each layer in order.
  void for_each_layer(auto visit) const {
    std::apply([&](auto const&... of_stack) { (visit(of_stack), ...); }, layers_);
  }

  /// What allow would return; changes nothing. Layers that live elsewhere are not asked, and reported as skipped.
  template <class Request>
  decision_type peek(Request const& request, cost c = cost{1}) const {
    return ask(question<Request>(*this, request, c, readings()));
  }
  template <class Request>
  decision_type peek_at(first_time_point now, Request const& request, cost c = cost{1}) const
    requires one_clock
  {
    return ask(question<Request>(*this, request, c, {same_for<Layers>(now)...}));
  }

 private:
  using time_points = std::tuple<typename Layers::time_point...>;

  /// All that the layers are asked, layer by layer.
  template <class Request>
  struct question {
    question(layer_stack const& stack, Request const& request, cost c, time_points const& read)
        : now(read),
          keys(std::apply([&](auto const&... layer) { return decltype(keys){layer.key_of(request)...}; },
                          stack.layers_)),
          costs(std::apply([&](auto const&... layer) { return decltype(costs){layer.cost_of(request, c)...}; },
                           stack.layers_)) {}

    /// Calls use(key), unless the layer does not apply.
    template <std::size_t I, class Use>
    void with_key(Use use) const {
      auto const& key = std::get<I>(keys);
      if constexpr (!detail::is_optional<std::remove_cvref_t<decltype(key)>>)
        use(key);
      else if (key)
        use(*key);
    }

    time_points now;
    std::tuple<decltype(std::declval<Layers const&>().key_of(std::declval<Request const&>()))...> keys;
    std::array<cost, count> costs;
  };

  template <class>
  static constexpr first_time_point same_for(first_time_point now) noexcept {
    return now;
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

  /// One reading for all layers whose clocks are of one type: the first one's.
  time_points readings() const {
    time_points read;
    each([&]<std::size_t I>() {
      constexpr std::size_t same = first_with_clock_of<I>();
      if constexpr (same == I)
        std::get<I>(read) = at<I>().limiter().clock().now();
      else
        std::get<I>(read) = std::get<same>(read);
    });
    return read;
  }
  template <std::size_t I>
  static consteval std::size_t first_with_clock_of() {
    bool const same[] = {std::same_as<typename Layers::time_point, typename layer_at<I>::time_point>...};
    return static_cast<std::size_t>(std::find(std::begin(same), std::end(same), true) - std::begin(same));
  }

  template <std::size_t I>
  layer_report peek_at_layer(auto const& q, cost c) const {
    layer_report r{at<I>().name(), {}, true, at<I>().is_shadow(), q.costs[I]};
    if constexpr (!remote<I>)
      q.template with_key<I>([&](auto const& key) {
        r.skipped = false;
        r.decision = at<I>().limiter().peek(std::get<I>(q.now), key, c);
      });
    return r;
  }

  decision_type ask(auto const& q) const {
    decision_type d;
    each([&]<std::size_t I>() { d.reports_[I] = peek_at_layer<I>(q, q.costs[I]); });
    return d.conclude(), d ? std::move(d) : nothing_charged(std::move(d), q);
  }

  /// In a refusal, layers that would have admitted report the present.
  decision_type nothing_charged(decision_type d, auto const& q) const {
    each([&]<std::size_t I>() {
      if (d.reports_[I].decision && !d.reports_[I].skipped) d.reports_[I] = peek_at_layer<I>(q, cost{0});
    });
    d.conclude();
    return d;
  }

  using tickets = std::tuple<std::optional<typename Layers::limiter_type::ticket>...>;

  /// The last layer first.
  void give_back(tickets& taken) {
    each([&]<std::size_t J>() {
      constexpr std::size_t I = count - 1 - J;
      if (auto& t = std::get<I>(taken); t && t->answer) at<I>().limiter().undo(std::move(*t));
    });
  }

  decision_type decide(auto const& q) {
    decision_type d = ask(q);
    if (!d) {
      note_refusals(d, q);
      return d;
    }
    tickets taken;
    bool overtaken = false;
    {
      detail::rollback back([&] { give_back(taken); });
      each([&]<std::size_t I>() {
        if (overtaken) return;
        q.template with_key<I>([&](auto const& key) {
          auto const& t = std::get<I>(taken).emplace(at<I>().limiter().take(std::get<I>(q.now), key, q.costs[I]));
          d.reports_[I].skipped = false;
          d.reports_[I].decision = t.answer;
          overtaken = d.reports_[I].refuses();
        });
      });
      back.dismissed = true;
    }
    if (overtaken) {
      give_back(taken);
      return nothing_charged(std::move(d), q);
    }
    if constexpr (decision_type::holds_permits) d.permits_ = std::move(taken);
    d.conclude();
    return d;
  }

  /// A refusal may have to be noted: a clock that was set back, the cap of a new configuration (limiter.hpp). That a
  /// peek cannot do, so layers that refuse are asked in earnest too. What one admits after all is undone.
  void note_refusals(decision_type const& d, auto const& q) {
    each([&]<std::size_t I>() {
      if constexpr (!remote<I>)
        if (d.reports_[I].decision.outcome == verdict::limited)
          q.template with_key<I>([&](auto const& key) {
            auto t = at<I>().limiter().take(std::get<I>(q.now), key, q.costs[I]);
            if (t.answer) at<I>().limiter().undo(std::move(t));
          });
    });
  }

  std::tuple<Layers...> layers_;
};

/// Joins layers into one limiter of requests. Layers that live elsewhere (Redis) go last, so that they are asked only
/// for what passed the others.
template <class... Layers>
layer_stack<Layers...> stack(Layers... layers) {
  return layer_stack<Layers...>(std::move(layers)...);
}

}  // namespace penstock::inline v0_1
