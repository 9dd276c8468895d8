// The parts that need no server: breaker, deny cache, leases, shares of a configuration, what constructors refuse.

#include <support/catch.hpp>

#include <penstock/penstock.hpp>
#include <penstock/redis.hpp>

#include <string>

namespace {

using namespace std::chrono_literals;
using namespace penstock::literals;
using penstock::cost;
using penstock::decision;
using penstock::verdict;
namespace algorithm = penstock::algorithm;
namespace redis = penstock::redis;

using time_point = std::chrono::steady_clock::time_point;
time_point const start = time_point{} + 1h;

decision refusal(std::chrono::nanoseconds retry_after) {
  decision d;
  d.outcome = verdict::limited;
  d.limit = 10;
  d.retry_after = d.reset_after = d.next_after = retry_after;
  return d;
}

/// Answers nothing, and counts how often it was asked.
struct silent {
  int asked = 0;
  redis::result<redis::reply> execute(redis::command const&, redis::deadline) {
    ++asked;
    return redis::io_error{redis::errc::refused, redis::sent::unknown};
  }
};

std::string refused_sentence(auto make) {
  try {
    make();
  } catch (penstock::config_error const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the breaker opens after five failures in a row, and not if one in between succeeds") {
  redis::breaker breaker;
  for (int i = 0; i < 4; ++i) breaker.failed(breaker.enter(start), start);
  breaker.succeeded(breaker.enter(start), start);
  for (int i = 0; i < 4; ++i) breaker.failed(breaker.enter(start), start);
  CHECK_FALSE(breaker.is_open());
  breaker.failed(breaker.enter(start), start);
  CHECK(breaker.is_open());
  CHECK_FALSE(breaker.enter(start));
}

TEST_CASE("the breaker opens when half of twenty calls in ten seconds failed") {
  redis::breaker breaker;
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(breaker.is_open());
    breaker.succeeded(breaker.enter(start), start);
    breaker.failed(breaker.enter(start), start);
  }
  CHECK(breaker.is_open());
  redis::breaker slow;
  for (int i = 0; i < 40; ++i) {
    time_point const now = start + i * 1s;  // ten calls a window
    i % 2 ? slow.failed(slow.enter(now), now) : slow.succeeded(slow.enter(now), now);
  }
  CHECK_FALSE(slow.is_open());
}

TEST_CASE("an open breaker pauses between half and all of 250 ms, doubling up to 5 s, and lets one probe in at a time") {
  redis::breaker breaker;
  for (int i = 0; i < 5; ++i) breaker.failed(breaker.enter(start), start);
  time_point now = start;
  std::chrono::nanoseconds pause = 250ms;
  for (int round = 0; round < 8; ++round) {
    CHECK_FALSE(breaker.enter(now + pause / 2 - 1ns));
    now += pause;
    auto const probe = breaker.enter(now);
    REQUIRE(probe);
    CHECK(probe.probe);
    CHECK_FALSE(breaker.enter(now));
    breaker.failed(probe, now);
    pause = std::min<std::chrono::nanoseconds>(2 * pause, 5s);
  }
  now += 5s;
  breaker.succeeded(breaker.enter(now), now);
  CHECK_FALSE(breaker.is_open());
  CHECK(breaker.enter(now));
}

TEST_CASE("a probe that never reports: after its time another is let in; late reports are not heard") {
  redis::breaker breaker;
  auto const old = breaker.enter(start);
  for (int i = 0; i < 5; ++i) breaker.failed(breaker.enter(start), start);
  time_point const later = start + 1s;
  REQUIRE(breaker.enter(later));
  CHECK_FALSE(breaker.enter(later + 249ms));
  auto const second = breaker.enter(later + 250ms);
  REQUIRE(second);
  breaker.succeeded(old, later + 251ms);
  CHECK(breaker.is_open());
  breaker.succeeded(second, later + 252ms);
  CHECK_FALSE(breaker.is_open());
}

TEST_CASE("the deny cache refuses as large a cost until retry_after, and never longer than a minute") {
  redis::deny_cache cache(16);
  penstock::fingerprint const key{1, 2}, other{3, 4};
  cache.refused(key, cost{3}, refusal(10s), start);
  CHECK_FALSE(cache.find(key, cost{2}, start));
  CHECK_FALSE(cache.find(other, cost{3}, start));
  auto const d = cache.find(key, cost{5}, start + 4s);
  REQUIRE(d);
  CHECK(d->retry_after == 6s);
  CHECK(d->outcome == verdict::limited);
  CHECK(cache.find(key, cost{3}, start + 10s - 1ns));
  CHECK_FALSE(cache.find(key, cost{3}, start + 10s));
  cache.refused(key, cost{1}, refusal(2h), start + 10s);
  CHECK(cache.find(key, cost{1}, start + 70s - 1ns));
  CHECK_FALSE(cache.find(key, cost{1}, start + 70s));
  cache.refused(key, cost{1}, refusal(10s), start + 80s);
  cache.erase(key);
  CHECK_FALSE(cache.find(key, cost{1}, start + 80s));
  decision never = refusal(10s);
  never.outcome = verdict::never;
  cache.refused(key, cost{11}, never, start);
  CHECK_FALSE(cache.find(key, cost{11}, start));
}

TEST_CASE("the deny cache is bounded: newcomers push out what ends first") {
  redis::deny_cache cache(64);
  for (std::uint64_t k = 0; k < 10'000; ++k) cache.refused({k, k * 0x9e37'79b9'7f4a'7c15}, cost{1}, refusal(1s + std::chrono::nanoseconds{k}), start);
  int held = 0;
  for (std::uint64_t k = 0; k < 10'000; ++k) held += cache.find({k, k * 0x9e37'79b9'7f4a'7c15}, cost{1}, start).has_value();
  CHECK(held == 64);
}

