// config_error.hpp and every constructor that throws it: the sentence names the field, the value and the range.

#include <penstock/algorithm/fixed_window.hpp>
#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/store/unsynchronized.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

std::string complaint_of(auto construct) {
  try {
    construct();
  } catch (config_error const& e) {
    return e.what();
  }
  return "none";
}

template <class A>
std::string complaint_about(typename A::config const& c) {
  return complaint_of([&] { A{c}; });
}

constexpr auto most = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t longest_word = std::uint64_t{1} << 60;

/// The algorithm, its name, the name of its rate, and the largest count that its rate may have.
void for_each_algorithm(auto check) {
  check(std::type_identity<algorithm::fixed_window>{}, "fixed_window.limit", std::uint64_t{1} << 62);
  check(std::type_identity<algorithm::sliding_log>{}, "sliding_log.limit", std::uint64_t{1} << 62);
  check(std::type_identity<algorithm::sliding_counter>{}, "sliding_counter.limit", (std::uint64_t{1} << 31) - 1);
  check(std::type_identity<algorithm::token_bucket>{}, "token_bucket.refill", most);
  check(std::type_identity<algorithm::leaky_meter>{}, "leaky_meter.drain", most);
  check(std::type_identity<algorithm::leaky_queue>{}, "leaky_queue.drain", most);
}

}  // namespace

TEST_CASE("a rate of zero, or over no time, or over negative time, or over more than 100 years, is refused by all") {
  for_each_algorithm([]<class A>(std::type_identity<A>, std::string const& field, std::uint64_t largest) {
    INFO(field);
    std::string const counts = "; allowed: a count from 1 to " + std::to_string(largest);
    std::string const periods = "; allowed: a period from 1 ns to 3155760000000000000 ns (100 years)";
    CHECK(complaint_about<A>({per_second(0)}) == field + " is 0 per 1000000000 ns" + counts);
    CHECK(complaint_about<A>({rate{}}) == field + " is 0 per 0 ns" + counts);
    CHECK(complaint_about<A>({per(5, 0s)}) == field + " is 5 per 0 ns" + periods);
    CHECK(complaint_about<A>({per(5, -1ns)}) == field + " is 5 per -1 ns" + periods);
    CHECK(complaint_about<A>({per(5, -60s)}) == field + " is 5 per -60000000000 ns" + periods);
    CHECK(complaint_about<A>({per(5, std::chrono::nanoseconds::min())}) ==
          field + " is 5 per -9223372036854775808 ns" + periods);
    CHECK(complaint_about<A>({per(5, longest_period + 1ns)}) == field + " is 5 per 3155760000000000001 ns" + periods);
    CHECK(complaint_about<A>({per(5, std::chrono::nanoseconds::max())}) ==
          field + " is 5 per 9223372036854775807 ns" + periods);
    CHECK(complaint_about<A>({per_second(5)}) == "none");
  });
}

