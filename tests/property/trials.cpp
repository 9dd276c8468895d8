// The limiters that trial.hpp only names.

#include "trial.hpp"

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiter.hpp>

#include "conformance/rows.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace property {

namespace {

constexpr nanoseconds earliest = penstock::earliest.time_since_epoch(), latest = penstock::latest.time_since_epoch();

/// Arrival times are words of 1/M ns from the origin, which reach 2^62 back and 2^63 ahead; windows tell all readings
/// apart.
void tell_range(facts& f, nanoseconds start, std::optional<units> per_nanosecond) {
  f.first = earliest;
  f.last = latest;
  if (!per_nanosecond) return;
  oracle::wide const origin = std::clamp(start, earliest, latest).count();
  oracle::wide const back = oracle::wide((std::int64_t{1} << 62) - 1), ahead = oracle::wide((units{1} << 63) - 1);
  auto const clamped = [](oracle::wide const& t) {
    return nanoseconds{static_cast<std::int64_t>(
        std::clamp(t, oracle::wide(earliest.count()), oracle::wide(latest.count())).low_bits())};
  };
  f.first = clamped(origin - oracle::floor_div(back, *per_nanosecond));
  f.last = clamped(origin + oracle::floor_div(ahead, *per_nanosecond));
}

std::optional<units> units_of(auto const& a) {
  if constexpr (requires { a.units(); })
    return a.units().per_nanosecond;
  else if constexpr (requires { a.template rule<0>(); })
    return units_of(a.template rule<0>());
  else
    return {};
}

template <class Row, class Key>
class limiter_trial final : public trial {
  static constexpr bool keyed = !std::same_as<Key, penstock::no_key>;
  using algorithm = typename Row::algorithm;
  using limiter = penstock::limiter<algorithm, Key, penstock::manual_clock>;

 public:
  limiter_trial(shape const& s, nanoseconds start)
      : limiter_(made(s, start)),
        algorithm_(limiter_.algorithm()),
        model_(Row::model_of(algorithm_)),
        bound_(Row::bound_of(s, algorithm_)) {
    known_ = {.size = Row::size(algorithm_), .full = Row::full(algorithm_), .lag = Row::longest_lag(algorithm_)};
    tell_range(known_, start, units_of(algorithm_));
    if constexpr (requires { algorithm_.true_rate(); })
      known_.kept = algorithm_.true_rate();
    else
      known_.kept = {known_.size, known_.full};
  }

  decision allow(nanoseconds at, units c) override {
    return with_key([&](auto... k) { return limiter_.allow_at(on(at), k..., penstock::cost{c}); });
  }
  decision peek(nanoseconds at, units c) const override {
    return with_key([&](auto... k) { return limiter_.peek_at(on(at), k..., penstock::cost{c}); });
  }
  void charge(nanoseconds at, units c) override {
    model_.charge(at.count(), c);
    with_key([&](auto... k) { limiter_.charge_at(on(at), k..., penstock::cost{c}); });
  }
  void refund(nanoseconds charged_at, units c) override {
    model_.refund(charged_at.count(), c);
    with_key([&](auto... k) { limiter_.refund_at(on(charged_at), k..., penstock::cost{c}); });
  }
  void forget() override {
    model_.forget();
    with_key([&](auto... k) { limiter_.forget(k...); });
  }

  decision model_allows(nanoseconds at, units c) override {
    return conformance::as_decision(model_.ask(at.count(), c));
  }
  decision model_sees(nanoseconds at, units c) const override {
    return conformance::as_decision(model_.look(at.count(), c));
  }

  void admitted(nanoseconds at, units c, nanoseconds delay) override { bound_.admit(at, c, delay); }
  bool bound_holds() const override { return bound_.holds(); }
  facts const& known() const override { return known_; }

 private:
  /// The one key there is, if the limiter has keys.
  static auto with_key(auto call) {
    if constexpr (keyed)
      return call(7);
    else
      return call();
  }
  static penstock::manual_clock::time_point on(nanoseconds t) { return penstock::manual_clock::time_point{t}; }
  static limiter made(shape const& s, nanoseconds start) {  // in place: a limiter does not move
    if constexpr (keyed)
      return limiter(Row::config(s), {.max_keys = 8}, penstock::manual_clock(start));
    else
      return limiter(Row::config(s), penstock::manual_clock(start));
  }

