#pragma once
// Several limits, one call each, NOT atomic: for identities that lie in different slots of a cluster, or servers.
//
// Layers are asked in order; when one refuses, the earlier ones are refunded. Between charge and refund others may be
// refused for units that come back, and an instance that dies there leaves them counted. No layer admits above its
// limit.

#include <penstock/redis/limiter.hpp>
#include <penstock/redis/stack_base.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

namespace penstock::inline v0_1::redis {

/// Concurrency: as its limiters. A call may take the sum of their timeouts.
template <class... Layers>
class sequential_stack : detail::stack_base<Layers...> {
  using base = detail::stack_base<Layers...>;
  using base::each;

 public:
  using decision_type = typename base::decision_type;

  /// Throws config_error when two layers have one name.
  explicit sequential_stack(Layers... layers) : base(std::move(layers)...) {}

  template <class Request>
  decision_type allow(Request const& request, cost c = cost{1}) {
    typename base::template question<Request> const q(*this, request, c);
    decision_type d = base::fresh_decision(q.costs);
    auto const now = std::chrono::steady_clock::now();
    std::tuple<std::optional<typename Layers::limiter_type::ticket>...> tickets;
    bool refused = false;
    auto const give_back = [&] {
      base::each_backwards([&]<std::size_t I>() {
        if (auto& ticket = std::get<I>(tickets); ticket && *ticket) limiter_at<I>().undo(std::move(*ticket));
      });
    };
    penstock::detail::rollback on_exception(give_back);
    each([&]<std::size_t I>() {
      if (refused) return;
      q.template with_key<I>([&](auto const& key) {
        auto const& ticket = std::get<I>(tickets).emplace(limiter_at<I>().take(now, key, q.costs[I]));
        d.tell(I, ticket.answer);
        refused = d.report(I).refuses();
      });
    });
    on_exception.dismissed = true;
    if (refused) give_back();
    d.conclude();
    return d;
  }

 private:
  template <std::size_t I>
  auto& limiter_at() const noexcept {
    return base::template at<I>().limiter();
  }
};

/// One call for each layer, in order. Not atomic.
template <class... Layers>
sequential_stack<Layers...> sequential(Layers... layers) {
  return sequential_stack<Layers...>(std::move(layers)...);
}

}  // namespace penstock::inline v0_1::redis
