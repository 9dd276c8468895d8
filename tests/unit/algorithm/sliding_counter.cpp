// algorithm/sliding_counter.hpp: the estimate, its rule in wide integers, and how far it can be wrong.

#include <penstock/limiters.hpp>

#include "../random.hpp"
#include "../timeline.hpp"

#include <cstdint>
#include <limits>
#include <vector>

using namespace penstock;
using namespace timeline;

namespace {
using counter = algorithm::sliding_counter;
}

TEST_CASE("80 before and 30 now, a quarter into the window: the estimate is 90 of 100") {
  bare<counter> limit({.limit = per(100, 60s)});
  limit.charge(10s, 80);
  limit.charge(60s, 30);
  decision const d = limit.peek(75s);
  CHECK(d.outcome == verdict::admitted);
  CHECK(d.remaining == 9);
  CHECK(limit.peek(75s, 10).outcome == verdict::admitted);
  CHECK(limit.peek(75s, 11).outcome == verdict::limited);
}

TEST_CASE("one in ten seconds") {
  holds<counter>({.limit = per(1, 10s)}, {admitted(0s), limited(9'900ms, 100ms + 1ns), admitted(20s)});
}

TEST_CASE("the estimate falls as the window moves, and each wait is exact") {
  holds<counter>(
      {.limit = per(100, 60s)},
      {admitted(10s, 80), admitted(60s, 20), limited(60s, 48s + 1ns, 65), limited(60s, 1ns), limited(75s, 1ns, 21),
       admitted(75s, 20), never(75s, 101), limited(75s, 1ns), limited(75s, 15s + 1ns, 21), admitted(120s, 60)});
  holds<counter>({.limit = per(10, 10s)}, {admitted(-10s, 10), limited(-5s, 5s + 1ns), limited(0s, 1ns), admitted(1ns),
                                           limited(1ns, 1s), limited(10s, 1ns, 10), admitted(10s, 9)});
}

TEST_CASE("requests bunched at the end of a window are underestimated: up to twice the limit within one period") {
  sliding_counter<no_key, manual_clock> limit({.limit = per(100, 60s)});
  CHECK(limit.allow_at(on(60s - 1ms), cost{100}));
  int passed = 100;
  nanoseconds last = 0s;
  for (nanoseconds t = 60s; t < 120s - 1ms; t += 1ms)
    if (limit.allow_at(on(t))) {
      ++passed;
      last = t;
    }
  CHECK(passed > 100);   // more than a log would let through
  CHECK(passed <= 200);  // and never more than the header says
  CHECK(passed == 200);  // which is reached
  CHECK(last - (60s - 1ms) < 60s);
}

TEST_CASE(
    "requests bunched at the start of a window are overestimated: what a log would admit is refused, up to all of it") {
  sliding_counter<no_key, manual_clock> limit({.limit = per(100, 60s)});
  sliding_log<no_key, manual_clock> log({.limit = per(100, 60s)});
  CHECK(limit.allow_at(on(0s), cost{100}));
  CHECK(log.allow_at(on(0s), cost{100}));
  int by_counter = 0, by_log = 0;
  for (int i = 0; i < 100; ++i) {
    by_counter += limit.allow_at(on(60s)) ? 1 : 0;
    by_log += log.allow_at(on(60s)) ? 1 : 0;
  }
  CHECK(by_counter == 0);
  CHECK(by_log == 100);
  CHECK(limit.peek_at(on(60s + 1ns)).outcome == verdict::admitted);
  CHECK(limit.peek_at(on(90s), cost{50}).outcome == verdict::admitted);
  CHECK(limit.peek_at(on(90s), cost{51}).outcome == verdict::limited);
}

TEST_CASE("never more than the limit in one aligned window, and never more than twice it in any period") {
  constexpr std::uint64_t most = 20;
  sliding_counter<no_key, manual_clock> limit({.limit = per(most, 10s)});
  dice random(17);
  struct admission {
    nanoseconds at;
    std::uint64_t units;
  };
  std::vector<admission> all;
  nanoseconds now = 0s;
  int wrong = 0;
  std::size_t oldest = 0;
  std::uint64_t in_period = 0, in_window = 0;
  for (int i = 0; i < 200'000; ++i) {
    nanoseconds const before = now;
    now += random.up_to(1s);
    if (now / 10s != before / 10s) in_window = 0;
    std::uint64_t const units = 1 + random.below(3);
    if (!limit.allow_at(on(now), cost{units})) continue;
    all.push_back({now, units});
    in_period += units;
    in_window += units;
    for (; all[oldest].at <= now - 10s; ++oldest) in_period -= all[oldest].units;
    if (in_period > 2 * most || in_window > most) ++wrong;
  }
  CHECK(all.size() > 100'000);
  CHECK(wrong == 0);
}

TEST_CASE("the rule is exact where products need 128 bits") {
  constexpr std::uint64_t most = 2'147'483'647;
  constexpr nanoseconds window = longest_period / 2;
  bare<counter> limit({.limit = per(most, window)});
  limit.charge(0s, most);
  CHECK(limit.peek(window).retry_after == 1ns);
  decision const d = limit.peek(window, most / 2);
  CHECK(d.outcome == verdict::limited);
  CHECK(limit.peek(window + d.retry_after, most / 2).outcome == verdict::admitted);
  CHECK(limit.peek(window + d.retry_after - 1ns, most / 2).outcome == verdict::limited);
  // L * (W - e) < (L - c + 1) * W once e > W * (c - 1) / L
  CHECK(d.retry_after.count() == 788'939'998'897'863'552);
}

TEST_CASE("the smallest window") {
  holds<counter>({.limit = per(2, 1ns)}, {admitted(0ns, 2), limited(0ns, 2ns), admitted(2ns, 2), limited(3ns, 1ns)});
}

TEST_CASE("a decision of a counter says when the estimate has fallen by one and when all is forgotten") {
  sliding_counter<no_key, manual_clock> limit({.limit = per(10, 10s)});
  CHECK(limit.peek_at(on(5s), cost{0}) == decision{.limit = 10, .remaining = 10});
  CHECK(limit.allow_at(on(5s), cost{5}) ==
        decision{.limit = 10, .remaining = 5, .reset_after = 15s, .next_after = 5s + 1ns});
  CHECK(limit.allow_at(on(5s), cost{5}) ==
        decision{.limit = 10, .remaining = 0, .reset_after = 15s, .next_after = 5s + 1ns});
  CHECK(limit.peek_at(on(15s), cost{0}) == decision{.limit = 10, .remaining = 5, .reset_after = 5s, .next_after = 1ns});
  CHECK(limit.peek_at(on(15s), cost{7}) == decision{.outcome = verdict::limited,
                                                    .limit = 10,
                                                    .remaining = 5,
                                                    .retry_after = 1s + 1ns,
                                                    .reset_after = 5s,
                                                    .next_after = 1ns});
  CHECK(limit.peek_at(on(20s), cost{0}) == decision{.limit = 10, .remaining = 10});
}

TEST_CASE("the current window and the one before can be refunded, older ones cannot") {
  bare<counter> limit({.limit = per(10, 10s)});
  limit.charge(5s, 4);
  limit.charge(15s, 3);
  limit.refund(5s, 1);
  CHECK(limit.state() == counter::state{.end = 20'000'000'000, .previous = 3, .current = 3});
  limit.refund(15s, 2);
  CHECK(limit.state() == counter::state{.end = 20'000'000'000, .previous = 3, .current = 1});
  limit.refund(-1ns, 10);
  limit.refund(20s, 10);
  CHECK(limit.state() == counter::state{.end = 20'000'000'000, .previous = 3, .current = 1});
  limit.refund(9s, 100);
  limit.refund(10s, 100);
  CHECK(limit.state() == counter::state{});
}

TEST_CASE("a counter forgets two windows after the last count") {
  bare<counter> limit({.limit = per(10, 10s)});
  limit.charge(5s, 10);
  CHECK(limit.algorithm().fresh_at(limit.state()) == instant{20s});
  CHECK(limit.peek(20s, 10).outcome == verdict::admitted);
  CHECK(limit.peek(19s, 10).outcome == verdict::limited);
  CHECK(limit.peek(20s - 1ns, 0).reset_after == 1ns);
  CHECK(limit.peek(1h, 10).outcome == verdict::admitted);
}

TEST_CASE("a reading that lags sees the stored window's start") {
  sliding_counter<no_key, manual_clock> limit({.limit = per(10, 10s)});
  CHECK(limit.allow_at(on(5s), cost{10}));
  CHECK(limit.allow_at(on(15s), cost{5}));
  decision const d = limit.allow_at(on(9s));
  CHECK(d.outcome == verdict::limited);
  CHECK(limit.peek_at(on(9s) + d.retry_after).outcome == verdict::admitted);
  CHECK(limit.peek_at(on(9s) + d.retry_after - 1ns).outcome == verdict::limited);
}

TEST_CASE("a clock set back by more than clocks lag finds a full window there") {
  bare<counter> limit({.limit = per(10, 10s)});
  limit.charge(1'005s, 1);
  auto state = limit.state();
  CHECK_FALSE(limit.algorithm().reanchor(state, instant{940s}));
  CHECK(limit.peek(940s, 9).outcome == verdict::admitted);
  CHECK(limit.algorithm().reanchor(state, instant{940s - 1ns}));
  CHECK(state == counter::state{.end = 940'000'000'000, .previous = 0, .current = 10});
  CHECK(limit.peek(940s - 1ns, 1).outcome == verdict::limited);
}

TEST_CASE("the join of two counters is at least as strict as both, from the later one on") {
  counter const a({.limit = per(10, 10s)});
  dice random(18);
  int wrong = 0;
  for (int i = 0; i < 2'000; ++i) {
    counter::state one, two;
    for (auto* s : {&one, &two}) {
      nanoseconds now = 0s;
      for (std::uint64_t n = random.below(4); n > 0; --n)
        a.charge(*s, instant{now += random.up_to(8s)}, cost{1 + random.below(5)});
    }
    counter::state const both = a.join(one, two);
    if (a.join(two, one) != both) ++wrong;
    nanoseconds const from{std::max(one.end, two.end) - 10'000'000'000};
    for (nanoseconds t = from; t < from + 40s; t += 700ms) {
      auto const left = [&](counter::state const& s) { return a.describe(s, instant{t}, cost{0}).remaining; };
      if (left(both) > left(one) || left(both) > left(two)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a debt is at most one limit") {
  bare<counter> limit({.limit = per(2'147'483'647, 10s)});
  limit.charge(0s, ~std::uint64_t{0});
  CHECK(limit.state().current == 4'294'967'294U);
  CHECK(limit.peek(0s).retry_after == 15s + 1ns);  // 2L * (W - e) < L * W only after half the next window
  CHECK(limit.peek(20s, 2'147'483'647).outcome == verdict::admitted);
}

TEST_CASE("a clock that is set from one end of time to the other finds the window long gone") {
  for (nanoseconds const w : {nanoseconds{1ns}, nanoseconds{200s}, nanoseconds{longest_period}}) {
    counter const a({.limit = {5, w}});
    counter::state s{};
    a.charge(s, earliest, cost{5});
    CHECK(a.describe(s, latest, cost{5}).outcome == verdict::admitted);
    a.charge(s, latest, cost{1});
    CHECK(s.previous == 0);
    CHECK(s.current == 1);
  }
}

TEST_CASE("the reset after a window of decades is exact, though it lies beyond all readings") {
  constexpr nanoseconds w = longest_period - nanoseconds{1};
  counter const a({.limit = {1, w}});
  decision const d = a.describe({}, instant{w}, cost{1});
  CHECK(d.reset_after == 2 * w);
  CHECK(d.next_after == w + nanoseconds{1});
}

TEST_CASE("a window of a snapshot that never was is brought into time") {
  counter const a({.limit = per(5, 10s)});
  for (std::int64_t const end : {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    counter::state s = a.absolute({.end = end, .previous = 4, .current = 4}, instant{});
    CHECK(a.describe(s, instant{}, cost{1}).retry_after <= 2 * 10s + 60s);
    a.refund(s, instant{}, cost{1});
    a.charge(s, instant{}, cost{1});
    CHECK(a.describe(s, instant{}, cost{1}).remaining < 5);
  }
}

TEST_CASE("an empty state has no time that could be lost") {
  counter const a({.limit = per(3, 10s)});
  counter::state s;
  CHECK_FALSE(a.reanchor(s, instant{-24h}));
  CHECK(s == counter::state{});
}
