// algorithm/token_bucket.hpp

#include <penstock/limiters.hpp>

#include "../random.hpp"
#include "../timeline.hpp"

#include <algorithm>
#include <cstdint>

using namespace penstock;
using namespace timeline;

namespace {
using bucket = algorithm::token_bucket;
constexpr nanoseconds year = 365 * 24h;
}  // namespace

TEST_CASE("half a token a second: two seconds give one token") {
  holds<bucket>({.refill = per(1, 2s), .burst = 10},
                {admitted(0s, 10), limited(0s, 2s), limited(2s - 1ns, 1ns), admitted(2s), limited(2s, 2s),
                 limited(3s, 1s), admitted(4s), admitted(8s, 2), limited(8s, 2s)});
}

TEST_CASE("a quarter of a token is there: the rest takes three eighths of a second") {
  holds<bucket>({.refill = per_second(2), .burst = 2}, {admitted(0s, 2), limited(125ms, 375ms), admitted(500ms)});
}

TEST_CASE("a call that does not fit takes nothing: cheap calls keep passing") {
  holds<bucket>({.refill = per_hour(1), .burst = 30}, {admitted(0s, 10), limited(0s, 5h, 25), admitted(0s),
                                                       limited(0s, 1h, 20), admitted(0s, 19), limited(0s, 1h)});
}

TEST_CASE("an idle year saves no more than the burst") {
  holds<bucket>({.refill = per_second(1), .burst = 5}, {admitted(0s, 5), limited(0s, 1s), admitted(year, 3),
                                                        admitted(year, 2), limited(year, 1s), limited(year, 5s, 5)});
}

TEST_CASE("three tokens at one and a half a second") {
  holds<bucket>({.refill = per(3, 2s), .burst = 3},
                {admitted(0s), limited(0s, 666'666'667ns, 3), admitted(666'666'667ns, 3)});
}

TEST_CASE("more than the burst never passes, and the attempt changes nothing") {
  holds<bucket>({.refill = per_second(1), .burst = 5}, {never(0s, 6), admitted(0s, 5), never(0s, 6), limited(0s, 1s),
                                                        never(100s, 1'000'000'000'000), admitted(100s, 5)});
}

TEST_CASE("a million an hour after 292 idle years") {
  token_bucket<no_key, manual_clock> limit({.refill = per_hour(1'000'000)}, manual_clock{earliest.time_since_epoch()});
  CHECK(limit.allow(cost{1'000'000}).outcome == verdict::admitted);
  CHECK(limit.allow().outcome == verdict::limited);
  CHECK(limit.allow_at(on(latest.time_since_epoch()), cost{1'000'000}).outcome == verdict::admitted);
  CHECK(limit.allow_at(on(latest.time_since_epoch()), cost{1}).outcome == verdict::limited);
}

