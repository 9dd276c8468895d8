#pragma once
// What a limiter in Redis can be told beyond its limit.

#include <penstock/redis/breaker.hpp>
#include <penstock/redis/lease_book.hpp>
#include <penstock/store.hpp>

#include <chrono>
#include <cstddef>

namespace penstock::inline v0_1::redis {

struct options {
  std::chrono::nanoseconds timeout = std::chrono::milliseconds{20};  ///< of a call, waiting for a connection included
  std::size_t deny_cache = 4096;                                     ///< refused keys remembered; 0: none
  lease_options lease{};                                             ///< buckets and meters only
  breaker_options breaker{};
  store_options local_keys{};  ///< of the in-process limiter of local{}
};

}  // namespace penstock::inline v0_1::redis
