// The parts that need no server: breaker, deny cache, leases, shares of a configuration, what constructors refuse.

#include <support/catch.hpp>

#include <penstock/penstock.hpp>
#include <penstock/redis.hpp>
#include <penstock/redis/cluster.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

TEST_CASE(
    "an open breaker pauses between half and all of 250 ms, doubling up to 5 s, and lets one probe in at a time") {
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
  std::vector<redis::breaker::permit> old(5);
  for (auto& permit : old) permit = breaker.enter(start);
  for (int i = 0; i < 5; ++i) breaker.failed(breaker.enter(start), start);
  time_point const later = start + 1s;
  REQUIRE(breaker.enter(later));
  CHECK_FALSE(breaker.enter(later + 249ms));
  auto const second = breaker.enter(later + 250ms);
  REQUIRE(second);
  breaker.succeeded(old[0], later + 251ms);
  CHECK(breaker.is_open());
  breaker.succeeded(second, later + 252ms);
  CHECK_FALSE(breaker.is_open());
  for (auto const& permit : old) breaker.failed(permit, later + 253ms);  // five in a row, of before it opened
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
  cache.given_back(key, start + 80s, 20ms);
  CHECK_FALSE(cache.find(key, cost{1}, start + 80s));
  decision never = refusal(10s);
  never.outcome = verdict::never;
  cache.refused(key, cost{11}, never, start);
  CHECK_FALSE(cache.find(key, cost{11}, start));
}

