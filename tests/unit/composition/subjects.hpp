#pragma once
// What is composed: each of the six algorithms, ten units in ten seconds, in each store.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/store/unsynchronized.hpp>

#include "support/catch.hpp"
#include "unit/random.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace composition {

using namespace penstock;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr rate ten = per(10, 10s);

/// A reading of a manual clock.
constexpr manual_clock::time_point on(nanoseconds t) { return manual_clock::time_point{t}; }

template <class Key = no_key>
using bucket = token_bucket<Key, manual_clock>;
template <class Key = no_key>
using window = fixed_window<Key, manual_clock>;

template <class A>
using by_name = limiter<A, std::string, manual_clock>;

/// check(std::type_identity<A>) for each of the six. Each can be made of a rate alone.
void for_each_algorithm(auto check) {
  auto const with = [&]<class A>(std::type_identity<A> algorithm) {
    INFO(A::name);
    check(algorithm);
  };
  with(std::type_identity<algorithm::token_bucket>{});
  with(std::type_identity<algorithm::leaky_meter>{});
  with(std::type_identity<algorithm::leaky_queue>{});
  with(std::type_identity<algorithm::fixed_window>{});
  with(std::type_identity<algorithm::sliding_counter>{});
  with(std::type_identity<algorithm::sliding_log>{});
}

/// check(std::type_identity<Store>, name) for each store of keys.
void for_each_store(auto check) {
  check(std::type_identity<default_store>{}, "the default");
  check(std::type_identity<store::sharded_map>{}, "sharded_map");
  check(std::type_identity<store::unsynchronized>{}, "unsynchronized");
}

/// The sentence with which construct() is refused.
std::string complaint_of(auto construct) {
  try {
    construct();
  } catch (config_error const& e) {
    return e.what();
  }
  return "none";
}
inline bool contains(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

/// Do two limiters answer alike for this key, now and later, whatever the cost?
bool alike(auto const& one, auto const& other, auto const& key, nanoseconds now, nanoseconds step = 500ms) {
  for (nanoseconds t = now; t < now + 40 * step; t += step)
    for (std::uint64_t const units : {0U, 1U, 2U, 5U, 10U, 11U})
      if (one.peek_at(on(t), key, cost{units}) != other.peek_at(on(t), key, cost{units})) return false;
  return true;
}

}  // namespace composition
