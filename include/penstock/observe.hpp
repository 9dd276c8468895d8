#pragma once
// Seeing what a stack decides: an observer is called with each layer's verdict and cost. Without one there is no cost.
//
//   penstock::counters seen(limits);
//   auto watched = penstock::observed(limits, seen);
//   watched.allow(request);
//   seen.prometheus();      // text for /metrics

#include <penstock/stack.hpp>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::inline v0_1 {

/// One layer's part in one call. Skipped layers are not told.
struct observation {
  std::size_t layer;  ///< its place in the stack, from 0
  std::string_view name;
  verdict outcome;  ///< of this layer
  cost units;       ///< what it was asked for
  bool shadow;
  bool charged;  ///< the whole stack admitted, so the layer has counted the units
};

template <class O>
concept observer = requires(O& o, observation const& seen) { o(seen); };

/// A stack that tells an observer. Refers to both. Concurrency: the observer is called on the asking thread.
template <class Stack, observer Observer>
class observed_stack {
 public:
  observed_stack(Stack& stack, Observer& observer) noexcept : stack_(&stack), observer_(&observer) {}

  template <class Request>
  auto allow(Request const& request, cost c = cost{1}) {
    return told(stack_->allow(request, c));
  }
  template <class TimePoint, class Request>
  auto allow_at(TimePoint now, Request const& request, cost c = cost{1}) {
    return told(stack_->allow_at(now, request, c));
  }
  template <class Request>
  auto peek(Request const& request, cost c = cost{1}) const {
    return stack_->peek(request, c);
  }

 private:
  template <class Decision>
  Decision told(Decision d) {
    bool const admitted = d.outcome == verdict::admitted;
    std::size_t place = 0;
    for (layer_report const& r : d.layers()) {
      if (!r.skipped)
        (*observer_)(observation{place, r.name, r.decision.outcome, r.units, r.shadow, admitted && r.decision});
      ++place;
    }
    return d;
  }

  Stack* stack_;
  Observer* observer_;
};

template <class Stack, observer Observer>
observed_stack<Stack, Observer> observed(Stack& stack, Observer& observer) noexcept {
  return {stack, observer};
}

/// Counts by layer, ready to print. Refers to the stack. Concurrency: counting and printing are safe from any thread.
class counters {
 public:
  template <class... Layers>
  explicit counters(layer_stack<Layers...> const& stack) : layers_(sizeof...(Layers)) {
    std::size_t i = 0;
    stack.for_each_layer([&](auto const& layer) {
      layers_[i].name = layer.name();
      auto const* const limiter = &layer.limiter();
      if constexpr (requires {
                      { limiter->stats() } -> std::same_as<store_stats>;
                    })
        layers_[i].stats = [](void const* of) { return static_cast<decltype(limiter)>(of)->stats(); };
      layers_[i++].limiter = limiter;
    });
  }

  void operator()(observation const& seen) noexcept {
    per_layer& l = layers_[seen.layer];
    bool const admitted = seen.outcome == verdict::admitted;
    (admitted      ? seen.charged ? l.admitted : l.spared
     : seen.shadow ? l.shadow_refused
                   : l.refused)
        .fetch_add(1, std::memory_order_relaxed);
    if (seen.charged) l.units.fetch_add(seen.units.units, std::memory_order_relaxed);
  }

  /// The counters in Prometheus' text format, version 0.0.4. Walks the keys of every limiter (stats()).
  std::string prometheus() const {
    std::string text;
    family(text, "penstock_decisions_total", "counter",
           "Decisions by layer. spared: the layer would have admitted, another refused.");
    for (per_layer const& l : layers_)
      for (auto const& [verdict_name, count] : {labelled{"admitted", &l.admitted},
                                                {"refused", &l.refused},
                                                {"shadow_refused", &l.shadow_refused},
                                                {"spared", &l.spared}})
        sample(text, "penstock_decisions_total", l.name, std::string(",verdict=\"") + verdict_name + "\"",
               count->load(std::memory_order_relaxed));
    family(text, "penstock_units_total", "counter", "Units charged by layer.");
    for (per_layer const& l : layers_)
      sample(text, "penstock_units_total", l.name, "", l.units.load(std::memory_order_relaxed));
    std::vector<store_stats> stats;
    for (per_layer const& l : layers_) stats.push_back(l.stats != nullptr ? l.stats(l.limiter) : store_stats{});
    for_stats(text, stats, "penstock_keys", "gauge", "Keys that are not fresh.",
              [](store_stats const& s) { return std::uint64_t{s.keys}; });
    for_stats(text, stats, "penstock_key_capacity", "gauge", "Keys that could be held.",
              [](store_stats const& s) { return std::uint64_t{s.capacity}; });
    for_stats(text, stats, "penstock_evictions_total", "counter", "Live keys dropped for want of room.",
              [](store_stats const& s) { return s.evictions; });
    for_stats(text, stats, "penstock_newcomers_refused_total", "counter", "Calls refused for want of room.",
              [](store_stats const& s) { return s.newcomers_refused; });
    return text;
  }

 private:
  using counter = std::atomic<std::uint64_t>;
  struct alignas(64) per_layer {
    counter admitted{0}, refused{0}, shadow_refused{0}, spared{0}, units{0};
    std::string_view name;
    void const* limiter = nullptr;
    store_stats (*stats)(void const*) = nullptr;
  };
  struct labelled {
    char const* name;
    counter const* count;
  };

  static void family(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
    text.append("# HELP ")
        .append(name)
        .append(" ")
        .append(help)
        .append("\n# TYPE ")
        .append(name)
        .append(" ")
        .append(type)
        .append("\n");
  }
  static void sample(std::string& text, std::string_view name, std::string_view layer, std::string_view labels,
                     std::uint64_t value) {
    text.append(name).append("{layer=\"");
    for (char const c : layer)  // the format's three escapes
      c == '\n' ? text.append("\\n") : c == '"' || c == '\\' ? text.append({'\\', c}) : text.append(1, c);
    text.append("\"").append(labels).append("} ").append(std::to_string(value)).append("\n");
  }
  void for_stats(std::string& text, std::vector<store_stats> const& stats, std::string_view name, std::string_view type,
                 std::string_view help, auto of) const {
    family(text, name, type, help);
    for (std::size_t i = 0; i < layers_.size(); ++i) sample(text, name, layers_[i].name, "", of(stats[i]));
  }

  std::vector<per_layer> layers_;
};

}  // namespace penstock::inline v0_1
