// What was taken is given back, or charged for more, wherever it was counted: in Redis, in a lease, in the local
// limiter.

#include "support/server.hpp"
#include "support/standing_clock.hpp"

#include <support/catch.hpp>

#include <penstock/penstock.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace penstock::literals;
using penstock::cost;
using penstock::verdict;
namespace algorithm = penstock::algorithm;
namespace redis = penstock::redis;

/// The shared server, which a test may cut off, or overtake a call to.
struct line {
  std::atomic<bool> cut{false};
  std::function<void()> before, meanwhile;  ///< once: the next call is sent, or its answer is on its way

  redis::result<redis::reply> execute(redis::command const& c, redis::deadline until) {
    if (cut) return redis::io_error{redis::errc::closed, redis::sent::unknown};
    if (auto const first = std::exchange(before, nullptr)) first();
    auto const then = std::exchange(meanwhile, nullptr);
    auto answer = test::shared_pool().execute(c, until);
    if (then) then();
    return answer;
  }
};
using bucket = redis::token_bucket<std::string, line>;
bucket::config const hundred{.refill = "100/10 d"_rate};
redis::options const patient{.timeout = 5s, .breaker = {.failures_in_a_row = 1000, .window_calls = 1000}};
redis::options lending(std::uint64_t units) {
  auto o = patient;
  o.lease = {.units = units, .valid_for = 1h};
  return o;
}

/// How many single units the in-process limiter of local{} still admits.
std::uint64_t left_here(line& transport, bucket& limited, std::string_view key = "k") {
  transport.cut = true;
  std::uint64_t left = 0;
  while (limited.allow(key)) ++left;
  CHECK(limited.allow(key).from == redis::origin::local);
  transport.cut = false;
  return left;
}
std::uint64_t left_there(bucket& limited, std::string_view key = "k") {
  auto const d = limited.peek(key, cost{0});
  CHECK(d.from == redis::origin::redis);
  return d.remaining;
}

}  // namespace

TEST_CASE("a cost settled higher is charged, whoever admitted the estimate") {
  line transport;
  bucket limited(transport, test::fresh_id("settle"), hundred, redis::local{1}, lending(10));
  SECTION("Redis") {
    auto estimate = penstock::reserve(limited, std::string_view("k"), cost{20});
    estimate.commit(cost{50});
    CHECK(left_there(limited) == 50);
    CHECK(left_here(transport, limited) == 50);
  }
  SECTION("a lease") {
    CHECK(limited.allow("k").from == redis::origin::redis);
    auto estimate = penstock::reserve(limited, std::string_view("k"), cost{1});
    CHECK(limited.stats().by_lease == 1);
    estimate.commit(cost{50});
    CHECK(left_there(limited) == 100 - 10 - 49);
    CHECK(left_here(transport, limited) == 8 + 41);  // of the lease, and then by the local limiter, which knows of 51
  }
  SECTION("nobody, for it was 0") {
    auto estimate = penstock::reserve(limited, std::string_view("k"), cost{0});
    estimate.commit(cost{50});
    CHECK(left_there(limited) == 50);
    CHECK(left_here(transport, limited) == 50);
  }
  SECTION("the local limiter") {
    transport.cut = true;
    auto estimate = penstock::reserve(limited, std::string_view("k"), cost{1});
    estimate.commit(cost{50});
    CHECK(left_here(transport, limited) == 50);
    CHECK(left_there(limited) == 100);
  }
}

TEST_CASE("the local limiter is kept warm by what a lease admits, and by what exceeds its share") {
  line transport;
  bucket limited(transport, test::fresh_id("settle"), hundred, redis::local{0.5}, lending(50));
  for (int i = 0; i < 100; ++i) REQUIRE(limited.allow("k"));
  CHECK(limited.stats().by_lease == 98);
  CHECK(left_here(transport, limited) == 0);
}

TEST_CASE("what is undone, given back or refunded is free again here as well as there") {
  line transport;
  bucket limited(transport, test::fresh_id("settle"), hundred, redis::local{1}, patient);
  SECTION("undone") {
    for (int i = 0; i < 30; ++i) {
      auto ticket = limited.take({}, "k", cost{10});
      REQUIRE(ticket);
      limited.undo(std::move(ticket));
    }
  }
  SECTION("given back in part") {
    auto ticket = limited.take({}, "k", cost{30});
    limited.give_back(ticket, cost{10});
    limited.give_back(ticket, cost{20});
  }
  SECTION("refunded") {
    REQUIRE(limited.allow("k", cost{30}));
    CHECK_FALSE(limited.refund("k", cost{30}));
  }
  SECTION("beyond the local share, there alone: nobody knows how much of a debt was counted") {
    bucket tenth(transport, limited.limit_id().data(), hundred, redis::local{0.1}, patient);
    auto ticket = tenth.take({}, "k", cost{15});
    CHECK(left_here(transport, tenth) == 0);
    tenth.undo(std::move(ticket));
    CHECK(left_here(transport, tenth) == 0);
  }
  SECTION("of the local limiter") {
    transport.cut = true;
    auto ticket = limited.take({}, "k", cost{30});
    CHECK(ticket.answer.from == redis::origin::local);
    limited.undo(std::move(ticket));
  }
  CHECK(left_here(transport, limited) == 100);
  CHECK(left_there(limited) == 100);
}

TEST_CASE("units of a lease that were not used are lent again") {
  line transport;
  bucket limited(transport, test::fresh_id("settle"), hundred, redis::local{1}, lending(10));
  CHECK(limited.allow("k"));
  auto ticket = limited.take({}, "k", cost{9});
  CHECK(ticket.answer.from == redis::origin::lease);
  limited.undo(std::move(ticket));
  CHECK(limited.allow("k", cost{9}).from == redis::origin::lease);
  CHECK(left_there(limited) == 90);
  CHECK(left_here(transport, limited) == 90);
}