  limiter limiter_;
  algorithm algorithm_;
  typename Row::model model_;
  decltype(Row::bound_of(conformance::shape{}, std::declval<algorithm const&>())) bound_;
  facts known_;
};

template <class Row>
std::unique_ptr<trial> make(shape const& s, nanoseconds start, bool keyed) {
  if (keyed) return std::make_unique<limiter_trial<Row, int>>(s, start);
  return std::make_unique<limiter_trial<Row, penstock::no_key>>(s, start);
}

// ---- in C++ ---------------------------------------------------------------------------------------------------------

std::string text_of(penstock::rate r) {
  return "per(" + property::text_of(r.count) + ", " + property::text_of(r.period) + ")";
}

std::string text_of(penstock::algorithm::token_bucket::config const& c) {
  return "{.refill = " + text_of(c.refill) + ", .burst = " + property::text_of(c.burst) + "}";
}
std::string text_of(penstock::algorithm::leaky_meter::config const& c) {
  return "{.drain = " + text_of(c.drain) + ", .capacity = " + property::text_of(c.capacity) + "}";
}
std::string text_of(penstock::algorithm::leaky_queue::config const& c) {
  return "{.drain = " + text_of(c.drain) + ", .capacity = " + property::text_of(c.capacity) + "}";
}
std::string text_of(penstock::algorithm::fixed_window::config const& c) {
  bool const aligned = c.starts == penstock::window_start::aligned;
  return "{.limit = " + text_of(c.limit) + (aligned ? "}" : ", .starts = window_start::first_request}");
}
std::string text_of(penstock::algorithm::sliding_log::config const& c) { return "{.limit = " + text_of(c.limit) + "}"; }
std::string text_of(penstock::algorithm::sliding_counter::config const& c) {
  return "{.limit = " + text_of(c.limit) + "}";
}
template <class... Rules>
std::string text_of(typename penstock::algorithm::all_of<Rules...>::config const& c,
                    std::type_identity<penstock::algorithm::all_of<Rules...>>) {
  std::string rules;
  std::apply([&](auto const&... of_rule) { ((rules += (rules.empty() ? "" : ", ") + text_of(of_rule)), ...); },
             c.rules);
  return "{" + rules + "}";
}
template <class A>
std::string text_of(typename A::config const& c, std::type_identity<A>) {
  return text_of(c);
}

template <class A>
std::string type_of(std::type_identity<A>) {
  return "algorithm::" + std::string(A::name);
}
template <class... Rules>
std::string type_of(std::type_identity<penstock::algorithm::all_of<Rules...>>) {
  std::string rules;
  ((rules += (rules.empty() ? "" : ", ") + type_of(std::type_identity<Rules>{})), ...);
  return "algorithm::all_of<" + rules + ">";
}

template <class Row>
std::string declared(shape const& s, bool keyed, std::string_view variable) {
  using A = typename Row::algorithm;
  return "limiter<" + type_of(std::type_identity<A>{}) + ", " + (keyed ? "int" : "no_key") + ", manual_clock> " +
         std::string(variable) + "(" + text_of(Row::config(s), std::type_identity<A>{}) +
         (keyed ? ", {.max_keys = 8}" : "") + ", clock);";
}

template <class Row>
constexpr kind row(std::string_view name, family f) {
  return {name, f, make<Row>, declared<Row>};
}

}  // namespace

std::span<kind const> kinds() {
  static constexpr std::array all{
      row<conformance::token_bucket>("token_bucket", family::arrival),
      row<conformance::leaky_meter>("leaky_meter", family::arrival),
      row<conformance::leaky_queue>("leaky_queue", family::arrival),
      row<conformance::aligned_window>("fixed_window", family::window),
      row<conformance::first_request_window>("fixed_window from the first request", family::window),
      row<conformance::sliding_log>("sliding_log", family::window),
      row<conformance::sliding_counter>("sliding_counter", family::counter),
      row<conformance::bucket_and_window>("all_of", family::several),
  };
  return all;
}

kind const& kind_named(std::string_view name) {
  return *std::find_if(kinds().begin(), kinds().end(), [&](kind const& k) { return k.name == name; });
}

}  // namespace property
