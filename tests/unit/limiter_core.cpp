// limiter_core.hpp: what a limiter asks of its store.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/store/unsynchronized.hpp>

#include "timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

using namespace penstock;
using namespace timeline;

namespace {

/// Counts the steps that wanted their state kept: what another store would have written, and others had to read.
struct kept_in_all {
  static inline std::size_t times = 0;
  static bool count(bool keep) {
    times += keep ? 1 : 0;
    return keep;
  }
};

/// One state, with the usual way in alone, or with the fast one before it.
struct slow_store {
  template <limiting_algorithm A, class Key>
  class of : public store::unsynchronized::of<A, no_key> {
   public:
    using state = typename A::state;
    using typename store::unsynchronized::of<A, no_key>::place;

    template <class Step>
    std::optional<no_room<state>> change(A const&, place, instant, Step step) {
      state next = held_;
      if (kept_in_all::count(step(next))) held_ = next;
      return {};
    }
    template <class See>
    std::optional<no_room<state>> look(A const&, place, instant, See see) const {
      see(held_);
      return {};
    }

   protected:
    state held_{};
  };
};
struct fast_store {
  template <limiting_algorithm A, class Key>
  class of : public slow_store::of<A, Key> {
   public:
    using state = typename A::state;

    template <class Step>
    attempted<state> attempt(typename slow_store::of<A, Key>::place, Step step) {
      state const seen = this->held_;
      state next = seen;
      if (!kept_in_all::count(step(next))) return {penstock::attempt::unchanged, seen};
      this->held_ = next;
      return {penstock::attempt::changed, seen};
    }
  };
};

template <class A>
typename A::config of_size(std::uint64_t size) {
  return {per(size, 10s)};
}

template <class A>
void for_both_stores(auto check) {
  auto const in = [&]<class Store>(std::type_identity<Store>) {
    limiter<A, no_key, manual_clock, Store> limit(of_size<A>(10));
    kept_in_all::times = 0;
    check(limit);
  };
  in(std::type_identity<slow_store>{});
  in(std::type_identity<fast_store>{});
}

}  // namespace

TEMPLATE_TEST_CASE("a refusal, a call that costs nothing and one that never fits have nothing kept", "",
                   algorithm::token_bucket, algorithm::leaky_meter, algorithm::leaky_queue, algorithm::fixed_window,
                   algorithm::sliding_counter) {
  for_both_stores<TestType>([](auto& limit) {
    CHECK(limit.allow_at(on(1s), cost{10}));
    CHECK(kept_in_all::times == 1);
    CHECK_FALSE(limit.allow_at(on(1s)));
    CHECK_FALSE(limit.allow_at(on(1s + 1ns), cost{10}));
    CHECK(limit.allow_at(on(1s), cost{0}));
    CHECK(limit.allow_at(on(1s), cost{11}).outcome == verdict::never);
    CHECK(kept_in_all::times == 1);
  });
}

TEMPLATE_TEST_CASE("after the clock was set back the first refusal has one state kept, one that never fits none", "",
                   algorithm::token_bucket, algorithm::leaky_meter, algorithm::leaky_queue, algorithm::fixed_window,
                   algorithm::sliding_counter) {
  for_both_stores<TestType>([](auto& limit) {
    CHECK(limit.allow_at(on(1h), cost{10}));
    CHECK(limit.allow_at(on(1s), cost{11}).outcome == verdict::never);
    CHECK(kept_in_all::times == 1);
    CHECK_FALSE(limit.allow_at(on(1s)));
    CHECK(kept_in_all::times == 2);
    CHECK_FALSE(limit.allow_at(on(1s)));
    CHECK(kept_in_all::times == 2);
  });
}

TEST_CASE("room that comes in centuries is not said to come at once") {
  auto const check = []<class Store>(std::type_identity<Store>) {
    manual_clock clock;
    limiter<algorithm::sliding_counter, int, manual_clock, Store> limit(
        {per(1, longest_period)}, {.max_keys = 1, .full = when_full::refuse}, clock);
    for (int key = 0; limit.allow(key); ++key) {
    }
    decision const d = limit.peek_at(on(-nanoseconds{longest_period}), 100);  // three windows before there is room
    CHECK(d.outcome == verdict::limited);
    CHECK(d.retry_after == duration::max());
    CHECK(d.reset_after == duration::max());
    CHECK(limit.peek_at(on(0s), 100).retry_after == 2 * longest_period);
  };
  check(std::type_identity<store::table>{});
  check(std::type_identity<store::unsynchronized>{});
}