TEST_CASE("a refusal overtaken by this instance's own refund or forget is not remembered") {
  line transport;
  bucket limited(transport, test::fresh_id("settle"), hundred, redis::fail_closed{1h}, patient);
  REQUIRE(limited.allow("k", cost{100}));
  bool const forgets = GENERATE(false, true);
  transport.meanwhile = [&] { CHECK_FALSE((forgets ? limited.forget("k") : limited.refund("k", cost{100}))); };
  CHECK(limited.allow("k").outcome == verdict::limited);  // the server said so before it gave the units back
  CHECK(limited.allow("k").from == redis::origin::redis);
  CHECK(limited.allow("k"));
}

TEST_CASE("and no more is one that comes while the refund or forget is on its way") {
  line transport;
  bucket limited(transport, test::fresh_id("settle"), hundred, redis::fail_closed{1h}, patient);
  REQUIRE(limited.allow("k", cost{100}));
  bool const forgets = GENERATE(false, true);
  transport.before = [&] { CHECK(limited.allow("k").from == redis::origin::redis); };
  CHECK_FALSE((forgets ? limited.forget("k") : limited.refund("k", cost{100})));
  CHECK(limited.allow("k"));
}

TEST_CASE("what can never fit is not told to come back later, whatever is known of the key") {
  line transport;
  bucket limited(transport, test::fresh_id("settle"), hundred, redis::fail_closed{1h}, patient);
  CHECK(limited.allow("k", cost{100}));
  CHECK_FALSE(limited.allow("k"));
  CHECK(limited.allow("k", cost{100}).from == redis::origin::deny_cache);
  CHECK(limited.allow("k", cost{101}).outcome == verdict::never);
  auto const self = [](std::string_view who) { return who; };
  auto stack = redis::stack(penstock::layer("one", limited, self));
  CHECK(stack.allow(std::string_view("k"), cost{100}).from == redis::origin::deny_cache);
  CHECK(stack.allow(std::string_view("k"), cost{101}).outcome == verdict::never);
  using both = algorithm::all_of<algorithm::token_bucket, algorithm::all_of<algorithm::fixed_window>>;
  redis::limiter<both, std::string, line> rules(
      transport, test::fresh_id("settle"),
      {hundred,
       algorithm::all_of<algorithm::fixed_window>::config(algorithm::fixed_window::config{.limit = "10/30 d"_rate})},
      redis::fail_closed{1h}, patient);
  CHECK(rules.allow("k", cost{10}));
  CHECK_FALSE(rules.allow("k"));
  CHECK(rules.allow("k", cost{10}).from == redis::origin::deny_cache);
  CHECK(rules.allow("k", cost{11}).outcome == verdict::never);
}

namespace {

/// Taken at a reading that lags behind the key's, and undone when the clock has gone on: as in process.
template <class A>
void undoes_as_in_process(typename A::config const& config) {
  using clocked = test::standing_clock<redis::hiredis_pool>;
  clocked transport(test::shared_pool());
  redis::limiter<A, std::string, clocked> there(transport, test::fresh_id("undo"), config, redis::fail_closed{1h},
                                                {.timeout = 5s, .deny_cache = 0});
  penstock::limiter<A, penstock::no_key, std::chrono::system_clock> here(config);
  std::int64_t constexpr boundary = 1'796'000'040'000'000;  // a minute begins
  static_assert(boundary % 60'000'000 == 0);
  auto const at = [](std::int64_t us) { return std::chrono::system_clock::time_point{std::chrono::microseconds{us}}; };
  INFO(A::name);
  for (std::int64_t const lag : {0, 1, 10}) {
    transport.now = boundary + 1;
    REQUIRE(there.allow("k"));
    REQUIRE(here.allow_at(at(boundary + 1)));
    transport.now = boundary + 1 - lag;
    auto ours = there.take({}, "k", cost{1});
    auto theirs = here.take(at(boundary + 1 - lag), {}, cost{1});
    REQUIRE(ours);
    transport.now = boundary + 2'000'000;
    there.undo(std::move(ours));
    here.undo(std::move(theirs));
    CHECK(there.peek("k", cost{0}).remaining == here.peek_at(at(transport.now), cost{0}).remaining);
    CHECK(there.peek("k", cost{0}).remaining == 9);
    there.forget("k");
    here.forget();
  }
}

}  // namespace

TEST_CASE("each rule of several is undone at the instant under which it counted") {
  using algorithm::all_of, algorithm::fixed_window, algorithm::sliding_counter, algorithm::sliding_log,
      algorithm::token_bucket;
  token_bucket::config const fast{.refill = penstock::per_second(100), .burst = 100};
  undoes_as_in_process<fixed_window>({.limit = "10/min"_rate});
  undoes_as_in_process<sliding_counter>({.limit = "10/min"_rate});
  undoes_as_in_process<sliding_log>({.limit = "10/min"_rate});
  undoes_as_in_process<all_of<token_bucket, fixed_window>>({fast, {.limit = "10/min"_rate}});
  undoes_as_in_process<all_of<sliding_log, token_bucket>>({{.limit = "10/min"_rate}, fast});
  using nested = all_of<all_of<token_bucket, sliding_log>, sliding_counter>;
  undoes_as_in_process<nested>({{fast, {.limit = "10/min"_rate}}, {.limit = "20/min"_rate}});
}
