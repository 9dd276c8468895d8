#pragma once
// The concept of a clock: anything that says when.

#include <penstock/time.hpp>

#include <chrono>
#include <concepts>

namespace penstock::inline v0_1 {

namespace detail {
template <class T>
inline constexpr bool is_time_point = false;
template <class Clock, class Duration>
inline constexpr bool is_time_point<std::chrono::time_point<Clock, Duration>> = true;
}  // namespace detail

/// Every std::chrono clock is one, and so is an object with state, such as manual_clock. A limiter keeps a copy.
/// Prefer a steady clock: a wall clock may be set back, and then waits are only bounded, not exact.
/// Concurrency: now() is called from every thread that asks the limiter.
template <class C>
concept clock_source =
    std::copy_constructible<C> && detail::is_time_point<typename C::time_point> && requires(C const& clock) {
      { clock.now() } -> std::same_as<typename C::time_point>;
    };

}  // namespace penstock::inline v0_1
