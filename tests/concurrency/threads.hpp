#pragma once
// Threads that begin together, do a counted number of things, and end: nothing here waits for time to pass.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/store/unsynchronized.hpp>

#include "support/catch.hpp"
#include "support/slow.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace concurrency {

using namespace std::chrono_literals;
using penstock::decision;
using penstock::verdict;
using std::chrono::nanoseconds;

/// A thread's calls: fewer where each takes twenty times as long.
inline constexpr std::size_t calls(std::size_t usual) { return support::slow ? usual / 20 : usual; }

inline penstock::manual_clock::time_point on(nanoseconds t) { return penstock::manual_clock::time_point{t}; }

/// Runs body(thread number) on so many threads, none of which begins before all are there.
template <class Body>
void on_threads(std::size_t threads, Body const& body) {
  std::atomic<std::size_t> there{0};
  std::vector<std::thread> all;
  for (std::size_t number = 0; number < threads; ++number)
    all.emplace_back([&, number] {
      ++there;
      while (there.load() != threads) std::this_thread::yield();
      body(number);
    });
  for (auto& thread : all) thread.join();
}

/// Small, fast and each thread's own.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed * 0x9e37'79b9'7f4a'7c15 + 1) {}
  std::uint64_t below(std::uint64_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % n;
  }

 private:
  std::uint64_t state_;
};

// ---- each algorithm, with an allowance of `size` that comes back over `period` --------------------------------------

template <class A>
struct limited_to;

template <>
struct limited_to<penstock::algorithm::token_bucket> {
  static auto config(std::uint64_t size, nanoseconds period) {
    return penstock::algorithm::token_bucket::config{.refill = {size, period}, .burst = size};
  }
};
template <>
struct limited_to<penstock::algorithm::leaky_meter> {
  static auto config(std::uint64_t size, nanoseconds period) {
    return penstock::algorithm::leaky_meter::config{.drain = {size, period}, .capacity = size};
  }
};
template <>
struct limited_to<penstock::algorithm::leaky_queue> {
  static auto config(std::uint64_t size, nanoseconds period) {
    return penstock::algorithm::leaky_queue::config{.drain = {size, period}, .capacity = size};
  }
};
template <>
struct limited_to<penstock::algorithm::fixed_window> {
  static auto config(std::uint64_t size, nanoseconds period) {
    return penstock::algorithm::fixed_window::config{.limit = {size, period}};
  }
};
template <>
struct limited_to<penstock::algorithm::sliding_log> {
  static auto config(std::uint64_t size, nanoseconds period) {
    return penstock::algorithm::sliding_log::config{.limit = {size, period}};
  }
};
template <>
struct limited_to<penstock::algorithm::sliding_counter> {
  static auto config(std::uint64_t size, nanoseconds period) {
    return penstock::algorithm::sliding_counter::config{.limit = {size, period}};
  }
};
template <class... Rules>
struct limited_to<penstock::algorithm::all_of<Rules...>> {
  static auto config(std::uint64_t size, nanoseconds period) {
    return typename penstock::algorithm::all_of<Rules...>::config{limited_to<Rules>::config(size, period)...};
  }
};

using bucket_and_window =
    penstock::algorithm::all_of<penstock::algorithm::token_bucket, penstock::algorithm::fixed_window>;

#define EVERY_ALGORITHM                                                                                      \
  penstock::algorithm::fixed_window, penstock::algorithm::sliding_log, penstock::algorithm::sliding_counter, \
      penstock::algorithm::token_bucket, penstock::algorithm::leaky_meter, penstock::algorithm::leaky_queue, \
      concurrency::bucket_and_window

/// Runs hold.template operator()<Store>(name) for each thread-safe store of keys that can hold A's states.
template <class A, class Hold>
void with_keyed_stores(Hold const& hold) {
  if constexpr (penstock::store::fits_table<typename A::state>)
    hold.template operator()<penstock::store::table>("table");
  hold.template operator()<penstock::store::sharded_map>("sharded_map");
}

}  // namespace concurrency
