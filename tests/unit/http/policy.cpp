// http/policy.hpp: names that a field can carry, and the policies of limiters.

#include <penstock/algorithm/all_of.hpp>
#include <penstock/http/policy.hpp>
#include <penstock/limiters.hpp>
#include <penstock/stack.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <sstream>
#include <string>
#include <string_view>

using namespace penstock;
using namespace std::chrono_literals;

TEST_CASE("a policy name that a structured field cannot carry throws config_error") {
  using namespace std::string_literals;
  for (std::string const& name : {"a\nb"s, "a\rb"s, "a\r\nX-Evil: 1"s, "tab\t"s, "\x7f"s, "na\xc3\xafve"s, "\0"s, "\x80"s}) {
    CHECK_THROWS_AS(http::policy_name(name), config_error);
    CHECK_THROWS_AS((http::policy{name, 1, 1s}), config_error);
    CHECK_THROWS_AS((http::policy{.name = name, .quota = 1, .window = 1s}), config_error);
    http::policy assigned{"fine", 1, 1s};
    CHECK_THROWS_AS(assigned.name = name, config_error);
    CHECK(assigned.name == "fine");
  }
  CHECK_THROWS_WITH(http::policy_name("a\n"), "policy.name is a text with a character that a header field cannot carry; allowed: the characters 0x20 to 0x7E");
}

TEST_CASE("a policy name reads as a string") {
  http::policy const p{"a\"b\\c", 100, 60s};
  std::string const copied = p.name;
  std::string const constructed(p.name);
  std::string_view const viewed = p.name;
  CHECK(copied == "a\"b\\c");
  CHECK(constructed == copied);
  CHECK(viewed == copied);
  CHECK(p.name == "a\"b\\c");
  CHECK("a\"b\\c" == p.name);
  CHECK(p.name == copied);
  CHECK(p.name == viewed);
  CHECK(p.name != http::policy_name("other"));
  CHECK(p.name == http::policy_name(std::string_view("a\"b\\c")));
  std::ostringstream out;
  out << p.name;
  CHECK(out.str() == copied);
  CHECK(http::policy{}.name == "");
  CHECK(http::policy{}.unit == "requests");
}

TEST_CASE("a limiter gives its own policy: size and window, or size over rate") {
  auto const check = [](auto const& limiter, std::uint64_t quota, std::chrono::nanoseconds window) {
    http::policy const p = http::policy_of("mine", limiter);
    CHECK(p.name == "mine");
    CHECK(p.quota == quota);
    CHECK(p.window == window);
    CHECK(p.unit == "requests");
    CHECK(p.partition_key.empty());
  };
  check(fixed_window<>({.limit = per_minute(100)}), 100, 60s);
  check(fixed_window<>({.limit = per_minute(100), .starts = window_start::first_request}), 100, 60s);
  check(fixed_window<std::string>({.limit = per(10, 15min)}), 10, 15min);
  check(sliding_log<>({.limit = per_hour(5)}), 5, 1h);
  check(sliding_counter<>({.limit = per_minute(100)}), 100, 60s);
  check(token_bucket<>({.refill = per_second(5), .burst = 20}), 20, 4s);
  check(token_bucket<std::string>({.refill = per_second(3), .burst = 10}), 10, 3'333'333'334ns);  // rounded up
  check(leaky_meter<>({.drain = per_minute(100), .capacity = 100}), 100, 60s);
  check(leaky_queue<>({.drain = per_second(10), .capacity = 1}), 1, 100ms);
}

TEST_CASE("each rule of an all_of gives its own policy") {
  limiter<algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>, std::string> const api(
      {{.refill = per_second(10), .burst = 20}, {.limit = per_day(10'000)}});
  http::policy const burst = http::policy_of<0>("burst", api), daily = http::policy_of<1>("daily", api);
  CHECK(burst.quota == 20);
  CHECK(burst.window == 2s);
  CHECK(daily.quota == 10'000);
  CHECK(daily.window == 24h);
}

TEST_CASE("a limiter's policy needs a name that a field can carry") {
  CHECK_THROWS_AS(http::policy_of("evil\r\n", fixed_window<>({.limit = per_minute(100)})), config_error);
}

TEST_CASE("a stack gives the policies of its layers, but for trials and limits of several rules") {
  token_bucket<std::string> user({.refill = per_second(5), .burst = 20});
  fixed_window<> site({.limit = per_minute(1000)}), trial({.limit = per_minute(10)});
  limiter<algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>> both({{.refill = per_second(10)}, {.limit = per_day(10'000)}});
  auto const name = [](std::string_view request) { return request; };
  auto const limits = stack(layer("user", user, name), layer("trial", trial).shadow(), layer("both", both), layer("site", site));
  auto const policies = http::policies_of(limits);
  REQUIRE(policies.size() == 2);
  CHECK(policies[0].name == "user");
  CHECK(policies[0].quota == 20);
  CHECK(policies[0].window == 4s);
  CHECK(policies[1].name == "site");
  CHECK(policies[1].quota == 1000);
  auto const evil = stack(layer("a\nb", site));
  CHECK_THROWS_AS(http::policies_of(evil), config_error);
}

TEST_CASE("a window is as many seconds as were asked for, though the interval was rounded up") {
  for (std::uint64_t const count : {17u, 19u, 23u, 33u, 99u, 12'345u}) {
    CHECK(http::policy_of("x", token_bucket<>({.refill = per_second(count)})).window == 1s);
    CHECK(http::policy_of("x", token_bucket<>({.refill = per_minute(count)})).window == 60s);
  }
  // 15 at 14 a second take more than a second, and so does what is exact.
  CHECK(http::policy_of("x", token_bucket<>({.refill = per_second(14), .burst = 15})).window > 1s);
  CHECK(http::policy_of("x", token_bucket<>({.refill = per(1, 1'001ms), .burst = 1})).window == 1'001ms);
}
