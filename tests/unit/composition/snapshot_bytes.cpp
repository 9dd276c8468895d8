// What stands in a snapshot's bytes: all that binds, also when keys are dropped while it is made.

#include "subjects.hpp"

#include <cstddef>
#include <functional>

using namespace composition;

namespace {

constexpr std::chrono::system_clock::time_point noon{std::chrono::hours{500'000}};

/// A bucket that lets others call while a snapshot is being made, whenever a state is written to it.
struct interrupted : algorithm::token_bucket {
  using token_bucket::token_bucket;
  static inline std::function<void()> meanwhile;

  state relative(state const& s, instant now) const {
    if (meanwhile) meanwhile();
    return token_bucket::relative(s, now);
  }
};

}  // namespace

TEST_CASE("a key that is dropped while a snapshot is made is in it, as a key or in what newcomers start from") {
  int writes = 1;
  for (int at = 0; at < writes; ++at) {
    INFO("dropped before write " << at);
    manual_clock clock{1h};
    limiter<interrupted, int, manual_clock> saved({.refill = per_hour(1), .burst = 1'000}, {.max_keys = 1}, clock),
        restored({.refill = per_hour(1), .burst = 1'000}, {.max_keys = 1}, clock);
    REQUIRE(saved.stats().capacity == 8);
    auto const due = [](int key) { return key == 0 ? 100U : 50U; };
    for (int key = 0; key < 8; ++key) CHECK(saved.allow(key, cost{1'000 - due(key)}));
    writes = 0;
    interrupted::meanwhile = [&] {
      if (writes++ != at) return;
      CHECK(saved.allow(100));  // instead of key 0, which has the most room left
      saved.forget(100);        // so that newcomers find room
    };
    auto const bytes = saved.snapshot(noon);
    interrupted::meanwhile = {};
    CHECK(saved.stats().evictions == 1);

    restored.restore(bytes, noon);
    for (int key = 0; key < 8; ++key) {
      INFO("key " << key);
      CHECK(restored.peek(key, cost{0}).remaining <= due(key));
    }
  }
  CHECK(writes > 8);
}
