// algorithm/fixed_window.hpp

#include <penstock/limiters.hpp>

#include "../allocations.hpp"
#include "../random.hpp"
#include "../timeline.hpp"

#include <cstdint>
#include <limits>
#include <map>

using namespace penstock;
using namespace timeline;

namespace {
using window = algorithm::fixed_window;
constexpr nanoseconds day = 24h;
}  // namespace

TEST_CASE("three in ten seconds, aligned: an instant at the boundary belongs to the new window") {
  holds<window>({.limit = per(3, 10s)}, {admitted(8s), admitted(9s), admitted(9s), limited(9'500ms, 500ms),
                                         admitted(10s), admitted(11s), admitted(12s), limited(13s, 7s)});
  holds<window>({.limit = per(3, 10s)}, {admitted(10s - 1ns, 3), limited(10s - 1ns, 1ns), admitted(10s, 3),
                                         limited(10s, 10s), limited(20s - 1ns, 1ns), admitted(20s, 3)});
}

TEST_CASE(
    "a window that starts at the first request ends one period later, and the next starts with whoever comes next") {
  holds<window>(
      {.limit = per(3, 10s), .starts = window_start::first_request},
      {admitted(7s), admitted(9s), admitted(16s), limited(16'500ms, 500ms), limited(17s - 1ns, 1ns), admitted(17s),
       admitted(26s, 2), limited(26s, 1s), admitted(40s), limited(43s, 7s, 3), admitted(50s, 3)});
}

TEST_CASE("windows are aligned before the epoch too") {
  holds<window>({.limit = per(3, 10s)}, {admitted(-13s), admitted(-12s, 2), limited(-11s, 1s), admitted(-10s, 3),
                                         limited(-1ns, 1ns), admitted(0s, 3), limited(0s, 10s)});
}

TEST_CASE("five in a year: the sixth, a month later, is refused for the rest of it") {
  holds<window>({.limit = per(5, 365 * day)},
                {admitted(0s), admitted(0s), admitted(0s), admitted(0s), admitted(0s), limited(30 * day, 335 * day),
                 limited(364 * day, day), admitted(365 * day, 5)});
  holds<window>({.limit = per(5, 365 * day), .starts = window_start::first_request},
                {admitted(day, 5), limited(31 * day, 335 * day), admitted(366 * day, 5)});
}

TEST_CASE("the longest window and the largest limit") {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  holds<window>({.limit = per(most, longest_period)},
                {admitted(0s, most - 1), admitted(0s), limited(0s, longest_period), never(0s, most + 1),
                 never(0s, ~std::uint64_t{0})});
  holds<window>({.limit = per(2, 1ns)}, {admitted(5ns, 2), limited(5ns, 1ns), admitted(6ns, 2), limited(6ns, 1ns)});
}

TEST_CASE("a refused call takes nothing: smaller ones keep passing") {
  holds<window>({.limit = per(10, 10s)},
                {admitted(0s, 7), limited(1s, 9s, 4), admitted(1s, 3), never(2s, 11), limited(2s, 8s)});
}

TEST_CASE("a limit of 500 and one of 5000 use the same memory") {
  auto const memory_of = [](std::uint64_t limit) {
    fixed_window<no_key, manual_clock> counts({.limit = per_day(limit)});
    auto const taken = allocations_of([&] {
      for (std::uint64_t i = 0; i < limit; ++i) static_cast<void>(counts.allow());
    });
    CHECK(taken.made == 0);
    CHECK(counts.allow().outcome == verdict::limited);
    return sizeof counts;
  };
  CHECK(memory_of(500) == memory_of(5'000));
}

TEST_CASE("never more than the limit inside a window, and up to twice as many around a boundary") {
  fixed_window<no_key, manual_clock> limit({.limit = per(7, 10s)});
  dice random(13);
  nanoseconds now = -1'000s;
  std::map<std::int64_t, std::uint64_t> counts;
  for (int i = 0; i < 100'000; ++i) {
    now += random.up_to(3s);
    std::uint64_t const units = 1 + random.below(4);
    std::int64_t const number = (now + 10'000'000s) / 10s;
    bool const passed = bool(limit.allow_at(on(now), cost{units}));
    if (passed != (counts[number] + units <= 7)) FAIL("at " << now.count());
    if (passed) counts[number] += units;
  }
  fixed_window<no_key, manual_clock> twice({.limit = per(7, 10s)});
  CHECK(twice.allow_at(on(10s - 1ns), cost{7}).outcome == verdict::admitted);
  CHECK(twice.allow_at(on(10s), cost{7}).outcome == verdict::admitted);
}

TEST_CASE("a decision of a window says when it ends") {
  fixed_window<no_key, manual_clock> limit({.limit = per(3, 10s)});
  CHECK(limit.peek_at(on(8s), cost{0}) == decision{.limit = 3, .remaining = 3});
  CHECK(limit.allow_at(on(8s)) == decision{.limit = 3, .remaining = 2, .reset_after = 2s, .next_after = 2s});
  CHECK(limit.allow_at(on(9s), cost{3}) == decision{.outcome = verdict::limited,
                                                    .limit = 3,
                                                    .remaining = 2,
                                                    .retry_after = 1s,
                                                    .reset_after = 1s,
                                                    .next_after = 1s});
  CHECK(limit.peek_at(on(10s), cost{0}) == decision{.limit = 3, .remaining = 3});
}

TEST_CASE("a window refunds only while it is still that window") {
  fixed_window<no_key, manual_clock> limit({.limit = per(3, 10s)});
  CHECK(limit.allow_at(on(8s), cost{3}));
  limit.refund_at(on(8s), cost{2});
  CHECK(limit.peek_at(on(9s), cost{0}).remaining == 2);
  CHECK(limit.allow_at(on(10s), cost{3}));
  limit.refund_at(on(8s), cost{1});
  CHECK(limit.peek_at(on(10s), cost{0}).remaining == 0);
  limit.refund_at(on(10s), cost{100});
  CHECK(limit.peek_at(on(10s), cost{0}) == decision{.limit = 3, .remaining = 3});
}

TEST_CASE("a refund of all leaves the state of a key never seen, so that the next window may start anywhere") {
  bare<window> limit({.limit = per(3, 10s), .starts = window_start::first_request});
  limit.charge(7s, 2);
  limit.refund(7s, 2);
  CHECK(limit.state() == window::state{});
  limit.charge(12s, 3);
  CHECK(limit.peek(21s).retry_after == 1s);
}

TEST_CASE("a reading that lags uses the stored window") {
  fixed_window<no_key, manual_clock> limit({.limit = per(3, 10s)});
  CHECK(limit.allow_at(on(10s), cost{2}));
  CHECK(limit.allow_at(on(9s), cost{1}));
  decision const d = limit.allow_at(on(9s));
  CHECK(d.outcome == verdict::limited);
  CHECK(d.retry_after == 11s);
  CHECK(limit.allow_at(on(10s)).outcome == verdict::limited);
}

TEST_CASE("a clock set back by more than clocks lag starts a full window there, and nobody is locked out for longer") {
  bare<window> limit({.limit = per(3, 10s)});
  limit.charge(1'005s, 1);
  CHECK(limit.peek(1'010s - 70s, 2).outcome == verdict::admitted);  // 60 s behind the window's start
  decision const d = limit.peek(1'010s - 70s - 1ns, 2);
  CHECK(d.outcome == verdict::limited);
  CHECK(d.retry_after == 1ns);  // in the window [930 s, 940 s)
  auto state = limit.state();
  CHECK(limit.algorithm().reanchor(state, instant{100s}));
  CHECK(state == window::state{.end = 110'000'000'000, .count = 3});
  CHECK_FALSE(limit.algorithm().reanchor(state, instant{100s}));
}

TEST_CASE("the join of two windows is at least as strict as both") {
  window const a({.limit = per(5, 10s)});
  window::state early, late;
  a.charge(early, instant{5s}, cost{4});
  a.charge(late, instant{15s}, cost{1});
  CHECK(a.join(early, late) == window::state{.end = 20'000'000'000, .count = 4});
  CHECK(a.join(late, early) == a.join(early, late));
  CHECK(a.join(early, {}) == early);
  CHECK(a.join({}, late) == late);
}

TEST_CASE("a window that is moved beyond all time stays at its end") {
  window const a({.limit = per(5, 10s), .starts = window_start::first_request});
  constexpr auto most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t const end : {most, least, most / 2, least / 2})
    for (instant const now : {earliest, instant{}, latest}) {
      window::state const s{.end = end, .count = 3};
      for (window::state const& moved : {a.absolute(s, now), a.relative(s, now)})
        CHECK(a.describe(moved, now, cost{1}).retry_after <= 2 * 10s + 60s);
    }
  CHECK(a.absolute({.end = most, .count = 1}, instant{1s}).end == most);
  CHECK(a.relative({.end = least, .count = 1}, instant{1s}).end == least);
}

TEST_CASE("a debt is at most one limit, and gone with its window") {
  bare<window> limit({.limit = per(3, 10s)});
  limit.charge(0s, ~std::uint64_t{0});
  CHECK(limit.state().count == 6);
  limit.refund(0s, 3);
  CHECK(limit.peek(0s).outcome == verdict::limited);
  limit.refund(0s, 1);
  CHECK(limit.peek(0s).outcome == verdict::admitted);
  limit.charge(0s, ~std::uint64_t{0});
  CHECK(limit.peek(10s, 3).outcome == verdict::admitted);
}

TEST_CASE("the largest cost does not wrap around beside what is used") {
  bare<window> limit({.limit = per(3, 10s)});
  limit.charge(0s, 1);
  CHECK(limit.peek(0s, ~std::uint64_t{0}).outcome == verdict::never);
}

TEST_CASE("nothing is made one's own of a window that is over") {
  window const a({.limit = per(3, 10s), .starts = window_start::first_request});
  window::state s;
  a.make_own(s, instant{1s});
  CHECK(s == window::state{});
}
