#pragma once
// What a limiter in Redis can be told beyond its limit.

#include <penstock/config_error.hpp>
#include <penstock/redis/breaker.hpp>
#include <penstock/redis/check_time.hpp>
#include <penstock/redis/lease_book.hpp>
#include <penstock/store.hpp>

#include <chrono>
#include <cstddef>
#include <limits>

namespace penstock::inline v0_1::redis {

struct options {
  std::chrono::nanoseconds timeout = std::chrono::milliseconds{20};  ///< of a call, waiting for a connection included
  std::size_t deny_cache = 4096;                                     ///< refused keys remembered; 0: none
  lease_options lease{};                                             ///< buckets and meters only
  breaker_options breaker{};
  store_options local_keys{};  ///< of the in-process limiter of local{}
};

namespace detail {

/// As many keys as a limiter may remember something about.
inline constexpr std::size_t most_remembered = std::size_t{1} << 24;

inline options const& checked(options const& o) {
  using std::chrono::nanoseconds;
  constexpr nanoseconds least{1}, day = std::chrono::hours{24};
  check_time({"redis::options", "timeout"}, o.timeout, least, longest_time);
  penstock::detail::check_range({"redis::options", "deny_cache"}, o.deny_cache, 0, most_remembered);
  if (o.lease.units != 0) {
    check_time({"redis::lease_options", "valid_for"}, o.lease.valid_for, least, longest_time);
    penstock::detail::check_range({"redis::lease_options", "max_keys"}, o.lease.max_keys, 1, most_remembered);
  }
  auto const& b = o.breaker;
  constexpr unsigned most = std::numeric_limits<unsigned>::max() / 2;
  penstock::detail::check_range({"redis::breaker_options", "failures_in_a_row"}, b.failures_in_a_row, 1, most);
  penstock::detail::check_range({"redis::breaker_options", "window_calls"}, b.window_calls, 1, most);
  check_time({"redis::breaker_options", "window"}, b.window, least, day);
  check_time({"redis::breaker_options", "first_pause"}, b.first_pause, least, day);
  check_time({"redis::breaker_options", "longest_pause"}, b.longest_pause, b.first_pause, day);
  check_time({"redis::breaker_options", "probe_time"}, b.probe_time, least, day);
  return o;
}

}  // namespace detail
}  // namespace penstock::inline v0_1::redis
