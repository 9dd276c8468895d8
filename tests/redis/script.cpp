// The script on a real server, with its real clock: what is written, what is not, and for how long.

#include "support/packed.hpp"
#include "support/server.hpp"

#include <support/catch.hpp>

#include <penstock/penstock.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace penstock::literals;
using penstock::cost;
using penstock::verdict;
namespace algorithm = penstock::algorithm;
namespace redis = penstock::redis;
using test::number, test::packed, test::say, test::shared_pool;

redis::options const patient{.timeout = 5s, .deny_cache = 0};

template <class A>
using limiter = redis::limiter<A, std::string, redis::hiredis_pool>;

/// What a refusal must leave alone.
struct traces {
  std::string dump;  ///< of the value
  std::int64_t expires = 0;
  std::int64_t changes = 0;  ///< of the data set, all keys
  friend bool operator==(traces const&, traces const&) = default;
};
traces traces_of(std::string const& key) {
  auto const info = say(shared_pool(), {"INFO", "persistence"}).text;
  auto const at = info.find("rdb_changes_since_last_save:");
  return {say(shared_pool(), {"DUMP", key}).text, number(shared_pool(), {"PEXPIRETIME", key}),
          std::stoll(info.substr(at + 28))};
}

template <class A>
void refuses_without_trace(typename A::config const& config) {
  std::string const id = test::fresh_id("trace"), key = redis::key_of("k", id);
  limiter<A> limited(shared_pool(), id, config, redis::fail_closed{1h}, patient);
  INFO(A::name);
  for (int i = 0; i < 5; ++i) REQUIRE(limited.allow("k").outcome == verdict::admitted);
  auto const before = traces_of(key);
  REQUIRE(before.expires > 0);
  CHECK(limited.allow("k").outcome == verdict::limited);
  CHECK(limited.allow("k", cost{3}).outcome == verdict::limited);
  CHECK(limited.allow("k", cost{6}).outcome == verdict::never);
  CHECK(limited.allow("k", cost{0}).outcome == verdict::admitted);
  CHECK(limited.peek("k").outcome == verdict::limited);
  CHECK(traces_of(key) == before);
}

template <class A>
void always_expires(typename A::config const& config, std::chrono::milliseconds least, std::chrono::milliseconds most) {
  std::string const id = test::fresh_id("ttl"), key = redis::key_of("k", id);
  limiter<A> limited(shared_pool(), id, config, redis::fail_closed{1h}, patient);
  INFO(A::name);
  for (cost const c : {cost{5}, cost{0}, cost{3}, cost{100}}) {
    (void)limited.allow("k", c);
    CHECK(number(shared_pool(), {"PTTL", key}) > 0);
  }
  limited.charge("k", cost{2});
  CHECK(number(shared_pool(), {"PTTL", key}) > 0);
  limited.refund("k", cost{1});
  CHECK(number(shared_pool(), {"PTTL", key}) > 0);
  limited.forget("k");
  CHECK(number(shared_pool(), {"EXISTS", key}) == 0);
  REQUIRE(limited.allow("k", cost{5}));
  auto const left = std::chrono::milliseconds{number(shared_pool(), {"PTTL", key})};
  CHECK(left >= least - 50ms);
  CHECK(left <= most);
}

/// What is no state of `size` whole numbers: other texts, other lengths, numbers that are none, in each place.
std::vector<std::string> no_states_of(std::size_t size) {
  double const now = 1.8e15, nan = std::numeric_limits<double>::quiet_NaN(), endless = HUGE_VAL;
  std::vector<std::string> all{"",
                               "garbage",
                               "-5",
                               "1e15",
                               "180000000000000",
                               "1800000000000000 1",
                               "0000000000000001",
                               "              -0",
                               std::string("1800000000000\0\0\0", 16),
                               std::string(8 * size, 'x'),
                               packed(std::vector<double>(size, now)) + "x",
                               packed(std::vector<double>(size + 2, now))};
  for (std::size_t place = 0; place < size; ++place)
    for (double const wrong : {-1.0, 0.5, 9007199254740992.0, endless, -endless, nan}) {
      std::vector<double> numbers(size, 1);
      numbers[0] = now;
      numbers[place] = wrong;
      all.push_back(packed(numbers));
    }
  return all;
}

