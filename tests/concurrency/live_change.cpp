// A configuration that changes while others ask.

#include "threads.hpp"

using namespace concurrency;

namespace {

/// Four threads flip between two configurations, four ask; every answer is one of the two configurations' own.
template <class Limiter, class Config, class Ask>
void flip(Limiter& limiter, Config const& small, Config const& large, std::uint64_t small_limit,
          std::uint64_t large_limit, Ask const& ask) {
  std::atomic<std::size_t> neither{0}, inconsistent{0};
  on_threads(8, [&](std::size_t thread) {
    dice d(thread);
    if (thread < 4) {
      for (std::size_t i = 0; i < calls(4'000); ++i) limiter.reconfigure((i + thread) % 2 == 0 ? small : large);
      return;
    }
    for (std::size_t call = 0; call < calls(20'000); ++call) {
      std::uint64_t const cost = 1 + d.below(large_limit + 2);
      decision const answer = ask(limiter, cost);
      if (answer.limit != small_limit && answer.limit != large_limit) ++neither;
      // The verdict is that of the same configuration.
      bool const consistent = answer.outcome == verdict::never
                                  ? cost > answer.limit && answer.retry_after == nanoseconds::max()
                                  : cost <= answer.limit && answer.remaining <= answer.limit - (answer ? cost : 0);
      if (!consistent) ++inconsistent;
    }
  });
  CHECK(neither == 0);
  CHECK(inconsistent == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("every decision is that of one of two configurations, whole", "[change]",
                   penstock::algorithm::fixed_window, penstock::algorithm::sliding_log,
                   penstock::algorithm::sliding_counter, penstock::algorithm::token_bucket,
                   penstock::algorithm::leaky_meter, penstock::algorithm::leaky_queue) {
  auto const small = limited_to<TestType>::config(10, 1h);
  auto const large = limited_to<TestType>::config(40, 1h);
  {
    INFO("without a key");
    penstock::limiter<TestType, penstock::no_key, penstock::manual_clock> limiter(small);
    flip(limiter, small, large, 10, 40, [](auto& l, std::uint64_t c) { return l.allow(penstock::cost{c}); });
  }
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    penstock::limiter<TestType, std::uint64_t, penstock::manual_clock, Store> limiter(small, {.max_keys = 100});
    flip(limiter, small, large, 10, 40,
         [](auto& l, std::uint64_t c) { return l.allow(std::uint64_t{5}, penstock::cost{c}); });
  });
}
