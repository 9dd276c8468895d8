// Only the table can be written to bytes; a limiter over another store says so.
// expect: only a store::table can be written to a snapshot

#include <penstock/limiters.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#ifdef PENSTOCK_WRONG
using store_type = penstock::store::sharded_map;
#else
using store_type = penstock::store::table;
#endif

std::vector<std::byte> saved() {
  penstock::token_bucket<std::string, std::chrono::steady_clock, store_type> limiter(
      {.refill = penstock::per_second(5)});
  return limiter.snapshot();
}
