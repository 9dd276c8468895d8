// plan.hpp: what limiter::reconfigure leaves behind. (What it means to keys: composition/reconfigure.cpp.)

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

/// A window that tells how deep in the stack it is destroyed.
struct traced : algorithm::fixed_window {
  using fixed_window::fixed_window;
  traced(algorithm::fixed_window const& a) : fixed_window(a) {}
  traced(traced const&) = default;
  traced successor(config const& c) const { return {fixed_window::successor(c)}; }

  static inline std::uintptr_t highest, lowest;
  ~traced() {
    auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    highest = std::max(highest, here);
    lowest = std::min(lowest, here);
  }
};

}  // namespace

TEST_CASE("a limiter that had any number of configurations needs no deeper stack to end") {
  auto limit = std::make_unique<limiter<traced, no_key, manual_clock>>(traced::config{per_second(1)});
  for (std::uint64_t count = 2; count <= 1'000; ++count) limit->reconfigure({per_second(count)});
  traced::highest = 0;
  traced::lowest = UINTPTR_MAX;
  limit.reset();
  CHECK(traced::highest - traced::lowest < 4'096);
}

TEST_CASE("the newest reading counts for the longest plan too, however far before the clock's epoch it is") {
  detail::plan<algorithm::sliding_counter> const plan(algorithm::sliding_counter({.limit = per(1, longest_period)}));
  constexpr auto days = [](int n) { return instant{std::chrono::days{n}}; };
  plan.remember(days(-40'000));
  CHECK(plan.newest(days(-40'000) - 1s) == days(-40'000));
  CHECK(plan.newest(days(-45'000)) == days(-40'000));
  CHECK(plan.newest(days(-30'000)) == days(-30'000));

  // A lag of more than the tolerance is a clock that was set back. Of the longest plan there is none so long.
  detail::plan<algorithm::fixed_window> const shorter(algorithm::fixed_window({.limit = per_minute(1)}));
  shorter.remember(days(-40'000));
  CHECK(shorter.newest(days(-40'000) - 60s) == days(-40'000));
  CHECK(shorter.newest(days(-40'000) - 60s - 1ns) == days(-40'000) - 60s - 1ns);
  shorter.remember(latest);
  CHECK(shorter.newest(earliest) == earliest);
}
