// A map is no store: it cannot change a state atomically.
// expect: state_store

#include <penstock/limiters.hpp>

#include <chrono>
#include <string>
#include <unordered_map>

#ifdef PENSTOCK_WRONG
using store_type = std::unordered_map<std::string, int>;
#else
using store_type = penstock::default_store;
#endif

penstock::token_bucket<std::string, std::chrono::steady_clock, store_type> limiter({.refill = penstock::per_second(5)});
