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
