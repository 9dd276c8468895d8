#pragma once
// Several limits, one script call, all or nothing: atomic in Redis, one round trip.
//
//   auto limits = redis::stack(layer("burst", burst, &request::user), layer("day", quota, &request::user));
//
// All keys of the call must have one tag, that is one identity: then a cluster keeps them in one slot. Otherwise
// nothing is sent and the answer is degraded with errc::cross_slot. For user and site together on a cluster, see
// sequential.hpp.

#include <penstock/redis/limiter.hpp>
#include <penstock/redis/stack_base.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace penstock::inline v0_1::redis {

/// Concurrency: as its limiters. The first layer's timeout and breaker are the call's.
template <class... Layers>
class layer_stack : detail::stack_base<Layers...> {
  using base = detail::stack_base<Layers...>;
  using base::each, base::count;
  using transport_type = typename std::tuple_element_t<0, std::tuple<Layers...>>::limiter_type::transport_type;
  static_assert((std::same_as<transport_type, typename Layers::limiter_type::transport_type> && ...),
                "the limiters of a stack share a transport");
  using time_point = std::chrono::steady_clock::time_point;

 public:
  using decision_type = typename base::decision_type;

  /// Throws config_error: one name or limit id twice, limiters of different transports, a limiter that lends, a layer
  /// on trial (a script call has one outcome).
  explicit layer_stack(Layers... layers) : base(std::move(layers)...) {
    each([&]<std::size_t I>() {
      auto const& limiter = limiter_at<I>();
      std::string const id = "\"" + std::string(limiter.limit_id()) + "\"";
      if (limiter.lends())
        penstock::detail::refuse({"redis::stack", "layer"}, id + ", which lends", "limiters without leases");
      if (base::template at<I>().is_shadow())
        penstock::detail::refuse({"redis::stack", "layer"}, id + " on trial",
                                 "no shadow layers; sequential() has them");
      if (&limiter_at<I>().in_redis().transport() != &limiter_at<0>().in_redis().transport())
        penstock::detail::refuse({"redis::stack", "layer"}, id + " elsewhere", "limiters of one transport");
      each([&]<std::size_t J>() {
        if (I < J && limiter.limit_id() == limiter_at<J>().limit_id())
          penstock::detail::refuse({"redis::stack", "layer"}, id + " twice", "a limit id of its own for each layer");
      });
    });
  }

  /// May this request go? Counts it in every layer that applies, or in none.
  template <class Request>
  decision_type allow(Request const& request, cost c = cost{1}) {
    return decide(request, c, c.units == 0 ? verb::peek : verb::take);
  }
  /// What allow would return; changes nothing.
  template <class Request>
  decision_type peek(Request const& request, cost c = cost{1}) {
    return decide(request, c, verb::peek);
  }

 private:
  template <std::size_t I>
  auto& limiter_at() const noexcept {
    return base::template at<I>().limiter();
  }

  template <class Request>
  decision_type decide(Request const& request, cost c, verb what) {
    typename base::template question<Request> const q(*this, request, c);
    decision_type d = base::fresh_decision(q.costs);
    time_point const now = std::chrono::steady_clock::now();
    if (what == verb::take && known_refusal(d, q, now)) return d;

    detail::script_call asked = detail::started(what);
    std::string tag;
    bool one_tag = true;
    each([&]<std::size_t I>() {
      q.template with_key<I>([&](auto const& key) {
        std::string of_key = limiter_at<I>().tag_of_argument(key);
        if (asked.keys.empty())
          tag = std::move(of_key);
        else if (of_key != tag)
          one_tag = false;
        limiter_at<I>().in_redis().append_question(asked, tag, what, q.costs[I]);
      });
    });
    if (asked.keys.empty()) return d;  // no layer applies
    if (!one_tag) return degraded(q, {errc::cross_slot, sent::no}, what);
    auto const answer = limiter_at<0>().in_redis().call(asked, now, [&](reply const& r) { return read(q, r); });
    if (!answer) return degraded(q, answer.error(), what);
    return told(std::move(d), q, *answer, now, what);
  }

