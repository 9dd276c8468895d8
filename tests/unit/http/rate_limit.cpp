// http/rate_limit.hpp: the RateLimit fields, judged by a parser written from RFC 9651.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/http/rate_limit.hpp>
#include <penstock/limiters.hpp>
#include <penstock/stack.hpp>

#include "layered_answers.hpp"
#include "support/catch.hpp"
#include "support/structured_fields.hpp"
#include "unit/allocations.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using namespace penstock;
using namespace std::chrono_literals;
using http::dialect;
using http::reset_unit;
using std::chrono::nanoseconds;

namespace {

/// "Name: value" of each field, in order.
std::vector<std::string> lines(std::vector<http::field> const& fields) {
  std::vector<std::string> all;
  for (auto const& [name, value] : fields) all.push_back(name + ": " + value);
  return all;
}
using text = std::vector<std::string>;

decision left(std::uint64_t remaining, nanoseconds next, nanoseconds reset = 0ns) {
  return {.limit = 100, .remaining = remaining, .reset_after = reset, .next_after = next};
}
decision refused(nanoseconds wait, nanoseconds next, nanoseconds reset = 0ns) {
  return {.outcome = verdict::limited, .limit = 100, .retry_after = wait, .reset_after = reset, .next_after = next};
}
http::policy const per_min{"default", 100, 60s};
std::chrono::sys_time<nanoseconds> const now{1'700'000'000s};

std::int64_t integer(structured_fields::item const& it, std::string_view key) {
  auto const* const value = it.find(key);
  REQUIRE(value != nullptr);
  return std::get<std::int64_t>(*value);
}

}  // namespace

TEST_CASE("the current draft names the policy and what is left of it") {
  CHECK(lines(http::rate_limit_fields(per_min, left(50, 29'200ms))) ==
        text{"RateLimit-Policy: \"default\";q=100;w=60", "RateLimit: \"default\";r=50;t=30"});
  CHECK(lines(http::rate_limit_fields({"a\"b\\c", 1, 5s}, left(1, 5s))) ==
        text{"RateLimit-Policy: \"a\\\"b\\\\c\";q=1;w=5", "RateLimit: \"a\\\"b\\\\c\";r=1;t=5"});
  CHECK(lines(http::rate_limit_fields({"conc", 20, 0s, "concurrent-requests"}, {.limit = 20, .remaining = 7})) ==
        text{"RateLimit-Policy: \"conc\";q=20;qu=\"concurrent-requests\"", "RateLimit: \"conc\";r=7"});
}

TEST_CASE("parameters stand in the order q, qu, w, pk and r, t, pk") {
  CHECK(lines(http::rate_limit_fields({"p", 5, 90s, "content-bytes", "foobar"}, left(3, 1s))) ==
        text{"RateLimit-Policy: \"p\";q=5;qu=\"content-bytes\";w=90;pk=:Zm9vYmFy:", "RateLimit: \"p\";r=3;t=1;pk=:Zm9vYmFy:"});
}

TEST_CASE("windows and waits round up, and a full limit waits for nothing") {
  auto const policy_line = [](nanoseconds window) { return http::rate_limit_fields({"p", 1, window}, left(1, 0s))[0].value; };
  CHECK(policy_line(1ns) == "\"p\";q=1;w=1");
  CHECK(policy_line(1s) == "\"p\";q=1;w=1");
  CHECK(policy_line(1s + 1ns) == "\"p\";q=1;w=2");
  CHECK(policy_line(nanoseconds::max()) == "\"p\";q=1;w=9223372037");
  CHECK(policy_line(-1s) == "\"p\";q=1");
  auto const limit_line = [](decision const& d) { return http::rate_limit_fields(per_min, d)[1].value; };
  CHECK(limit_line(left(100, 0s)) == "\"default\";r=100");
  CHECK(limit_line(left(99, 1ns)) == "\"default\";r=99;t=1");
  CHECK(limit_line(left(99, 1s + 1ns)) == "\"default\";r=99;t=2");
}

TEST_CASE("a refusal is told with a t of at least 1 and at most Retry-After") {
  auto const limit_line = [](decision const& d) { return http::rate_limit_fields(per_min, d)[1].value; };
  CHECK(limit_line(refused(200ms, 200ms, 4s)) == "\"default\";r=0;t=1");
  CHECK(limit_line(refused(10s, 3s)) == "\"default\";r=0;t=3");
  CHECK(limit_line(refused(2s, 5s)) == "\"default\";r=0;t=2");
  CHECK(limit_line(refused(2s, 0s)) == "\"default\";r=0;t=1");
  CHECK(limit_line({.outcome = verdict::never, .limit = 100, .remaining = 100, .retry_after = nanoseconds::max()}) == "\"default\";r=100");
  CHECK(limit_line({.outcome = verdict::never, .limit = 100, .remaining = 7, .retry_after = nanoseconds::max(), .next_after = 3s}) ==
        "\"default\";r=7;t=3");
}

TEST_CASE("numbers that no structured field can hold are told as the largest") {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK(lines(http::rate_limit_fields({"p", most, 1s}, {.limit = most, .remaining = most})) ==
        text{"RateLimit-Policy: \"p\";q=999999999999999;w=1", "RateLimit: \"p\";r=999999999999999"});
}

TEST_CASE("draft 07 and draft 03 know one limit and a reset in seconds") {
  CHECK(lines(http::rate_limit_fields(per_min, left(50, 1s, 5s), dialect::draft_07)) == text{"RateLimit: limit=100, remaining=50, reset=5"});
  CHECK(lines(http::rate_limit_fields(per_min, left(50, 1s, 4'001ms), dialect::draft_03)) ==
        text{"RateLimit-Limit: 100, 100;w=60", "RateLimit-Remaining: 50", "RateLimit-Reset: 5"});
  CHECK(lines(http::rate_limit_fields({"c", 20}, left(20, 0s), dialect::draft_03)) ==
        text{"RateLimit-Limit: 20", "RateLimit-Remaining: 20", "RateLimit-Reset: 0"});
}

TEST_CASE("in the older dialects the reset of a refusal is the moment of Retry-After") {
  decision const d = refused(1'500ms, 200ms, 20s);
  CHECK(lines(http::rate_limit_fields(per_min, d, dialect::draft_07)) == text{"RateLimit: limit=100, remaining=0, reset=2"});
  CHECK(http::rate_limit_fields(per_min, d, dialect::draft_03)[2].value == "2");
  CHECK(http::rate_limit_fields(per_min, d, dialect::x_ratelimit, reset_unit::delta_seconds)[2].value == "2");
  CHECK(http::rate_limit_fields(per_min, d, dialect::x_ratelimit, reset_unit::epoch_seconds, now)[2].value == "1700000002");
}

TEST_CASE("X-RateLimit-Reset is a moment, or seconds from now when asked for") {
  decision const d = left(50, 1s, 4'001ms);
  CHECK(lines(http::rate_limit_fields(per_min, d, dialect::x_ratelimit, reset_unit::epoch_seconds, now)) ==
        text{"X-RateLimit-Limit: 100", "X-RateLimit-Remaining: 50", "X-RateLimit-Reset: 1700000005"});
  CHECK(lines(http::rate_limit_fields(per_min, d, dialect::x_ratelimit, reset_unit::delta_seconds)) ==
        text{"X-RateLimit-Limit: 100", "X-RateLimit-Remaining: 50", "X-RateLimit-Reset: 5"});

  auto const reset = [](decision const& answer, std::chrono::sys_time<nanoseconds> at) {
    return http::rate_limit_fields(per_min, answer, dialect::x_ratelimit, reset_unit::epoch_seconds, at)[2].value;
  };
  CHECK(reset(left(50, 1s, 1s), now + 1ns) == "1700000002");  // never early
  CHECK(reset(left(50, 1s, 100ms), now + 900ms) == "1700000001");
  CHECK(reset(left(100, 0s), now) == "1700000000");
  CHECK(reset(left(50, 1s, nanoseconds::max()), now) == "9223372037");
  CHECK(reset(left(50, 1s, 1s), std::chrono::sys_time<nanoseconds>{-5s}) == "0");
}

TEST_CASE("without a reading of the wall clock, the moment is taken from the system's") {
  auto const before = std::chrono::system_clock::now() + 1h;
  auto const fields = http::rate_limit_fields(per_min, left(50, 1s, 1h), dialect::x_ratelimit);
  auto const after = std::chrono::system_clock::now() + 1h + 1s;
  std::chrono::sys_seconds const reset{std::chrono::seconds{std::stoll(fields[2].value)}};
  CHECK(reset >= before);
  CHECK(reset <= after);
}

TEST_CASE("of a stack, each layer that has a policy is told of") {
  std::vector<http::policy> const policies{{"burst", 100, 60s}, {"daily", 1000, 24h}};
  layered_answers const answers{{{"burst", left(99, 1s)}, {"secret", left(1, 1s)}, {"daily", left(900, 29'200ms)},
                                 {"burst", left(0, 1s), false, true}, {"daily", left(0, 1s), true, false}}};
  CHECK(lines(http::rate_limit_fields(policies, answers)) ==
        text{"RateLimit-Policy: \"burst\";q=100;w=60, \"daily\";q=1000;w=86400", "RateLimit: \"burst\";r=99;t=1, \"daily\";r=900;t=30"});
  CHECK(http::rate_limit_fields({}, answers).empty());
  CHECK(http::rate_limit_fields(policies, layered_answers{}).empty());
  CHECK(http::rate_limit_fields({}, answers, dialect::draft_03).empty());
}

TEST_CASE("of a stack with one policy, the layer of its name is told of, or the whole as one limit") {
  layered_answers answers{{{"burst", left(99, 1s)}, {"daily", left(9, 29'200ms)}, {"trial", refused(1h, 1h), false, true}}};
  CHECK(lines(http::rate_limit_fields(per_min, answers)) == text{"RateLimit-Policy: \"default\";q=100;w=60", "RateLimit: \"default\";r=9;t=30"});
  CHECK(http::rate_limit_fields(http::policy{"burst", 100, 60s}, answers)[1].value == "\"burst\";r=99;t=1");
  CHECK(http::rate_limit_fields(http::policy{"trial", 100, 60s}, answers).empty());
  answers.reports.push_back({"last", refused(5s, 3s)});
  CHECK(http::rate_limit_fields(per_min, answers)[1].value == "\"default\";r=0;t=3");
  std::array<char, 128> room;
  CHECK(http::write_rate_limit(room, per_min, answers).copy() == http::rate_limit_fields(per_min, answers));
}

TEST_CASE("of a stack, the older dialects tell of the layer that waits longest, or else has the least left") {
  std::array<http::policy, 2> const policies{http::policy{"burst", 100, 60s}, http::policy{"daily", 1000, 24h}};
  layered_answers answers{{{"burst", refused(2s, 2s, 60s)}, {"daily", refused(3h, 1s, 24h)}}};
  CHECK(lines(http::rate_limit_fields(policies, answers, dialect::draft_03)) ==
        text{"RateLimit-Limit: 1000, 100;w=60, 1000;w=86400", "RateLimit-Remaining: 0", "RateLimit-Reset: 10800"});
  CHECK(lines(http::rate_limit_fields(policies, answers, dialect::x_ratelimit, reset_unit::delta_seconds)) ==
        text{"X-RateLimit-Limit: 1000", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 10800"});
  answers.reports[1].decision = left(0, 1s, 24h);
  CHECK(lines(http::rate_limit_fields(policies, answers, dialect::draft_07)) == text{"RateLimit: limit=100, remaining=0, reset=2"});
  answers.reports[0].decision = left(7, 1s, 3s);
  answers.reports[1].decision = left(900, 1s, 24h);
  CHECK(lines(http::rate_limit_fields(policies, answers, dialect::draft_07)) == text{"RateLimit: limit=100, remaining=7, reset=3"});
}

TEST_CASE("a stack's decision is told as it is") {
  manual_clock clock;
  fixed_window<std::string, manual_clock> user({.limit = per_minute(2)}, clock);
  token_bucket<no_key, manual_clock> site({.refill = per_second(5), .burst = 20}, clock);
  auto limits = stack(layer("user", user, [](std::string const& name) { return std::string_view(name); }), layer("site", site));
  std::array<http::policy, 2> const policies{http::policy_of("user", user), http::policy_of("site", site)};
  std::string const ann = "ann";

  auto const first = limits.allow(ann);
  CHECK(lines(http::rate_limit_fields(policies, first)) ==
        text{"RateLimit-Policy: \"user\";q=2;w=60, \"site\";q=20;w=4", "RateLimit: \"user\";r=1;t=60, \"site\";r=19;t=1"});
  CHECK(limits.allow(ann));
  auto const third = limits.allow(ann);
  CHECK_FALSE(third);
  CHECK(http::retry_after(third) == 60u);
  CHECK(http::rate_limit_fields(policies, third)[1].value == "\"user\";r=0;t=60, \"site\";r=18;t=1");
}

TEST_CASE("the writer allocates nothing, and the vector is a copy of what it writes") {
  decision const d = left(50, 29'200ms, 5s);
  std::array<http::policy, 2> const policies{http::policy{"burst", 100, 60s}, http::policy{"daily", 1000, 24h}};
  layered_answers const answers{{{"burst", d}, {"daily", d}}};
  for (dialect const style : {dialect::draft_10, dialect::draft_07, dialect::draft_03, dialect::x_ratelimit}) {
    std::array<char, 256> room, more_room;
    http::written_fields one, many;
    CHECK(allocations_of([&] {
            one = http::write_rate_limit(room, per_min, d, style, reset_unit::epoch_seconds, now);
            many = http::write_rate_limit(more_room, policies, answers, style, reset_unit::epoch_seconds, now);
          }).made == 0);
    REQUIRE(one);
    REQUIRE(many);
    CHECK(one.copy() == http::rate_limit_fields(per_min, d, style, reset_unit::epoch_seconds, now));
    CHECK(many.copy() == http::rate_limit_fields(policies, answers, style, reset_unit::epoch_seconds, now));
  }
}

TEST_CASE("with too little room there are no fields, and it says how much would do") {
  decision const d = left(50, 29'200ms);
  std::array<char, 128> room;
  room.fill('#');
  auto const whole = http::write_rate_limit(room, per_min, d);
  REQUIRE(whole);
  CHECK(whole.size() == 2);
  CHECK(whole.needed() == std::string_view("\"default\";q=100;w=60\"default\";r=50;t=30").size());
  for (std::size_t size = 0; size < whole.needed(); ++size) {
    room.fill('#');
    auto const written = http::write_rate_limit(std::span(room).first(size), per_min, d);
    CHECK_FALSE(written);
    CHECK(written.size() == 0);
    CHECK(written.begin() == written.end());
    CHECK(written.needed() == whole.needed());
    CHECK(room[size] == '#');
  }
  CHECK(http::write_rate_limit(std::span(room).first(whole.needed()), per_min, d));
}

TEST_CASE("fields longer than any room on the stack are whole") {
  http::policy const p{std::string(3000, '"'), 1, 1s, "requests", std::string(5000, '\xff')};
  auto const fields = http::rate_limit_fields(p, left(1, 0s));
  REQUIRE(fields.size() == 2);
  auto const parsed = structured_fields::parse_list(fields[1].value);
  CHECK(std::get<std::string>(parsed[0].value) == std::string(3000, '"'));
  CHECK(std::get<structured_fields::bytes>(*parsed[0].find("pk")).data == std::string(5000, '\xff'));
}

TEST_CASE("whatever the names, units, keys and numbers, the fields are structured ASCII that says the same") {
  std::mt19937_64 random(7);
  auto const bytes = [&](int least, int most) {
    std::string s(random() % 20, '\0');
    for (char& c : s) c = static_cast<char>(least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1)));
    return s;
  };
  auto const number = [&] { return random() >> random() % 64; };
  auto const time = [&] { return nanoseconds{static_cast<std::int64_t>(number() >> 1)}; };
  for (int round = 0; round < 5000; ++round) {
    http::policy const p{bytes(0x20, 0x7e), number(), time(), random() % 2 == 0 ? "requests" : bytes(0, 255), bytes(0, 255)};
    decision d{.limit = number(), .remaining = number(), .reset_after = time(), .next_after = time()};
    if (random() % 2 == 0) d.outcome = verdict::limited, d.retry_after = time();
    for (dialect const style : {dialect::draft_10, dialect::draft_07, dialect::draft_03, dialect::x_ratelimit})
      for (auto const& [name, value] : http::rate_limit_fields(p, d, style, reset_unit::epoch_seconds, now))
        REQUIRE(http::is_structured_string(name + value));

    auto const fields = http::rate_limit_fields(p, d);
    auto const policies = structured_fields::parse_list(fields[0].value), limits = structured_fields::parse_list(fields[1].value);
    REQUIRE(policies.size() == 1);
    REQUIRE(limits.size() == 1);
    constexpr std::uint64_t most = 999'999'999'999'999;
    CHECK(std::get<std::string>(policies[0].value) == p.name.str());
    CHECK(policies[0].value == limits[0].value);
    CHECK(integer(policies[0], "q") == static_cast<std::int64_t>(std::min(p.quota, most)));
    CHECK(integer(limits[0], "r") == static_cast<std::int64_t>(std::min(d.remaining, most)));
    if (p.window > 0s) CHECK(std::chrono::nanoseconds::max() / 1s >= integer(policies[0], "w") - 1);
    if (auto const wait = http::retry_after(d)) {
      CHECK(integer(limits[0], "t") >= 1);
      CHECK(integer(limits[0], "t") <= static_cast<std::int64_t>(*wait));
    }
    for (auto const* pk : {policies[0].find("pk"), limits[0].find("pk")}) {
      REQUIRE((pk != nullptr) == !p.partition_key.empty());
      if (pk != nullptr) CHECK(std::get<structured_fields::bytes>(*pk).data == p.partition_key);
    }
  }
}
