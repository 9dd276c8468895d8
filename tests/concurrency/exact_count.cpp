// Law 10: counting is exact under threads.

#include "threads.hpp"

#include <numeric>
#include <span>

using namespace concurrency;

namespace {

/// Eight threads call on a standing clock; allow(thread, call) says whether that call was admitted.
template <class Allow>
std::size_t admitted_by_eight(std::size_t each, Allow const& allow) {
  std::atomic<std::size_t> admitted{0};
  on_threads(8, [&](std::size_t thread) {
    std::size_t mine = 0;
    for (std::size_t call = 0; call < each; ++call) mine += allow(thread, call) ? 1 : 0;
    admitted += mine;
  });
  return admitted;
}

}  // namespace

TEMPLATE_TEST_CASE("law 10: eight threads against 1000 an hour on a standing clock admit exactly 1000", "[law]",
                   EVERY_ALGORITHM) {
  auto const config = limited_to<TestType>::config(1'000, 1h);
  std::size_t const each = calls(100'000);
  {
    INFO("without a key");
    penstock::limiter<TestType, penstock::no_key, penstock::manual_clock> limiter(config);
    CHECK(admitted_by_eight(each, [&](std::size_t, std::size_t) { return static_cast<bool>(limiter.allow()); }) ==
          1'000);
    CHECK(limiter.peek(penstock::cost{0}).remaining == 0);
  }
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("one key over " << name);
    penstock::limiter<TestType, std::uint64_t, penstock::manual_clock, Store> limiter(config, {.max_keys = 100});
    CHECK(admitted_by_eight(each, [&](std::size_t, std::size_t) {
            return static_cast<bool>(limiter.allow(std::uint64_t{7}));
          }) == 1'000);
    CHECK(limiter.peek(std::uint64_t{7}, penstock::cost{0}).remaining == 0);
    CHECK(limiter.stats().keys == 1);
  });
}

TEMPLATE_TEST_CASE("law 10: each of many keys is counted exactly, with costs", "[law]", EVERY_ALGORITHM) {
  auto const config = limited_to<TestType>::config(300, 1h);
  constexpr std::size_t keys = 40;
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    penstock::limiter<TestType, std::uint64_t, penstock::manual_clock, Store> limiter(config, {.max_keys = 1'000});
    std::array<std::atomic<std::uint64_t>, keys> admitted{};
    on_threads(8, [&](std::size_t thread) {
      dice d(thread);
      for (std::size_t call = 0; call < calls(60'000); ++call) {
        std::uint64_t const key = d.below(keys), cost = 1 + d.below(3);
        if (limiter.allow(key, penstock::cost{cost})) admitted[key] += cost;
      }
    });
    // What a cost of 3 could not take, costs of 1 have.
    for (std::uint64_t key = 0; key < keys; ++key) {
      while (limiter.allow(key)) ++admitted[key];
      CHECK(admitted[key] == 300);
    }
    CHECK(limiter.stats().evictions == 0);
  });
}

TEMPLATE_TEST_CASE("batches from many threads are counted as single calls are", "[law]", EVERY_ALGORITHM) {
  auto const config = limited_to<TestType>::config(1'000, 1h);
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    penstock::limiter<TestType, std::uint64_t, penstock::manual_clock, Store> limiter(config, {.max_keys = 1'000});
    constexpr std::size_t keys = 10;
    std::array<std::atomic<std::size_t>, keys> admitted{};
    on_threads(8, [&](std::size_t thread) {
      dice d(thread);
      std::vector<std::uint64_t> batch(40);
      std::vector<decision> answers(batch.size());
      for (std::size_t round = 0; round < calls(2'000); ++round) {
        for (auto& key : batch) key = d.below(keys);
        if (thread % 2 == 0)
          limiter.allow_each(batch, answers);
        else
          for (std::size_t i = 0; i < batch.size(); ++i) answers[i] = limiter.allow(batch[i]);
        for (std::size_t i = 0; i < batch.size(); ++i) admitted[batch[i]] += answers[i] ? 1 : 0;
      }
    });
    for (std::uint64_t key = 0; key < keys; ++key) {
      while (limiter.allow(key)) ++admitted[key];
      CHECK(admitted[key] == 1'000);
    }
  });
}

TEMPLATE_TEST_CASE("while one thread moves the clock, no more is admitted than it brings", "[law]", EVERY_ALGORITHM) {
  // 100 a second; the clock moves by 10 s in all.
  auto const config = limited_to<TestType>::config(100, 1s);
  auto const count = [&](auto& limiter, penstock::manual_clock clock, auto const& allow) {
    std::atomic<std::size_t> admitted{0};
    std::atomic<bool> over{false};
    on_threads(8, [&](std::size_t thread) {
      if (thread == 0) {
        for (std::size_t tick = 0; tick < calls(10'000); ++tick) {
          clock.advance(nanoseconds(10s) / calls(10'000));
          if (allow(limiter)) ++admitted;
        }
        over = true;
        return;
      }
      std::size_t mine = 0;
      while (!over) mine += allow(limiter) ? 1 : 0;
      admitted += mine;
    });
    return admitted.load();
  };
  // Windows: 11 of them are touched. Log and bucket: what 10 s bring, and a full allowance. Half of it at least.
  {
    penstock::manual_clock clock;
    penstock::limiter<TestType, penstock::no_key, penstock::manual_clock> limiter(config, clock);
    std::size_t const admitted = count(limiter, clock, [](auto& l) { return static_cast<bool>(l.allow()); });
    CHECK(admitted <= 1'100);
    CHECK(admitted >= 500);
  }
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    penstock::manual_clock clock;
    penstock::limiter<TestType, std::uint64_t, penstock::manual_clock, Store> limiter(config, {.max_keys = 8}, clock);
    std::size_t const admitted =
        count(limiter, clock, [](auto& l) { return static_cast<bool>(l.allow(std::uint64_t{3})); });
    CHECK(admitted <= 1'100);
    CHECK(admitted >= 500);
  });
}

TEMPLATE_TEST_CASE("who looks while others take sees states that have been", "[law]", EVERY_ALGORITHM) {
  // On a standing clock what remains only falls, for every observer.
  auto const config = limited_to<TestType>::config(100'000, 1h);
  auto const watch = [&](auto& limiter, auto const& allow, auto const& peek) {
    std::atomic<std::size_t> wrong{0};
    on_threads(6, [&](std::size_t thread) {
      std::uint64_t before = 100'000;
      for (std::size_t call = 0; call < calls(20'000); ++call) {
        decision const d = thread < 3 ? allow(limiter) : peek(limiter);
        bool const right = d.remaining <= before && d.limit == 100'000 &&
                           (d.outcome == verdict::admitted) == (d.retry_after == 0ns) &&
                           (d.remaining == 100'000) == (d.reset_after == 0ns);
        if (!right) ++wrong;
        before = d.remaining;
      }
    });
    CHECK(wrong == 0);
  };
  {
    penstock::limiter<TestType, penstock::no_key, penstock::manual_clock> limiter(config);
    watch(limiter, [](auto& l) { return l.allow(); }, [](auto& l) { return l.peek(penstock::cost{0}); });
  }
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    penstock::limiter<TestType, std::uint64_t, penstock::manual_clock, Store> limiter(config, {.max_keys = 8});
    watch(
        limiter, [](auto& l) { return l.allow(std::uint64_t{3}); },
        [](auto& l) { return l.peek(std::uint64_t{3}, penstock::cost{0}); });
  });
}
