#pragma once
// Blocking until admitted: first come, first served, by reservation.
//
// A caller takes its units at once and sleeps until they have come, so callers are served in the order of their calls,
// nobody polls, and there is no thread of ours. A caller that leaves early gives its units back to those still to come;
// those who hold a place keep the instant they were promised. Buckets, meters and queues only.

#include <penstock/lease.hpp>

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

namespace penstock::inline v0_1 {

/// Sleeps on the calling thread. Any callable of the same form can stand for it: sleeper(duration), and with a
/// stop_token sleeper(duration, token), which says whether the whole time passed.
struct blocking_sleeper {
  void operator()(std::chrono::nanoseconds wait) const { std::this_thread::sleep_for(wait); }
#if defined(__cpp_lib_jthread)
  bool operator()(std::chrono::nanoseconds wait, std::stop_token token) const {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, token, wait, [] { return false; });
    return !token.stop_requested();
  }
#endif
};

/// Waits at most until the deadline for c units of this key. Admitted: they are the caller's now. Refused, at once:
/// they cannot come in time, or the line is longer than can be promised (see limiter::allow_within). What the sleeper
/// throws is passed on, and the place in the line given back.
template <class L, std::invocable<std::chrono::nanoseconds> Sleeper = blocking_sleeper>
decision acquire(L& limiter, typename L::key_argument key, cost c, typename L::time_point deadline,
                 Sleeper sleep = {}) {
  auto const now = limiter.clock().now();
  instant const from = to_instant(now), until = to_instant(deadline);
  auto const max_delay = until > from ? detail::nanoseconds_of(detail::between(from, until)) : duration{};
  auto place = lease<L>::within_at(limiter, now, key, max_delay, c);
  decision const d = place.answer();
  if (d && d.delay > std::chrono::nanoseconds::zero()) sleep(d.delay);
  place.commit();
  return d;
}
template <class L, std::invocable<std::chrono::nanoseconds> Sleeper = blocking_sleeper>
decision acquire(L& limiter, cost c, typename L::time_point deadline, Sleeper sleep = {}) {
  return acquire(limiter, no_key{}, c, deadline, std::move(sleep));
}

#if defined(__cpp_lib_jthread)
/// Waits for c units of this key until the token is stopped; then the place in the line is given on and the call
/// refused.
template <class L, std::invocable<std::chrono::nanoseconds, std::stop_token> Sleeper = blocking_sleeper>
decision acquire(L& limiter, typename L::key_argument key, cost c, std::stop_token token, Sleeper sleep = {}) {
  auto place = reserve_within(limiter, key, std::chrono::nanoseconds::max(), c);
  decision d = place.answer();
  if (d && d.delay > std::chrono::nanoseconds::zero() && !sleep(d.delay, token)) {
    place.cancel();
    auto const now = limiter.clock().now();
    d = limiter.peek(now, key, cost{0});
    d.outcome = verdict::limited;
    d.retry_after = limiter.peek(now, key, c).retry_after;
  }
  place.commit();
  return d;
}
template <class L, std::invocable<std::chrono::nanoseconds, std::stop_token> Sleeper = blocking_sleeper>
decision acquire(L& limiter, cost c, std::stop_token token, Sleeper sleep = {}) {
  return acquire(limiter, no_key{}, c, std::move(token), std::move(sleep));
}
#endif

}  // namespace penstock::inline v0_1