/// Nothing that is no state is read as one, or written over, whatever is asked.
template <class A>
void refuses_to_read(typename A::config const& config, std::size_t size) {
  std::string const id = test::fresh_id("foreign"), key = redis::key_of("k", id);
  bool const is_log = std::is_same_v<A, algorithm::sliding_log>;
  limiter<A> limited(shared_pool(), id, config, redis::fail_closed{1h}, patient);
  INFO(A::name);
  for (std::string const& foreign : no_states_of(size)) {
    CAPTURE(foreign);
    say(shared_pool(), {"DEL", key});
    say(shared_pool(), {is_log ? "RPUSH" : "SET", key, foreign});
    CHECK(limited.allow("k").error == redis::errc::bad_state);
    CHECK(limited.allow("k", cost{5}).error == redis::errc::bad_state);
    CHECK(limited.peek("k").error == redis::errc::bad_state);
    if (!is_log) CHECK(say(shared_pool(), {"GET", key}).text == foreign);
    if (is_log) CHECK(number(shared_pool(), {"LLEN", key}) == 1);
  }
  CHECK_FALSE(limited.breaker_is_open());
  say(shared_pool(), {"DEL", key});
}

}  // namespace

TEST_CASE("EVALSHA names the script as the server does") {
  CHECK(say(shared_pool(), {"SCRIPT", "LOAD", redis::script}).text == redis::script_sha1);
  static_assert(redis::script_sha1.size() == 40);
}