TEST_CASE("a share of a configuration: slower by the fraction, at least one unit, windows keep their length") {
  using redis::detail::scaled;
  auto const bucket = scaled(algorithm::token_bucket::config{.refill = "100/min"_rate, .burst = 20}, 0.25);
  CHECK(bucket.refill == penstock::per(100, 4min));
  CHECK(bucket.burst == 5);
  CHECK(scaled(algorithm::leaky_queue::config{.drain = "1/s"_rate, .capacity = 2}, 0.1).capacity == 1);
  CHECK(scaled(algorithm::fixed_window::config{.limit = "10/min"_rate}, 0.25).limit == penstock::per_minute(2));
  CHECK(scaled(algorithm::sliding_log::config{.limit = "10/min"_rate}, 1.0).limit == penstock::per_minute(10));
}

TEST_CASE("constructors refuse what cannot be, in a sentence") {
  silent nobody;
  using bucket = redis::token_bucket<std::string, silent>;
  using log = redis::sliding_log<std::string, silent>;
  using window = redis::fixed_window<std::string, silent>;
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a{b}", {.refill = "1/s"_rate}, redis::fail_open{}); }), Catch::Matchers::Contains("limit_id"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "", {.refill = "1/s"_rate}, redis::fail_open{}); }), Catch::Matchers::Contains("limit_id"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a", {.refill = "1/s"_rate}, redis::local{1.5}); }), Catch::Matchers::Contains("fraction"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a", {.refill = "1/s"_rate}, redis::fail_closed{0s}); }), Catch::Matchers::Contains("retry_after"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a", {.refill = "1/s"_rate, .burst = 0}, redis::fail_open{}); }), Catch::Matchers::Contains("burst"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a", {.refill = "5/s"_rate}, redis::fail_open{}, {.lease = {.units = 6}}); }), Catch::Matchers::Contains("units is 6"));
  CHECK_THAT(refused_sentence([&] { log(nobody, "a", {.limit = "5/s"_rate}, redis::fail_open{}, {.lease = {.units = 2}}); }), Catch::Matchers::Contains("only buckets and meters"));
  CHECK_THAT(refused_sentence([&] { log(nobody, "a", {.limit = "100001/s"_rate}, redis::fail_open{}); }), Catch::Matchers::Contains("100000"));
  CHECK_THAT(refused_sentence([&] { window(nobody, "a", {.limit = penstock::per(1, 1500ns)}, redis::fail_open{}); }), Catch::Matchers::Contains("whole microseconds"));
}

TEST_CASE("what may have run is not sent again; each policy answers in its own way, and says why") {
  silent nobody;
  redis::token_bucket<std::string, silent> open(nobody, "a", {.refill = "1/s"_rate, .burst = 4}, redis::fail_open{});
  auto const d = open.allow("k");
  CHECK(nobody.asked == 1);
  CHECK(d.outcome == verdict::admitted);
  CHECK(d.from == redis::origin::policy);
  CHECK(d.error == redis::errc::refused);
  CHECK(d.limit == 4);
  redis::token_bucket<std::string, silent> local(nobody, "a", {.refill = "4/h"_rate}, redis::local{0.5});
  int admitted = 0;
  for (int i = 0; i < 10; ++i) admitted += static_cast<bool>(local.allow("k"));
  CHECK(admitted == 2);
  CHECK(local.allow("k").from == redis::origin::local);
  CHECK(local.allow("k").error == redis::errc::breaker_open);
  auto ticket = local.take({}, "other", cost{2});
  CHECK(ticket);
  local.undo(std::move(ticket));
  CHECK(local.allow("other", cost{2}));
}

TEST_CASE("the words of the server, with and without the ERR that older ones put before them") {
  CHECK(redis::classify("OOM command not allowed when used memory > 'maxmemory'.") == redis::errc::unavailable);
  CHECK(redis::classify("ERR Error running script (call to f_1): @user_script:9: OOM command not allowed") == redis::errc::unavailable);
  CHECK(redis::classify("NOPERM this user has no permissions") == redis::errc::misconfigured);
  CHECK(redis::classify("ERR user_script:7: BADSTATE penstock1:{k}a script: 1, on @user_script:7.") == redis::errc::bad_state);
  CHECK(redis::classify("NOSCRIPT No matching script.") == redis::errc::no_script);
  CHECK(redis::counts_against_store(redis::errc::timeout));
  CHECK_FALSE(redis::counts_against_store(redis::errc::bad_state));
  for (int e = 1; e <= static_cast<int>(redis::errc::breaker_open); ++e) CHECK(redis::make_error_code(static_cast<redis::errc>(e)).message() != "unknown");
}
