// store/bounded_map.hpp and its memory: what it takes, and what happens when there is none left.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/store/unsynchronized.hpp>

#include "../allocations.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <type_traits>
#include <vector>

using namespace penstock;
using namespace std::chrono_literals;

TEST_CASE("a call that finds no memory changes nothing, wherever it runs out, and may be made again") {
  auto const check = []<class Store>(std::type_identity<Store>, std::size_t max_keys) {
    manual_clock clock{1h};
    limiter<algorithm::sliding_log, int, manual_clock, Store> limit({per_second(5)}, {.max_keys = max_keys}, clock);
    auto const seen = [&] {
      std::vector<decision> all;
      for (int key = 0; key < 100; ++key) all.push_back(limit.peek(key, cost{0}));
      return all;
    };
    int ran_out = 0, changed = 0;
    for (int i = 0; i < 200; ++i) {  // newcomers, and keys that are held
      if (i % 50 == 0) clock.advance(10s);
      std::vector<decision> before = seen();
      auto const ask = [&] { static_cast<void>(limit.allow(i % 100)); };
      for (std::size_t more = 0; throws_at_allocation(more, ask); ++more) {
        ++ran_out;
        if (seen() != before) ++changed;
      }
      clock.advance(1ms);
    }
    CHECK(ran_out > 100);
    CHECK(changed == 0);
  };
  for (std::size_t const max_keys : {200U, 70U, 8U}) {
    INFO("max_keys " << max_keys);
    check(std::type_identity<store::sharded_map>{}, max_keys);
    check(std::type_identity<store::unsynchronized>{}, max_keys);
  }
}

TEST_CASE("a newcomer that is refused is not kept") {
  auto const check = []<class Store>(std::type_identity<Store>) {
    limiter<algorithm::token_bucket, int, manual_clock, Store> limit({per_second(5)});
    CHECK(allocations_of([&] {
            for (int key = 0; key < 100; ++key) static_cast<void>(limit.allow(key, cost{6}));
          }).made == 0);
    CHECK(allocations_of([&] { static_cast<void>(limit.allow(0)); }).made != 0);
  };
  check(std::type_identity<store::sharded_map>{});
  check(std::type_identity<store::unsynchronized>{});
}