  bool known_refusal(decision_type& d, auto const& q, time_point now) {
    bool refused = false;
    each([&]<std::size_t I>() {
      if (refused) return;
      q.template with_key<I>([&](auto const& key) {
        auto const known = limiter_at<I>().known(key, q.costs[I], now);
        if (!known) return;
        d.tell(I, *known);
        refused = true;
      });
    });
    if (refused) d.conclude();
    return refused;
  }

  /// What the script found, and whether it admitted.
  struct outcome {
    bool admitted = false;
    std::tuple<detail::decoded<typename Layers::limiter_type::algorithm_type>...> found{};
  };
  result<outcome> read(auto const& q, reply const& answer) {
    detail::reply_reader from(answer);
    outcome o;
    o.admitted = from.next() == 1;
    instant const read_at = detail::from_microseconds(from.next());
    bool all = true;
    each([&]<std::size_t I>() {
      q.template with_key<I>([&](auto const&) {
        auto const& f = std::get<I>(o.found) = limiter_at<I>().in_redis().read_answer(from, read_at, q.costs[I]);
        all = all && f.answer;
      });
    });
    if (!from.whole() || all != o.admitted) return io_error{errc::bad_reply, sent::unknown};
    return o;
  }

  decision_type told(decision_type d, auto const& q, outcome const& o, time_point asked, verb what) {
    each([&]<std::size_t I>() {
      q.template with_key<I>([&](auto const& key) {
        auto const& f = std::get<I>(o.found);
        decision const& answered = o.admitted || !f.answer ? f.answer : f.present;
        d.tell(I, {{answered}, origin::redis, {}});
        if (what == verb::take && (o.admitted || !answered)) limiter_at<I>().answered(key, q.costs[I], answered, asked);
      });
    });
    d.conclude();
    return d;
  }

  /// Each layer by its own policy, and still all or nothing.
  decision_type degraded(auto const& q, io_error const& error, verb what) {
    limiter_at<0>().in_redis().note_degraded(error, what);
    decision_type d = base::fresh_decision(q.costs);
    each([&]<std::size_t I>() {
      q.template with_key<I>(
          [&](auto const& key) { d.tell(I, limiter_at<I>().degraded_peek(key, q.costs[I], error.code)); });
    });
    d.conclude();
    if (what == verb::peek) return d;
    // Refused: those that do are asked in earnest, because a limiter whose clock was set back must hear of it. What one
    // of them admits after all, another having been quicker, is given back. Admitted: all are asked, until one is not.
    bool const refused = !d;
    bool overtaken = false;
    decision_type taken = base::fresh_decision(q.costs);
    std::tuple<std::optional<typename Layers::limiter_type::degraded_answer>...> given;
    auto const give_back = [&] {
      base::each_backwards([&]<std::size_t I>() {
        if (auto const& g = std::get<I>(given)) limiter_at<I>().undo_degraded(*g, q.costs[I]);
      });
    };
    penstock::detail::rollback on_exception(give_back);
    each([&]<std::size_t I>() {
      if (overtaken || (refused && d.report(I).decision)) return;
      q.template with_key<I>([&](auto const& key) {
        auto const& answer = std::get<I>(given).emplace(limiter_at<I>().degraded(key, q.costs[I], error.code));
        taken.tell(I, answer.answer);
        overtaken = !refused && !answer.answer;
      });
    });
    on_exception.dismissed = true;
    if (refused || overtaken) give_back();
    if (refused) return d;
    taken.conclude();
    return taken;
  }
};

/// One atomic call for all layers: layer(name, redis_limiter, projection), see penstock/layer.hpp.
template <class... Layers>
layer_stack<Layers...> stack(Layers... layers) {
  return layer_stack<Layers...>(std::move(layers)...);
}

}  // namespace penstock::inline v0_1::redis