TEST_CASE("the deny cache is bounded: newcomers push out what ends first") {
  redis::deny_cache cache(64);
  for (std::uint64_t k = 0; k < 10'000; ++k)
    cache.refused({k, k * 0x9e37'79b9'7f4a'7c15}, cost{1}, refusal(1s + std::chrono::nanoseconds{k}), start);
  int held = 0;
  for (std::uint64_t k = 0; k < 10'000; ++k)
    held += cache.find({k, k * 0x9e37'79b9'7f4a'7c15}, cost{1}, start).has_value();
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
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a{b}", {.refill = "1/s"_rate}, redis::fail_open{}); }),
             Catch::Matchers::Contains("limit_id"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "", {.refill = "1/s"_rate}, redis::fail_open{}); }),
             Catch::Matchers::Contains("limit_id"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a", {.refill = "1/s"_rate}, redis::local{1.5}); }),
             Catch::Matchers::Contains("fraction"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a", {.refill = "1/s"_rate}, redis::fail_closed{0s}); }),
             Catch::Matchers::Contains("retry_after"));
  CHECK_THAT(refused_sentence([&] { bucket(nobody, "a", {.refill = "1/s"_rate, .burst = 0}, redis::fail_open{}); }),
             Catch::Matchers::Contains("burst"));
  CHECK_THAT(refused_sentence(
                 [&] { bucket(nobody, "a", {.refill = "5/s"_rate}, redis::fail_open{}, {.lease = {.units = 6}}); }),
             Catch::Matchers::Contains("units is 6"));
  CHECK_THAT(
      refused_sentence([&] { log(nobody, "a", {.limit = "5/s"_rate}, redis::fail_open{}, {.lease = {.units = 2}}); }),
      Catch::Matchers::Contains("only buckets and meters"));
  CHECK_THAT(refused_sentence([&] { log(nobody, "a", {.limit = "100001/s"_rate}, redis::fail_open{}); }),
             Catch::Matchers::Contains("100000"));
  CHECK_THAT(refused_sentence([&] { window(nobody, "a", {.limit = penstock::per(1, 1500ns)}, redis::fail_open{}); }),
             Catch::Matchers::Contains("whole microseconds"));
}

TEST_CASE("options out of range are refused, in a sentence") {
  silent nobody;
  auto const sentence = [&](redis::options const& o) {
    return refused_sentence(
        [&] { redis::token_bucket<std::string, silent>(nobody, "a", {.refill = "5/s"_rate}, redis::fail_open{}, o); });
  };
  CHECK(sentence({.timeout = 0ns}) == "redis::options.timeout is 0 ns; allowed: from 1 ns to 1152921504606846976 ns");
  CHECK_THAT(sentence({.timeout = -1ms}), Catch::Matchers::Contains("timeout is -1000000 ns"));
  CHECK_THAT(sentence({.timeout = std::chrono::nanoseconds::max()}), Catch::Matchers::Contains("timeout is 9223"));
  CHECK_THAT(sentence({.deny_cache = SIZE_MAX / 2}), Catch::Matchers::Contains("deny_cache is"));
  CHECK_THAT(sentence({.lease = {.units = 2, .valid_for = 0ns}}), Catch::Matchers::Contains("valid_for is 0 ns"));
  CHECK_THAT(sentence({.lease = {.units = 2, .max_keys = 0}}), Catch::Matchers::Contains("max_keys is 0"));
  CHECK_THAT(sentence({.lease = {.units = 2, .max_keys = SIZE_MAX}}), Catch::Matchers::Contains("max_keys is"));
  CHECK(sentence({.lease = {.units = 0, .valid_for = 0ns}}) == "accepted");
  CHECK_THAT(sentence({.breaker = {.failures_in_a_row = 0}}), Catch::Matchers::Contains("failures_in_a_row is 0"));
  CHECK_THAT(sentence({.breaker = {.window_calls = 0}}), Catch::Matchers::Contains("window_calls is 0"));
  CHECK_THAT(sentence({.breaker = {.window = 0ns}}), Catch::Matchers::Contains("window is 0 ns"));
  CHECK_THAT(sentence({.breaker = {.first_pause = 0ns}}), Catch::Matchers::Contains("first_pause is 0 ns"));
  CHECK_THAT(sentence({.breaker = {.longest_pause = 1ms}}), Catch::Matchers::Contains("from 250000000 ns"));
  CHECK_THAT(sentence({.breaker = {.probe_time = 25h}}), Catch::Matchers::Contains("probe_time is"));
}

TEST_CASE("a Redis stack refuses layers that one call for all cannot serve, in a sentence") {
  silent here, elsewhere;
  using bucket = redis::token_bucket<std::string, silent>;
  auto const make = [](silent& at, std::string id, redis::options const& o = {}) {
    return std::make_unique<bucket>(at, std::move(id), bucket::config{.refill = "5/s"_rate}, redis::fail_open{}, o);
  };
  auto const a = make(here, "a"), also_a = make(here, "a"), b = make(here, "b"), far = make(elsewhere, "c"),
             lends = make(here, "d", {.lease = {.units = 2}});
  auto const self = [](std::string const& who) { return std::string_view(who); };
  auto const layer = [&](char const* name, auto const& limiter) { return penstock::layer(name, *limiter, self); };
  CHECK_THAT(refused_sentence([&] { (void)redis::stack(layer("x", a), layer("y", b).shadow()); }),
             Catch::Matchers::Contains("\"b\" on trial") && Catch::Matchers::Contains("sequential() has them"));
  CHECK_THAT(refused_sentence([&] { (void)redis::stack(layer("x", a), layer("y", lends)); }),
             Catch::Matchers::Contains("\"d\", which lends"));
  CHECK_THAT(refused_sentence([&] { (void)redis::stack(layer("x", a), layer("y", far)); }),
             Catch::Matchers::Contains("one transport"));
  CHECK_THAT(refused_sentence([&] { (void)redis::stack(layer("x", a), layer("y", also_a)); }),
             Catch::Matchers::Contains("\"a\" twice"));
  CHECK_THAT(refused_sentence([&] { (void)redis::stack(layer("x", a), layer("x", b)); }),
             Catch::Matchers::Contains("\"x\" twice"));
  CHECK(refused_sentence([&] { (void)redis::stack(layer("x", a), layer("y", b)); }) == "accepted");
  CHECK(refused_sentence([&] {
          (void)redis::sequential(layer("x", a), layer("y", lends), layer("z", far).shadow());
        }) == "accepted");
}

TEST_CASE("numbers of the script's words: exactly as sent, and nothing that is none") {
  redis::detail::words w;
  std::uint64_t const sent[] = {0, 1, 1'796'064'424'286'420, (std::uint64_t{1} << 53) - 1};
  w.add("t").add_numbers(sent).add(std::uint64_t{7});
  auto const words = w.views();
  REQUIRE(words.size() == 3);
  CHECK(words[2] == "7");
  CHECK(words[1].substr(8, 8) == std::string_view("\0\0\0\0\0\0\xf0\x3f", 8));  // 1.0, the least byte first
  CHECK(redis::detail::numbers_in(words[1]) == std::vector<std::int64_t>(std::begin(sent), std::end(sent)));
  auto const bytes = [](double d) {
    std::string b(8, '\0');
    std::memcpy(b.data(), &d, 8);
    if constexpr (std::endian::native == std::endian::big) std::reverse(b.begin(), b.end());
    return b;
  };
  CHECK(redis::detail::numbers_in(bytes(-3)) == std::vector<std::int64_t>{-3});
  for (double const none : {0.5, 0x1p53, -0x1p53, 1e300, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    INFO(none);
    CHECK_FALSE(redis::detail::numbers_in(bytes(none)));
  }
  CHECK_FALSE(redis::detail::numbers_in("1234567"));
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
  CHECK(redis::classify("ERR Error running script (call to f_1): @user_script:9: OOM command not allowed") ==
        redis::errc::unavailable);
  for (std::string_view const busy :
       {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script.",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "CLUSTERDOWN Hash slot not served", "TRYAGAIN Multiple keys request during rehashing of slot",
        "MISCONF Redis is configured to save RDB snapshots", "NOREPLICAS Not enough good replicas to write.",
        "READONLY You can't write against a read only replica."}) {
    INFO(busy);
    CHECK(redis::classify(busy) == redis::errc::unavailable);
    CHECK(redis::counts_against_store(redis::classify(busy)));
  }
  CHECK(redis::classify("CROSSSLOT Keys in request don't hash to the same slot") == redis::errc::cross_slot);
  CHECK(redis::classify("ERR max number of clients reached") == redis::errc::unavailable);
  CHECK(redis::classify("MOVED 3999 127.0.0.1:6381") == redis::errc::moved);
  CHECK(redis::classify("NOAUTH Authentication required.") == redis::errc::misconfigured);
  CHECK_FALSE(redis::counts_against_store(redis::errc::misconfigured));
  CHECK(redis::classify("NOPERM this user has no permissions") == redis::errc::misconfigured);
  CHECK(redis::classify("ERR user_script:7: BADSTATE penstock1:{k}a script: 1, on @user_script:7.") ==
        redis::errc::bad_state);
  for (std::string const name :
       {"ROOM7", "BUSY", "OOM", "READONLY", "LOADING", "MOVED"}) {  // an identity may be called so
    std::string const text = "BADSTATE penstock1:{" + name + "}a script: 1, on @user_script:7.";
    CHECK(redis::classify("ERR user_script:7: " + text) == redis::errc::bad_state);
    CHECK(redis::classify("ERR unknown command 'EVALSHA', with args beginning with: '1' 'penstock1:{" + name + "}a'") ==
          redis::errc::misconfigured);
    CHECK(redis::classify(text) == redis::errc::bad_state);
  }
  CHECK(redis::classify("NOSCRIPT No matching script.") == redis::errc::no_script);
  CHECK(redis::counts_against_store(redis::errc::timeout));
  CHECK_FALSE(redis::counts_against_store(redis::errc::bad_state));
  for (int e = 1; e <= static_cast<int>(redis::errc::breaker_open); ++e)
    CHECK(redis::make_error_code(static_cast<redis::errc>(e)).message() != "unknown");
}

namespace {

/// A node of a cluster that may be down.
struct node_at {
  std::string host;
  std::uint16_t port = 1;
};
std::map<std::string, int> asked_at;
struct node_pool {
  node_at at;
  node_pool(node_at const& where, int) : at(where) {}
  redis::result<redis::reply> execute(redis::command const&, redis::deadline) {
    ++asked_at[at.host];
    if (at.host == "out") return redis::reply{redis::reply::kind::error, {}, "CLUSTERDOWN The cluster is down"};
    return redis::reply{redis::reply::kind::text, {}, "ok"};
  }
  redis::result<redis::reply> execute_asking(redis::command const& c, redis::deadline until) {
    return execute(c, until);
  }
};

/// Admits everything, and throws when it is asked for the `fatal`-th time.
struct throwing {
  int fatal = 0;
  std::vector<std::string> verbs{};
  redis::result<redis::reply> execute(redis::command const& c, redis::deadline) {
    verbs.emplace_back(c.words[4]);
    if (static_cast<int>(verbs.size()) == fatal) throw std::runtime_error("no transport");
    double const numbers[] = {1.7e15, 1.7e15, 0};  // the server's time, and a bucket's instant
    std::string text(sizeof numbers, 0);
    std::memcpy(text.data(), numbers, sizeof numbers);
    return redis::reply{redis::reply::kind::text, {}, text};
  }
};

}  // namespace

TEST_CASE("a node that says that it is down is not asked again first") {
  asked_at.clear();
  redis::cluster<node_pool, node_at, int> nodes({{"out"}, {"up"}, {"up too"}});
  std::string_view const words[] = {"GET", "{a}"};
  for (int i = 0; i < 50; ++i) (void)nodes.execute({words, "{a}", 0}, std::chrono::steady_clock::now() + 1h);
  CHECK(asked_at["out"] == 1);
  CHECK(asked_at["up"] == 49);
}

TEST_CASE("what was taken one after another is given back when a transport throws") {
  throwing transport{.fatal = 2};
  redis::token_bucket<std::string, throwing> first(transport, "a", {.refill = "5/s"_rate}, redis::fail_open{}),
      second(transport, "b", {.refill = "5/s"_rate}, redis::fail_open{});
  auto const self = [](std::string const& who) { return std::string_view(who); };
  auto limits = redis::sequential(penstock::layer("a", first, self), penstock::layer("b", second, self));
  CHECK_THROWS_AS(limits.allow(std::string("k")), std::runtime_error);
  REQUIRE(transport.verbs.size() == 3);
  CHECK(transport.verbs[2] == "r");
  transport.fatal = 0;
  CHECK(limits.allow(std::string("k"), cost{3}).layers()[1].units.units == 3);
}

TEST_CASE("a cost above the limit never fits, and one above the share waits for the server") {
  silent nobody;
  redis::token_bucket<std::string, silent> closed(nobody, "a", {.refill = "20/s"_rate}, redis::fail_closed{3s}),
      shared(nobody, "b", {.refill = "20/s"_rate}, redis::local{0.25});
  CHECK(closed.allow("k", cost{20}).retry_after == 3s);
  CHECK(closed.allow("k", cost{21}).outcome == verdict::never);
  CHECK(shared.allow("k", cost{20}).outcome == verdict::limited);
  CHECK(shared.peek("k", cost{20}).retry_after == 1s);
  CHECK(shared.allow("k", cost{5}));
  CHECK(shared.allow("k", cost{21}).outcome == verdict::never);
}

TEST_CASE("every limit has shares, however fast") {
  silent nobody;
  for (double const share : {0.15, 0.3, 0.7})
    for (std::uint64_t const count : {300'000'000u, 500'000'000u, 999'999'937u, 1'000'000'000u}) {
      using local_bucket = redis::token_bucket<std::string, silent>;
      try {
        local_bucket const whole(nobody, "a", {penstock::per_second(count)}, redis::fail_open{});
      } catch (penstock::config_error const&) {
        continue;  // it cannot be kept itself
      }
      CHECK(refused_sentence([&] {
              local_bucket const part(nobody, "a", {penstock::per_second(count)}, redis::local{share});
            }) == "accepted");
    }
}