TEST_CASE("a window may last 100 years and count as far as its header says") {
  CHECK(complaint_about<algorithm::fixed_window>({per(5, longest_period)}) == "none");
  CHECK(complaint_about<algorithm::sliding_log>({per(5, longest_period)}) == "none");
  CHECK(complaint_about<algorithm::sliding_counter>({per(5, longest_period)}) == "none");

  constexpr std::uint64_t largest = std::uint64_t{1} << 62;
  CHECK(complaint_about<algorithm::fixed_window>({per_second(largest)}) == "none");
  CHECK(complaint_about<algorithm::sliding_log>({per_second(largest)}) == "none");
  CHECK(complaint_about<algorithm::sliding_counter>({per_second(2'147'483'647)}) == "none");
  CHECK(complaint_about<algorithm::fixed_window>({per_second(largest + 1)}) ==
        "fixed_window.limit is 4611686018427387905 per 1000000000 ns; allowed: a count from 1 to 4611686018427387904");
  CHECK(complaint_about<algorithm::sliding_log>({per_second(most)}) ==
        "sliding_log.limit is 18446744073709551615 per 1000000000 ns; allowed: a count from 1 to 4611686018427387904");
  CHECK(complaint_about<algorithm::sliding_counter>({per_second(2'147'483'648)}) ==
        "sliding_counter.limit is 2147483648 per 1000000000 ns; allowed: a count from 1 to 2147483647");
}

TEST_CASE("a burst or a capacity of zero, or one that takes too long to recover, is refused") {
  CHECK(complaint_about<algorithm::token_bucket>({.refill = per_second(1), .burst = 0}) ==
        "token_bucket.burst is 0; allowed: from 1 to 1152921504");
  CHECK(complaint_about<algorithm::leaky_meter>({.drain = per_second(1), .capacity = 0}) ==
        "leaky_meter.capacity is 0; allowed: from 1 to 1152921504");
  CHECK(complaint_about<algorithm::leaky_queue>({.drain = per_second(1), .capacity = 0}) ==
        "leaky_queue.capacity is 0; allowed: from 1 to 1152921504");
  CHECK(complaint_about<algorithm::token_bucket>({.refill = per_second(1), .burst = 1'152'921'504}) == "none");
  CHECK(complaint_about<algorithm::token_bucket>({.refill = per_second(1), .burst = 1'152'921'505}) ==
        "token_bucket.burst is 1152921505; allowed: from 1 to 1152921504");
  CHECK(complaint_about<algorithm::leaky_meter>({.drain = per_second(1), .capacity = most}) ==
        "leaky_meter.capacity is 18446744073709551615; allowed: from 1 to 1152921504");
  CHECK(complaint_about<algorithm::leaky_queue>({.drain = per(1, 1ns), .capacity = longest_word + 1}) ==
        "leaky_queue.capacity is 1152921504606846977; allowed: from 1 to 1152921504606846976");
  CHECK(complaint_about<algorithm::leaky_queue>({.drain = per(1, 1ns), .capacity = longest_word}) == "none");
}

TEST_CASE("a rate whose interval is too long for a word, or cannot be kept to 0.2 %, is refused") {
  CHECK(complaint_about<algorithm::token_bucket>({.refill = per(1, longest_period)}) ==
        "token_bucket.refill is 1 per 3155760000000000000 ns; allowed: at least one unit in 1152921504606846976 ns");
  CHECK(complaint_about<algorithm::leaky_meter>({.drain = per(1, 13'343 * 24h)}) == "none");  // 36 years
  CHECK(complaint_about<algorithm::leaky_queue>({.drain = per_second(370'000'000)})
            .starts_with(
                "leaky_queue.drain is 370000000 per 1000000000 ns; allowed: a rate whose interval is within 0.2 %"));
  CHECK(complaint_about<algorithm::token_bucket>({.refill = per_second(most), .burst = 1})
            .starts_with("token_bucket.refill is 18446744073709551615 per"));
}

TEST_CASE("refill_within names the burst that leaves no room") {
  CHECK(complaint_of([] { return refill_within(per(100, 10s), 100); }) ==
        "refill_within.burst is 100; allowed: at least 1 and below the ceiling's count, 100");
  CHECK(complaint_of([] { return refill_within(per(100, 10s), 0); }).starts_with("refill_within.burst is 0;"));
  CHECK(complaint_of([] { return refill_within(per(100, 10s), 101); }).starts_with("refill_within.burst is 101;"));
  CHECK(complaint_of([] {
          return refill_within(per(100, 0s), 40);
        }).starts_with("refill_within.ceiling is 100 per 0 ns;"));
  CHECK(complaint_of([] { return refill_within(per(0, 10s), 40); }).starts_with("refill_within.ceiling is 0 per"));
}

TEST_CASE("a store for no keys, or for more than could ever be, is refused whatever the store") {
  auto const with = []<class Store>(std::type_identity<Store>, std::size_t keys) {
    return complaint_of(
        [&] { token_bucket<std::string, manual_clock, Store>({.refill = per_second(5)}, {.max_keys = keys}); });
  };
  // As many as machine words can count when each takes up to 128 bytes.
  constexpr std::size_t most_keys = std::numeric_limits<std::size_t>::max();
  std::string const range = "; allowed: from 1 to " + std::to_string(most_keys / 128);
  auto const check = [&]<class Store>(std::type_identity<Store> store) {
    CHECK(with(store, 0) == "store_options.max_keys is 0" + range);
    CHECK(with(store, most_keys) == "store_options.max_keys is " + std::to_string(most_keys) + range);
    CHECK(with(store, 1) == "none");
  };
  check(std::type_identity<default_store>{});
  check(std::type_identity<store::table>{});
  check(std::type_identity<store::sharded_map>{});
  check(std::type_identity<store::unsynchronized>{});
}

TEST_CASE("a limiter passes on what its algorithm refuses") {
  CHECK(complaint_of([] { token_bucket<>({.refill = per_second(1), .burst = 0}); }) ==
        "token_bucket.burst is 0; allowed: from 1 to 1152921504");
  CHECK(
      complaint_of([] { fixed_window<int>({.limit = per(1, 0s)}); }).starts_with("fixed_window.limit is 1 per 0 ns;"));
  CHECK(complaint_of([] {
          sliding_log<std::string, manual_clock>({.limit = per_second(0)}, manual_clock{});
        }).starts_with("sliding_log.limit is 0 per"));
}

TEST_CASE("a configuration error is an invalid argument") {
  CHECK(std::is_base_of_v<std::invalid_argument, config_error>);
  CHECK_THROWS_AS(token_bucket<>({.refill = per_second(0)}), std::invalid_argument);
}