TEST_CASE("SHA-1 of the standard's own examples, and of every length around a block") {
  auto const hex = [](std::string_view text) {
    auto const digits = redis::sha1_hex(text);
    return std::string(digits.data(), digits.size());
  };
  static_assert(redis::sha1("abc")[0] == 0xa999'3e36);
  CHECK(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") == "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  for (std::size_t length = 0; length < 130; ++length) {
    std::string const text(length, 'x');
    auto const of_server = say(shared_pool(), {"EVAL", "return redis.sha1hex(ARGV[1])", "0", text});
    CHECK(of_server.text == hex(text));
  }
}

TEST_CASE("a refusal writes nothing and renews no expiry") {
  refuses_without_trace<algorithm::token_bucket>({.refill = "5/h"_rate, .burst = 5});
  refuses_without_trace<algorithm::leaky_meter>({.drain = "5/h"_rate, .capacity = 5});
  refuses_without_trace<algorithm::leaky_queue>({.drain = "5/h"_rate, .capacity = 5});
  refuses_without_trace<algorithm::fixed_window>({.limit = "5/30 d"_rate});
  refuses_without_trace<algorithm::fixed_window>(
      {.limit = "5/h"_rate, .starts = penstock::window_start::first_request});
  refuses_without_trace<algorithm::sliding_counter>({.limit = "5/30 d"_rate});
  refuses_without_trace<algorithm::sliding_log>({.limit = "5/h"_rate});
}

TEST_CASE("what is no state is not read as one, and stays") {
  refuses_to_read<algorithm::token_bucket>({.refill = "5/h"_rate, .burst = 5}, 3);
  refuses_to_read<algorithm::leaky_meter>({.drain = "7/h"_rate, .capacity = 5}, 3);
  refuses_to_read<algorithm::leaky_queue>({.drain = "5/h"_rate, .capacity = 5}, 3);
  refuses_to_read<algorithm::fixed_window>({.limit = "5/h"_rate}, 2);
  refuses_to_read<algorithm::sliding_counter>({.limit = "5/h"_rate}, 3);
  refuses_to_read<algorithm::sliding_log>({.limit = "5/h"_rate}, 1);
}

TEST_CASE("packed numbers are read as such, also where their first bytes look like digits") {
  std::string const id = test::fresh_id("digits"), key = redis::key_of("k", id);
  redis::token_bucket<std::string> limited(shared_pool(), id, {.refill = "7/30 d"_rate, .burst = 1},
                                           redis::fail_closed{1h}, patient);
  auto const now = std::chrono::duration<double, std::micro>(std::chrono::system_clock::now().time_since_epoch());
  for (std::uint64_t const first_bytes : {0x0030U, 0x0034U, 0x0038U, 0x0020U, 0x3030U, 0x3130U}) {
    double const soon = now.count() + 3600e6;
    double const drained = std::bit_cast<double>((std::bit_cast<std::uint64_t>(soon) & ~0xffffULL) | first_bytes);
    REQUIRE(drained == std::floor(drained));
    say(shared_pool(), {"SET", key, packed({drained, 1, 0})});
    auto const answer = limited.allow("k");
    CHECK_FALSE(answer.error);
    CHECK(answer.outcome == verdict::limited);
  }
  limited.forget("k");
}

TEST_CASE("every write sets an expiry: as long as the state means something, and little longer") {
  always_expires<algorithm::token_bucket>({.refill = "1/s"_rate, .burst = 5}, 5s, 5s + 2ms);
  always_expires<algorithm::leaky_queue>({.drain = "1/s"_rate, .capacity = 5}, 5s, 5s + 2ms);
  always_expires<algorithm::fixed_window>({.limit = "5/min"_rate, .starts = penstock::window_start::first_request}, 60s,
                                          66s + 2ms);
  always_expires<algorithm::fixed_window>({.limit = "5/10 d"_rate}, 0s, 11 * 24h);
  always_expires<algorithm::sliding_counter>({.limit = "5/10 d"_rate}, 10 * 24h, 20 * 24h);
  always_expires<algorithm::sliding_log>({.limit = "5/min"_rate}, 60s, 60s + 2ms);
}

TEST_CASE("a stack is all or nothing, in one call") {
  std::string const tight_id = test::fresh_id("tight"), loose_id = test::fresh_id("loose");
  limiter<algorithm::token_bucket> tight(shared_pool(), tight_id, {.refill = "30/h"_rate}, redis::fail_closed{1h},
                                         patient);
  limiter<algorithm::fixed_window> loose(shared_pool(), loose_id, {.limit = "50/30 d"_rate}, redis::fail_closed{1h},
                                         patient);
  auto const self = [](std::string const& who) { return std::string_view(who); };
  auto limits = redis::stack(penstock::layer("loose", loose, self), penstock::layer("tight", tight, self));
  int admitted = 0;
  for (int i = 0; i < 60; ++i) {
    auto const d = limits.allow(std::string("k"));
    REQUIRE_FALSE(d.error);
    admitted += d.outcome == verdict::admitted;
    if (i == 59) {
      CHECK(d.limited_by() == "tight");
      CHECK(d.retry_after > 0s);
      CHECK(d.layers()[0].decision.remaining == 20);
      CHECK(d.layers()[0].decision.outcome == verdict::admitted);
    }
  }
  CHECK(admitted == 30);
  CHECK(loose.peek("k", cost{0}).remaining == 20);
  CHECK(tight.peek("k", cost{0}).remaining == 0);
  CHECK(loose.stats().round_trips == 61);  // the stack's calls are its first layer's
}

TEST_CASE("keys of two identities are not sent as a stack; one after another they are") {
  limiter<algorithm::token_bucket> user(shared_pool(), test::fresh_id("user"), {.refill = "3/h"_rate},
                                        redis::fail_closed{1h}, patient);
  redis::token_bucket<> site(shared_pool(), test::fresh_id("site"), {.refill = "5/h"_rate}, redis::fail_closed{1h},
                             patient);
  auto const self = [](std::string const& who) { return std::string_view(who); };
  auto atomic = redis::stack(penstock::layer("user", user, self), penstock::layer("site", site));
  auto const refused = atomic.allow(std::string("k"));
  CHECK(refused.outcome == verdict::limited);
  CHECK(refused.error == redis::errc::cross_slot);
  CHECK(refused.from == redis::origin::policy);
  CHECK(user.peek("k", cost{0}).remaining == 3);

  auto sequential = redis::sequential(penstock::layer("site", site), penstock::layer("user", user, self));
  int admitted = 0;
  for (int i = 0; i < 10; ++i) admitted += static_cast<bool>(sequential.allow(std::string("k")));
  CHECK(admitted == 3);
  CHECK(site.peek(cost{0}).remaining == 2);
}

TEST_CASE("a Redis limiter is the last layer of an in-process stack, and is undone with it") {
  penstock::token_bucket<std::string> here({.refill = "3/h"_rate});
  limiter<algorithm::token_bucket> there(shared_pool(), test::fresh_id("layer"), {.refill = "5/h"_rate},
                                         redis::fail_closed{1h}, patient);
  limiter<algorithm::token_bucket> second(shared_pool(), test::fresh_id("layer"), {.refill = "2/h"_rate},
                                          redis::fail_closed{1h}, patient);
  auto const self = [](std::string const& who) { return std::string_view(who); };
  auto limits = penstock::stack(penstock::layer("here", here, self), penstock::layer("there", there, self),
                                penstock::layer("second", second, self));
  CHECK(limits.allow(std::string("k")));
  CHECK(limits.allow(std::string("k")));
  CHECK(limits.allow(std::string("k")).limited_by() == "second");
  CHECK(there.peek("k", cost{0}).remaining == 3);
  CHECK(here.peek("k", cost{0}).remaining == 1);
  auto const trips = there.stats().round_trips;
  CHECK(limits.allow(std::string("k"), cost{2}).limited_by() == "here");
  CHECK(there.stats().round_trips == trips);  // not asked

  penstock::counters seen(limits);
  auto watched = penstock::observed(limits, seen);
  CHECK_FALSE(watched.allow(std::string("k")));
  CHECK(seen.prometheus().find("there") != std::string::npos);
}

TEST_CASE("a window of a century ends when it ends") {
  redis::fixed_window<> limited(
      shared_pool(), test::fresh_id("century"),
      {.limit = {1, penstock::longest_period}, .starts = penstock::window_start::first_request}, redis::fail_closed{1h},
      patient);
  CHECK(limited.allow());
  auto const left = penstock::longest_period - limited.allow().retry_after;
  CHECK(left >= 0s);
  CHECK(left < 1h);
}

TEST_CASE("the first call costs 5, then 0, then 3: the key always has an expiry") {
  std::string const id = test::fresh_id("costs"), key = redis::key_of("k", id);
  limiter<algorithm::fixed_window> limited(shared_pool(), id,
                                           {.limit = "10/min"_rate, .starts = penstock::window_start::first_request},
                                           redis::fail_closed{1h}, patient);
  for (cost const c : {cost{5}, cost{0}, cost{3}}) {
    CHECK(limited.allow("k", c));
    CHECK(number(shared_pool(), {"PTTL", key}) > 0);
  }
  CHECK(limited.peek("k", cost{0}).remaining == 2);
}

TEST_CASE("identities are written so that no byte of them means anything to Redis") {
  using namespace std::string_literals;
  CHECK(redis::key_of(redis::tag_of("user:7"s), "api") == "penstock1:{user:7}api");
  CHECK(redis::tag_of("a}{b c%"s) == "a%7D%7Bb%20c%25");
  CHECK(redis::tag_of("\0\xff"s) == "%00%FF");
  CHECK(redis::tag_of(""s) == "%");
  CHECK(redis::tag_of(penstock::no_key{}) == "*");
  CHECK(redis::tag_of(std::int64_t{-5}) == "-5");
  CHECK(redis::tag_of(std::pair("a,b"s, std::uint64_t{1})) != redis::tag_of(std::pair("a"s, "b,1"s)));
  CHECK(redis::tag_of(std::pair("a"s, "bc"s)) != redis::tag_of(std::pair("ab"s, "c"s)));
  CHECK(redis::tag_of(std::string(64, 'x')) == std::string(64, 'x'));
  CHECK(redis::tag_of(std::string(65, 'x')) == "#" + std::string(redis::sha1_hex(std::string(65, 'x')).data(), 32));
}

TEST_CASE("states are as small as can be") {
  auto const bytes = [](auto limited_config, auto algorithm_type, int calls) {
    using A = typename decltype(algorithm_type)::type;
    limiter<A> limited(shared_pool(), "m", limited_config, redis::fail_closed{1h}, patient);
    for (int i = 0; i < calls; ++i) REQUIRE(limited.allow("user:123456"));
    std::string const key = redis::key_of("user:123456", "m");
    auto const used = number(shared_pool(), {"MEMORY", "USAGE", key, "SAMPLES", "0"});
    limited.forget("user:123456");
    return used;
  };
  CHECK(bytes(algorithm::token_bucket::config{.refill = "100/min"_rate}, std::type_identity<algorithm::token_bucket>{},
              1) <= 72);
  CHECK(bytes(algorithm::fixed_window::config{.limit = "100/d"_rate}, std::type_identity<algorithm::fixed_window>{},
              9) <= 104);
  CHECK(bytes(algorithm::sliding_counter::config{.limit = "100/d"_rate},
              std::type_identity<algorithm::sliding_counter>{}, 9) <= 104);
  CHECK(bytes(algorithm::sliding_log::config{.limit = "1000/d"_rate}, std::type_identity<algorithm::sliding_log>{},
              1000) <= 12'000);
}
