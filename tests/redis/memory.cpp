// What a limiter remembers between calls, where its own calls overtake one another; and units lent to it.

#include <support/catch.hpp>

#include <penstock/redis.hpp>

#include <chrono>
#include <cstdint>

namespace {

using namespace std::chrono_literals;
using penstock::cost;
using penstock::decision;
using penstock::verdict;
namespace redis = penstock::redis;

using time_point = std::chrono::steady_clock::time_point;
time_point const start = time_point{} + 1h;
penstock::fingerprint const key{1, 2};
constexpr auto longest_call = 20ms;

decision answer(verdict outcome, std::uint64_t remaining) {
  decision d;
  d.outcome = outcome;
  d.limit = 100;
  d.remaining = remaining;
  if (outcome == verdict::limited) d.retry_after = d.reset_after = d.next_after = 10s;
  return d;
}
decision const refusal = answer(verdict::limited, 0);

redis::detail::lease_book book(std::uint64_t units = 10) {
  return redis::detail::lease_book({.units = units, .valid_for = 500ms, .max_keys = 16});
}
/// How many single units can be spent at this time.
int spendable(redis::detail::lease_book& b, time_point now) {
  int spent = 0;
  while (b.spend(key, cost{1}, now)) ++spent;
  return spent;
}

}  // namespace

TEST_CASE("a refusal that left Redis before units were given back is not remembered after it") {
  redis::deny_cache cache(16);
  cache.given_back(key, start, longest_call);
  CHECK_FALSE(cache.find(key, cost{UINT64_MAX}, start));  // what was given back refuses nothing
  cache.refused(key, cost{1}, refusal, start - 1ms);
  CHECK_FALSE(cache.find(key, cost{1}, start));
  cache.refused(key, cost{1}, refusal, start);  // which of them the server saw first is not known
  CHECK_FALSE(cache.find(key, cost{1}, start));
  cache.refused(key, cost{5}, refusal, start + 1ns);
  CHECK(cache.find(key, cost{5}, start + 1ms));
  cache.refused(key, cost{1}, refusal, start - 1ms);  // nor when a younger refusal stands there by then
  CHECK_FALSE(cache.find(key, cost{1}, start + 1ms));
}

TEST_CASE("units are lent for their time, and no refusal, and no later loan, makes it longer") {
  auto b = book();
  CHECK(b.wanted(key, cost{1}, start, longest_call).units == 10);
  CHECK(b.took(key, cost{10}, cost{1}, answer(verdict::admitted, 90), start).remaining == 99);
  SECTION("a refusal") {
    (void)b.took(key, cost{50}, cost{50}, refusal, start + 400ms);
    CHECK(b.spend(key, cost{1}, start + 500ms - 1ns));
    CHECK_FALSE(b.spend(key, cost{1}, start + 500ms));
    (void)b.took(key, cost{10}, cost{1}, answer(verdict::admitted, 90), start + 500ms);
    CHECK(spendable(b, start + 500ms) == 9);  // those of before have gone
  }
  SECTION("a later loan, while old units remain") {
    (void)b.took(key, cost{3}, cost{3}, answer(verdict::admitted, 87), start + 400ms);  // of nine old ones, six remain
    CHECK_FALSE(b.spend(key, cost{1}, start + 500ms));
  }
  SECTION("a later loan, when the old units are spent by it") {
    for (int i = 0; i < 8; ++i) CHECK(b.spend(key, cost{1}, start));
    (void)b.took(key, cost{10}, cost{1}, answer(verdict::admitted, 80), start + 400ms);
    CHECK(spendable(b, start + 900ms - 1ns) == 10);
  }
  SECTION("units that come back late") {
    b.give_back(key, cost{1}, start + 600ms);
    CHECK_FALSE(b.spend(key, cost{1}, start + 600ms));
  }
}

TEST_CASE("one call fetches a loan at a time, and the others ask for their own units alone; so none are lost") {
  auto b = book();
  CHECK(b.wanted(key, cost{1}, start, longest_call).units == 10);
  for (int i = 0; i < 5; ++i) {
    CHECK(b.wanted(key, cost{1}, start + 1ms, longest_call).units == 1);
    (void)b.took(key, cost{1}, cost{1}, answer(verdict::admitted, 80), start + 1ms);
  }
  CHECK(b.wanted(key, cost{1}, start + 1ms, longest_call).units == 1);  // the others' answers are not the fetch's
  (void)b.took(key, cost{10}, cost{1}, answer(verdict::admitted, 80), start);
  CHECK(spendable(b, start + 2ms) == 9);
  CHECK(b.wanted(key, cost{1}, start + 2ms, longest_call).units == 10);
  CHECK(b.wanted(key, cost{1}, start + 2ms + longest_call - 1ns, longest_call).units == 1);
  CHECK(b.wanted(key, cost{1}, start + 2ms + longest_call, longest_call).units == 10);  // that call never came back
  CHECK(b.wanted({3, 4}, cost{1}, start, longest_call).units == 10);
  CHECK(b.wanted({5, 6}, cost{10}, start, longest_call).units == 10);  // no loan, so no fetch
  CHECK(b.wanted({5, 6}, cost{1}, start, longest_call).units == 10);
}

TEST_CASE("less than a loan is known to be left: units are asked for one by one until there is more") {
  auto b = book();
  (void)b.took(key, cost{1}, cost{1}, answer(verdict::admitted, 9), start);
  CHECK(b.wanted(key, cost{1}, start, longest_call).units == 1);
  (void)b.took(key, cost{1}, cost{1}, answer(verdict::admitted, 10), start);
  CHECK(b.wanted(key, cost{1}, start, longest_call).units == 10);
}
