#pragma once
// A clock that is moved by hand: for tests, simulations and replays.

#include <penstock/clock.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace penstock::inline v0_1 {

/// Copies share one hand, so the clock given to a limiter can be moved afterwards.
/// Concurrency: all members may be called from any thread.
class manual_clock {
 public:
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<manual_clock, duration>;
  static constexpr bool is_steady = false;

  manual_clock() : manual_clock(time_point{}) {}
  explicit manual_clock(time_point start)
      : hand_(std::make_shared<std::atomic<rep>>(start.time_since_epoch().count())) {}
  explicit manual_clock(duration since_epoch) : manual_clock(time_point{since_epoch}) {}

  time_point now() const noexcept { return time_point{duration{hand_->load()}}; }
  void set(time_point t) noexcept { hand_->store(t.time_since_epoch().count()); }
  void set(duration since_epoch) noexcept { hand_->store(since_epoch.count()); }
  void advance(duration by) noexcept { hand_->fetch_add(by.count()); }

 private:
  std::shared_ptr<std::atomic<rep>> hand_;
};

}  // namespace penstock::inline v0_1
