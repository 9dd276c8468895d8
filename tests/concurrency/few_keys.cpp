// The same few keys from eight threads in as little room as there can be: hits, inserts, drops, refunds, forgets.

#include "threads.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

using namespace concurrency;

namespace {

constexpr std::uint64_t size = 50;

template <class A, class Store>
using limiter_over = penstock::limiter<A, std::uint64_t, penstock::manual_clock, Store>;

}  // namespace

TEMPLATE_TEST_CASE("on a standing clock no key is admitted more than its limit and what was given back", "[few]",
                   EVERY_ALGORITHM) {
  for (std::size_t const room : {1U, 2U, 3U, 8U})
    for (std::uint64_t const keys : {3U, 12U, 60U})
      with_keyed_stores<TestType>([&]<class Store>(char const* name) {
        INFO(keys << " keys in room for " << room << " over " << name);
        limiter_over<TestType, Store> limiter(limited_to<TestType>::config(size, 1h), {.max_keys = room});
        struct account {
          std::atomic<std::uint64_t> admitted{0}, given_back{0};
        };
        std::vector<account> accounts(keys);
        on_threads(8, [&](std::size_t thread) {
          dice d(thread + 100 * keys + room);
          for (std::size_t call = 0; call < calls(4'000); ++call) {
            std::uint64_t const key = d.below(keys), cost = 1 + d.below(3);
            switch (d.below(8)) {
              case 0: {
                auto ticket = limiter.take(on(0ns), key, penstock::cost{cost});
                if (!ticket) break;
                // Before it is given back: what others get for it, they get after.
                accounts[key].admitted += cost;
                accounts[key].given_back += cost;
                limiter.undo(std::move(ticket));
                break;
              }
              case 1:
                static_cast<void>(limiter.peek(key, penstock::cost{cost}));
                break;
              default:
                if (limiter.allow(key, penstock::cost{cost})) accounts[key].admitted += cost;
            }
          }
        });
        for (std::uint64_t key = 0; key < keys; ++key) {
          std::uint64_t const net = accounts[key].admitted - accounts[key].given_back;
          std::uint64_t const remaining = limiter.peek(key, penstock::cost{0}).remaining;
          INFO("key " << key);
          CHECK(net + remaining <= size);
          // (A queue's promise can no longer be given back when another came after it.)
          if (limiter.stats().evictions == 0 && !std::is_same_v<TestType, penstock::algorithm::leaky_queue>)
            CHECK(net + remaining == size);
        }
        CHECK(limiter.stats().keys <= limiter.stats().capacity);
      });
}

TEMPLATE_TEST_CASE("without drops, what remains is the limit less all that was admitted and not given back", "[few]",
                   EVERY_ALGORITHM) {
  constexpr std::uint64_t keys = 5, much = 100'000;
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    limiter_over<TestType, Store> limiter(limited_to<TestType>::config(much, 1h), {.max_keys = 1'000});
    std::array<std::atomic<std::uint64_t>, keys> used{};
    on_threads(8, [&](std::size_t thread) {
      dice d(thread);
      for (std::size_t call = 0; call < calls(20'000); ++call) {
        std::uint64_t const key = d.below(keys), cost = 1 + d.below(3);
        switch (d.below(4)) {
          case 0:
            if constexpr (!std::is_same_v<TestType, penstock::algorithm::leaky_queue>) {
              if (auto ticket = limiter.take(on(0ns), key, penstock::cost{cost})) limiter.undo(std::move(ticket));
              break;
            }
            [[fallthrough]];
          case 1:
            limiter.charge(key, penstock::cost{1});
            ++used[key];
            break;
          default:
            if (limiter.allow(key, penstock::cost{cost})) used[key] += cost;
        }
      }
    });
    for (std::uint64_t key = 0; key < keys; ++key) {
      INFO("key " << key);
      CHECK(limiter.peek(key, penstock::cost{0}).remaining == much - std::min(much, used[key].load()));
    }
    CHECK(limiter.stats().evictions == 0);
  });
}

TEMPLATE_TEST_CASE("keys that recover, leave and return under a moving clock stay within their bound", "[few]",
                   EVERY_ALGORITHM) {
  // 50 come back in a millisecond; the clock moves by 50 of them.
  constexpr std::uint64_t keys = 12;
  constexpr std::size_t ticks = calls(5'000);
  for (std::size_t const room : {1U, 3U, 8U})
    with_keyed_stores<TestType>([&]<class Store>(char const* name) {
      INFO("room for " << room << " over " << name);
      penstock::manual_clock clock;
      limiter_over<TestType, Store> limiter(limited_to<TestType>::config(size, 1ms), {.max_keys = room}, clock);
      std::array<std::atomic<std::uint64_t>, keys> admitted{};
      std::atomic<bool> over{false};
      on_threads(8, [&](std::size_t thread) {
        dice d(thread);
        if (thread == 0) {
          for (std::size_t tick = 0; tick < ticks; ++tick) {
            clock.advance(10us);
            std::uint64_t const key = d.below(keys);
            if (limiter.allow(key)) ++admitted[key];
            if (tick % 64 == 0) limiter.forget(keys + 1);
          }
          over = true;
          return;
        }
        while (!over) {
          std::uint64_t const key = d.below(keys);
          // Refunds of what was never charged, or long ago, give nothing.
          if (d.below(16) == 0) limiter.refund_at(on(-1h), key, penstock::cost{0});
          if (limiter.allow(key)) ++admitted[key];
        }
      });
      for (auto const& one : admitted) CHECK(one <= size * (ticks / 100 + 2));
      CHECK(std::accumulate(admitted.begin(), admitted.end(), std::uint64_t{0}) > size);
    });
}

TEMPLATE_TEST_CASE("keys forgotten by some while others ask are never refused for long, and never more than forgotten",
                   "[few]", EVERY_ALGORITHM) {
  constexpr std::uint64_t keys = 4;
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    limiter_over<TestType, Store> limiter(limited_to<TestType>::config(size, 1h), {.max_keys = 100});
    std::array<std::atomic<std::uint64_t>, keys> admitted{}, forgotten{};
    on_threads(8, [&](std::size_t thread) {
      dice d(thread);
      for (std::size_t call = 0; call < calls(20'000); ++call) {
        std::uint64_t const key = d.below(keys);
        if (d.below(32) == 0) {
          ++forgotten[key];
          limiter.forget(key);
        } else if (limiter.allow(key)) {
          ++admitted[key];
        }
      }
    });
    for (std::uint64_t key = 0; key < keys; ++key) {
      CHECK(admitted[key] <= size * (forgotten[key] + 1));
      limiter.forget(key);
      CHECK(limiter.peek(key, penstock::cost{0}).remaining == size);
    }
    CHECK(limiter.stats().keys == 0);
  });
}

TEMPLATE_TEST_CASE("places that change hands all the time: nobody's count is touched by another key's calls", "[few]",
                   EVERY_ALGORITHM) {
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    limiter_over<TestType, Store> limiter(limited_to<TestType>::config(size, 1h), {.max_keys = 1});
    std::size_t const threads = std::min<std::size_t>(8, limiter.stats().capacity);
    std::atomic<std::size_t> wrong{0};
    on_threads(threads, [&](std::size_t thread) {
      // Each has a key of its own, and there is room for all of them: but a key that was forgotten leaves its place.
      std::uint64_t const mine = thread;
      for (std::size_t call = 0; call < calls(60'000); ++call) {
        bool const right = limiter.allow(mine).remaining == size - 1 &&
                           limiter.allow(mine, penstock::cost{2}).remaining == size - 3 &&
                           limiter.peek(mine, penstock::cost{0}).remaining == size - 3;
        if (!right) ++wrong;
        limiter.forget(mine);
      }
    });
    CHECK(wrong == 0);
    CHECK(limiter.stats().keys == 0);
    CHECK(limiter.stats().evictions == 0);
  });
}

TEST_CASE("a caller that sleeps before its swap does not charge a key that took the slot and was forgotten since",
          "[few]") {
  penstock::algorithm::token_bucket const bucket({.refill = {size, 1h}});
  penstock::store::table::of<penstock::algorithm::token_bucket, std::uint64_t> table({.max_keys = 1});
  auto const sleeper = table.locate({1, 0}), newcomer = table.locate({2, 0});
  penstock::instant const now{};
  auto const take = [&](auto& s) { return penstock::detail::admit(bucket, s, now, penstock::cost{1}); };
  auto const forget = [](auto& s) { return s = {}, true; };
  CHECK_FALSE(table.change(bucket, sleeper, now, take));
  table.amend(bucket, sleeper, forget);
  // What is done inside the step, others do between the sleeper's look and its swap.
  auto const tried = table.attempt(sleeper, [&](auto& s) {
    CHECK_FALSE(table.change(bucket, newcomer, now, take));
    table.amend(bucket, newcomer, forget);
    return take(s);
  });
  CHECK(tried.what == penstock::attempt::elsewhere);
  CHECK_FALSE(table.look(bucket, newcomer, now, [](auto const& s) { CHECK(s.word == 0); }));
}

TEMPLATE_TEST_CASE("a flood from eight threads that drops a key at its limit leaves it refused", "[few]",
                   EVERY_ALGORITHM) {
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    limiter_over<TestType, Store> limiter(limited_to<TestType>::config(3, 1h), {.max_keys = 50});
    std::uint64_t const held = 1'000'000'000;
    for (int i = 0; i < 3; ++i) CHECK(limiter.allow(held));
    std::atomic<std::size_t> admitted_again{0}, over_limit{0};
    on_threads(8, [&](std::size_t thread) {
      for (std::size_t call = 0; call < calls(20'000); ++call) {
        std::uint64_t const mine = thread * 10'000'000 + call;
        int admitted = 0;
        for (int i = 0; i < 4; ++i) admitted += limiter.allow(mine) ? 1 : 0;
        if (admitted > 3) ++over_limit;
        if (call % 4 == 0) limiter.charge(mine, penstock::cost{6});  // in debt: even a key at its limit must make room
        if (call % 16 == 0 && limiter.allow(held)) ++admitted_again;
      }
    });
    CHECK(admitted_again == 0);
    CHECK(over_limit == 0);
    CHECK(limiter.stats().evictions > 0);
  });
}

TEMPLATE_TEST_CASE("a store that refuses newcomers counts them exactly under threads, too", "[few]", EVERY_ALGORITHM) {
  with_keyed_stores<TestType>([&]<class Store>(char const* name) {
    INFO("over " << name);
    limiter_over<TestType, Store> limiter(limited_to<TestType>::config(3, 1h),
                                          {.max_keys = 8, .full = penstock::when_full::refuse});
    std::size_t const capacity = limiter.stats().capacity;
    std::atomic<std::uint64_t> admitted{0}, refused{0};
    on_threads(8, [&](std::size_t thread) {
      dice d(thread);
      for (std::size_t call = 0; call < calls(20'000); ++call) {
        decision const answer = limiter.allow(d.below(200));
        if (answer)
          ++admitted;
        else
          ++refused;
      }
    });
    CHECK(admitted <= 3 * capacity);
    CHECK(limiter.stats().newcomers_refused > 0);
    CHECK(limiter.stats().newcomers_refused <= refused);
    CHECK(limiter.stats().evictions == 0);
    CHECK(limiter.stats().keys <= capacity);
  });
}
