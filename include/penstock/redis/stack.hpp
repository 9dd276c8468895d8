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

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

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
      if (&limiter.transport() != &limiter_at<0>().transport())
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
    decision_type d = base::fresh_decision();
    time_point const now = std::chrono::steady_clock::now();
    if (what == verb::take && known_refusal(d, q, now)) return d;

    std::vector<std::string> keys;
    detail::words arguments;
    char const letter = static_cast<char>(what);
    arguments.add({&letter, 1});
    std::string tag;
    bool one_tag = true;
    each([&]<std::size_t I>() {
      q.template with_key<I>([&](auto const& key) {
        std::string of_key = limiter_at<I>().tag_of_argument(key);
        if (keys.empty())
          tag = std::move(of_key);
        else if (of_key != tag)
          one_tag = false;
        limiter_at<I>().append_question(keys, arguments, tag, what, q.costs[I]);
      });
    });
    if (keys.empty()) return d;  // no layer applies

    result<reply> const answer =
        one_tag ? limiter_at<0>().call(keys, arguments, now) : io_error{errc::cross_slot, sent::no};
    if (!answer) return degraded(std::move(d), q, answer.error(), what);
    if (!read(d, q, *answer, now, what))
      return degraded(base::fresh_decision(), q, {errc::bad_reply, sent::unknown}, what);
    return d;
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

  bool read(decision_type& d, auto const& q, reply const& answer, time_point asked, verb what) {
    detail::reply_reader from(answer);
    bool const admitted = from.next() == 1;
    instant const read_at = detail::from_microseconds(from.next());
    bool all = true;
    std::array<detail::decoded, count> found{};
    each([&]<std::size_t I>() {
      q.template with_key<I>([&](auto const&) {
        found[I] = limiter_at<I>().read_answer(from, read_at, q.costs[I]);
        all = all && found[I].answer;
      });
    });
    if (!from.whole() || all != admitted) return false;
    each([&]<std::size_t I>() {
      q.template with_key<I>([&](auto const& key) {
        decision const& answered = admitted || !found[I].answer ? found[I].answer : found[I].present;
        d.tell(I, {{answered}, origin::redis, {}});
        if (what == verb::take && (admitted || !answered)) limiter_at<I>().answered(key, q.costs[I], answered, asked);
      });
    });
    d.conclude();
    return true;
  }

  /// Each layer by its own policy, and still all or nothing.
  decision_type degraded(decision_type d, auto const& q, io_error const& error, verb what) {
    each([&]<std::size_t I>() {
      q.template with_key<I>(
          [&](auto const& key) { d.tell(I, limiter_at<I>().degraded_peek(key, q.costs[I], error.code)); });
    });
    d.conclude();
    if (!d || what == verb::peek) {
      limiter_at<0>().note(error);
      return d;
    }
    bool overtaken = false;
    d = base::fresh_decision();
    std::tuple<std::optional<typename Layers::limiter_type::degraded_answer>...> given;
    each([&]<std::size_t I>() {
      if (overtaken) return;
      q.template with_key<I>([&](auto const& key) {
        auto const& answer = std::get<I>(given).emplace(limiter_at<I>().degraded(key, q.costs[I], error));
        d.tell(I, answer.answer);
        overtaken = !answer.answer;
      });
    });
    if (overtaken)
      base::each_backwards([&]<std::size_t I>() {
        if (auto const& g = std::get<I>(given); g && g->ticket && g->answer)
          limiter_at<I>().undo_degraded(*g->ticket, q.costs[I]);
      });
    d.conclude();
    return d;
  }
};

/// One atomic call for all layers: layer(name, redis_limiter, projection), see penstock/layer.hpp.
template <class... Layers>
layer_stack<Layers...> stack(Layers... layers) {
  return layer_stack<Layers...>(std::move(layers)...);
}

}  // namespace penstock::inline v0_1::redis