TEST_CASE("a clock may start anywhere: the first call of a slow bucket of one passes") {
  for (nanoseconds const start :
       {nanoseconds{3'758'770'000'000}, 0ns, 1ns, -1ns, nanoseconds{-1'000h}, nanoseconds::min(), nanoseconds::max()}) {
    token_bucket<no_key, manual_clock> limit({.refill = per(1, 10'000s), .burst = 1}, manual_clock{start});
    INFO(start.count());
    CHECK(limit.allow().outcome == verdict::admitted);
    decision const d = limit.allow();
    CHECK(d.outcome == verdict::limited);
    CHECK(d.retry_after == 10'000s);
  }
}

TEST_CASE("ten at ten a second, asked every 50 ms for a minute, ends included: 610 pass") {
  token_bucket<no_key, manual_clock> limit({.refill = per_second(10), .burst = 10});
  int passed = 0;
  for (nanoseconds t = 0s; t <= 60s; t += 50ms) passed += limit.allow_at(on(t)) ? 1 : 0;
  CHECK(passed == 610);
}

TEST_CASE("80000 a second with a burst of one, asked every microsecond for 10 s") {
  bare<bucket> limit({.refill = per_second(80'000), .burst = 1});
  int passed = 0;
  for (nanoseconds t = 0s; t <= 10s; t += 1us) {
    if (!limit.algorithm().admits(limit.state(), instant{t}, cost{1})) continue;
    limit.charge(t, 1);
    ++passed;
  }
  CHECK(passed <= 800'001);
  CHECK(passed == 10'000'000 / 13 + 1);  // an interval of 12.5 us, and the microsecond in which the poll finds it over
}

TEST_CASE("bytes: 16 MB of burst, 2 MB/s, offered 10 MB/s in steps of a millisecond") {
  token_bucket<no_key, manual_clock> limit({.refill = per_second(2'000'000), .burst = 16'000'000});
  nanoseconds first_refusal = -1ns;
  std::uint64_t passed_in_ten_seconds = 0;
  for (nanoseconds t = 0s; t < 12s; t += 1ms) {
    bool const passed = bool(limit.allow_at(on(t), cost{10'000}));
    if (!passed && first_refusal < 0s) first_refusal = t;
    if (passed && t >= 2s) passed_in_ten_seconds += 10'000;
  }
  CHECK(first_refusal == 1'999ms);
  CHECK(passed_in_ten_seconds >= 20'000'000 - 10'000);
  CHECK(passed_in_ten_seconds <= 20'000'000 + 10'000);
}

TEST_CASE("in any closed interval of length T at most burst + refill * T passes") {
  struct row {
    rate refill;
    std::int64_t burst;
  };
  for (auto const& r : {row{per_second(3), 5}, row{per_second(7), 1}, row{per_second(12'345), 40},
                        row{per_minute(100), 10}, row{per_second(80'000), 3}}) {
    bare<bucket> limit({.refill = r.refill, .burst = static_cast<std::uint64_t>(r.burst)});
    dice random(8);
    // The units admitted in [s, t] are S(t) - S(before s). With u(t) = S(t) * P - N * t, the bound says that
    // u(t) - u(before s) <= B * P for every s <= t, where the units at s are not yet in u(before s).
    std::int64_t const P = r.refill.period.count(), N = static_cast<std::int64_t>(r.refill.count);
    std::int64_t sum = 0, least = 0, most_in_excess = 0;
    nanoseconds now = 0s;
    for (int i = 0; i < 100'000 && sum < 4'000'000; ++i) {
      now += random.below(3) == 0 ? 0ns : random.up_to(nanoseconds{2 * P / N});
      if (now > 100s) break;
      auto const units = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(r.burst)));
      std::int64_t const before = sum * P - N * now.count();
      least = i == 0 ? before : std::min(least, before);
      if (limit.allow(now, static_cast<std::uint64_t>(units))) sum += units;
      most_in_excess = std::max(most_in_excess, sum * P - N * std::int64_t{now.count()} - least);
    }
    INFO(r.refill.count << " per " << P << " ns, burst " << r.burst);
    CHECK(sum > r.burst);
    CHECK(most_in_excess <= r.burst * P);
  }
}

TEST_CASE("a reading that lags admits no more than the newer one would have") {
  for (bool const asked_behind : {false, true}) {
    token_bucket<no_key, manual_clock> limit({.refill = per_second(10), .burst = 5});
    CHECK(limit.allow_at(on(10s), cost{4}).outcome == verdict::admitted);
    decision const behind = limit.peek_at(on(9s), cost{1});
    if (asked_behind) CHECK(limit.allow_at(on(9s), cost{1}) == behind);
    CHECK(limit.allow_at(on(10s), cost{5}).outcome == verdict::limited);
    if (!behind) CHECK(limit.peek_at(on(9s) + behind.retry_after, cost{1}).outcome == verdict::admitted);
  }
}

TEST_CASE("a decision says what is left, and when more comes") {
  token_bucket<no_key, manual_clock> limit({.refill = per_second(2), .burst = 10});
  decision d = limit.peek_at(on(0s), cost{0});
  CHECK(d == decision{.limit = 10, .remaining = 10});
  d = limit.allow_at(on(0s), cost{4});
  CHECK(d == decision{.limit = 10, .remaining = 6, .reset_after = 2s, .next_after = 500ms});
  d = limit.peek_at(on(300ms), cost{0});
  CHECK(d == decision{.limit = 10, .remaining = 6, .reset_after = 1'700ms, .next_after = 200ms});
  d = limit.allow_at(on(300ms), cost{7});
  CHECK(d == decision{.outcome = verdict::limited,
                      .limit = 10,
                      .remaining = 6,
                      .retry_after = 200ms,
                      .reset_after = 1'700ms,
                      .next_after = 200ms});
  d = limit.allow_at(on(300ms), cost{11});
  CHECK(d == decision{.outcome = verdict::never,
                      .limit = 10,
                      .remaining = 6,
                      .retry_after = nanoseconds::max(),
                      .reset_after = 1'700ms,
                      .next_after = 200ms});
  limit.charge_at(on(300ms), cost{16});
  d = limit.peek_at(on(300ms), cost{0});
  CHECK(d == decision{.limit = 10, .remaining = 0, .reset_after = 9'700ms, .next_after = 5'200ms});
}

TEST_CASE("what was charged and refunded for that instant was never charged") {
  bare<bucket> limit({.refill = per_second(3), .burst = 10});
  limit.charge(1s, 4);
  auto const before = limit.state();
  limit.charge(1'200ms, 3);
  limit.refund(1'200ms, 3);
  CHECK(limit.state() == before);
  limit.charge(9s, 7);  // on a state that had recovered meanwhile
  limit.refund(9s, 7);
  CHECK(limit.state() == bucket::state{});
  limit.refund(9s, 7);
  CHECK(limit.state() == bucket::state{});
}

TEST_CASE("a part of a charge can be given back, and never more than was used") {
  bare<bucket> limit({.refill = per_second(1), .burst = 10});
  limit.charge(0s, 6);
  limit.refund(0s, 2);
  CHECK(limit.peek(0s, 0).remaining == 6);
  limit.refund(0s, 1'000);
  CHECK(limit.peek(0s, 0).remaining == 10);
  limit.charge(0s, 6);
  limit.refund(0s, ~std::uint64_t{0});
  CHECK(limit.peek(0s, 0).remaining == 10);
}

TEST_CASE("refill_within leaves room for the burst") {
  CHECK(refill_within(per(100, 10s), 40) == per(60, 10s));
  CHECK(refill_within(per(100, 10s), 99) == per(1, 10s));
  CHECK(refill_within(per(100, 10s), 1) == per(99, 10s));

  // At its worst: the whole burst at once, then as fast as it goes.
  token_bucket<no_key, manual_clock> limit({.refill = refill_within(per(100, 10s), 40), .burst = 40});
  int passed = 0;
  for (nanoseconds t = 0s; t <= 10s; t += 1ms)
    while (limit.allow_at(on(t))) ++passed;
  CHECK(passed == 100);
}

TEST_CASE("admitting and charging in one step charges nothing that is refused") {
  algorithm::token_bucket const a({.refill = per_second(1), .burst = 3});
  algorithm::token_bucket::state s;
  CHECK(a.admit(s, instant{1s}, cost{2}));
  auto const before = s;
  CHECK_FALSE(a.admit(s, instant{1s}, cost{2}));
  CHECK(s == before);
  CHECK(a.admit(s, instant{1s}, cost{0}));
  CHECK(s == before);
}
