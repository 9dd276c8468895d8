#pragma once
// A circuit breaker around the store: while it fails, calls are answered at once instead of each waiting in vain.
//
// M. Nygard, Release It!. It opens after so many failures in a row, or when half of enough calls in a window failed;
// stays open for a while that doubles, with jitter, so that instances do not come back together; then lets one call
// through as a probe. A probe that never reports is no trap: after its time another is let through.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>

namespace penstock::inline v0_1::redis {

struct breaker_options {
  unsigned failures_in_a_row = 5;
  unsigned window_calls = 20;  ///< at least so many calls in `window`, half of them failed
  std::chrono::nanoseconds window = std::chrono::seconds{10};
  std::chrono::nanoseconds first_pause = std::chrono::milliseconds{250};
  std::chrono::nanoseconds longest_pause = std::chrono::seconds{5};
  std::chrono::nanoseconds probe_time = std::chrono::milliseconds{250};  ///< how long a probe may keep others out
};

/// Concurrency: all members are safe from any thread. While it is open, enter() is two atomic loads.
class breaker {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Leave to call the store, to be reported on once. One of an earlier generation (the breaker opened or closed
  /// meanwhile) is reported in vain.
  struct permit {
    explicit operator bool() const noexcept { return given; }
    bool given = false;
    bool probe = false;
    std::uint64_t generation = 0;
  };

  explicit breaker(breaker_options const& o = breaker_options{}) : options_(o), random_(std::random_device{}()) {}

  permit enter(time_point now) noexcept {
    std::uint64_t const generation = generation_.load(std::memory_order_acquire);
    std::int64_t until = next_probe_.load(std::memory_order_acquire);
    if (until == closed) return {true, false, generation};
    std::int64_t const t = count(now);
    if (t < until) return {};
    if (!next_probe_.compare_exchange_strong(until, t + options_.probe_time.count(), std::memory_order_acq_rel))
      return {};
    return {true, true, generation};
  }

  void succeeded(permit const& p, time_point now) { report(p, true, now); }
  void failed(permit const& p, time_point now) { report(p, false, now); }

  bool is_open() const noexcept { return next_probe_.load(std::memory_order_acquire) != closed; }
  std::uint64_t times_opened() const noexcept { return opened_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t closed = INT64_MIN;
  static std::int64_t count(time_point t) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  }

  void report(permit const& p, bool success, time_point now) {
    std::lock_guard const guard(mutex_);
    if (!p || p.generation != generation_.load(std::memory_order_relaxed)) return;
    if (is_open()) {
      if (!p.probe) return;
      success ? close() : open(now);
      return;
    }
    std::int64_t const t = count(now);
    if (t - window_began_ >= options_.window.count()) {
      window_began_ = t;
      calls_ = failures_ = 0;
    }
    ++calls_;
    if (success) {
      in_a_row_ = 0;
      return;
    }
    ++failures_;
    ++in_a_row_;
    if (in_a_row_ >= options_.failures_in_a_row || (calls_ >= options_.window_calls && 2 * failures_ >= calls_))
      open(now);
  }

  void close() {
    pause_ = {};
    in_a_row_ = calls_ = failures_ = 0;
    next_probe_.store(closed, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_acq_rel);
  }

  void open(time_point now) {
    pause_ = pause_ == pause_.zero() ? options_.first_pause : std::min(options_.longest_pause, 2 * pause_);
    std::uniform_int_distribution<std::int64_t> jitter(pause_.count() / 2, pause_.count());  // half of it at least
    next_probe_.store(count(now) + jitter(random_), std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    opened_.fetch_add(1, std::memory_order_relaxed);
  }

  breaker_options options_;
  std::atomic<std::int64_t> next_probe_{closed};  ///< when open: when the next probe is due
  std::atomic<std::uint64_t> generation_{0}, opened_{0};
  std::mutex mutex_;
  std::minstd_rand random_;
  std::chrono::nanoseconds pause_{};
  std::int64_t window_began_ = 0;
  unsigned calls_ = 0, failures_ = 0, in_a_row_ = 0;
};

}  // namespace penstock::inline v0_1::redis
