// algorithm/leaky_queue.hpp: the meter with a promise.

#include <penstock/limiters.hpp>

#include "../random.hpp"
#include "../timeline.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace penstock;
using namespace timeline;

namespace {

using queue = algorithm::leaky_queue;

/// The delays promised to a number of calls at once; -1 for those refused.
template <class Limiter>
std::vector<nanoseconds> delays(Limiter& limit, nanoseconds at, int calls) {
  std::vector<nanoseconds> all;
  for (; calls > 0; --calls) {
    decision const d = limit.allow_at(on(at));
    all.push_back(d ? d.delay : -1ns);
  }
  return all;
}

}  // namespace

TEST_CASE("a queue of six at two a second, nine at once: six wait their turn, three are refused") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(2), .capacity = 6});
  CHECK(delays(limit, 0s, 9) == std::vector<nanoseconds>{500ms, 1s, 1'500ms, 2s, 2'500ms, 3s, -1ns, -1ns, -1ns});
  holds<queue>({.drain = per_second(2), .capacity = 6},
               {admitted(0s, 6), limited(0s, 500ms), limited(0s, 1s, 2), limited(499'999'999ns, 1ns), admitted(500ms),
                never(500ms, 7)});
}

TEST_CASE("after an idle hour a bucket lets ten through at once, a queue one after another") {
  token_bucket<no_key, manual_clock> bucket({.refill = per_second(1), .burst = 10});
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(1), .capacity = 10});
  CHECK(delays(bucket, 1h, 10) == std::vector<nanoseconds>(10, 0s));
  CHECK(delays(limit, 1h, 10) == std::vector<nanoseconds>{1s, 2s, 3s, 4s, 5s, 6s, 7s, 8s, 9s, 10s});
  CHECK(delays(limit, 1h, 1) == std::vector<nanoseconds>{-1ns});
}

TEST_CASE("a cost takes as many places and leaves with its last unit") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(1), .capacity = 10});
  CHECK(limit.allow_at(on(0s), cost{3}).delay == 3s);
  CHECK(limit.allow_at(on(0s), cost{1}).delay == 4s);
  CHECK(limit.allow_at(on(2s), cost{1}).delay == 3s);
  CHECK(limit.allow_at(on(2s), cost{8}).retry_after == 1s);
}

TEST_CASE("who leaves now no longer waits now") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(1), .capacity = 1});
  CHECK(limit.allow_at(on(0s)).delay == 1s);
  CHECK(limit.allow_at(on(1s - 1ns)).outcome == verdict::limited);
  CHECK(limit.allow_at(on(1s)).delay == 1s);
}

TEST_CASE("no delay exceeds capacity / drain, and delays round up") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(3), .capacity = 7});
  CHECK(delays(limit, 0s, 8) == std::vector<nanoseconds>{333'333'334ns, 666'666'667ns, 1s, 1'333'333'334ns,
                                                         1'666'666'667ns, 2s, 2'333'333'334ns, -1ns});
  dice random(10);
  nanoseconds now = 0s, worst = 0s;
  for (int i = 0; i < 100'000; ++i) {
    now += random.up_to(300ms);
    decision const d = limit.allow_at(on(now), cost{1 + random.below(7)});
    if (d) worst = std::max(worst, d.delay);
    if (!d) CHECK_FALSE(d.delay > 0s);
  }
  CHECK(worst > 2s);
  CHECK(worst <= 2'333'333'334ns);
}

TEST_CASE("departures are one interval apart, whatever the arrivals") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(4), .capacity = 5});
  dice random(11);
  nanoseconds now = 0s, last = -1h;
  int too_close = 0, out_of_order = 0;
  for (int i = 0; i < 100'000; ++i) {
    now += random.up_to(400ms);
    std::uint64_t const units = 1 + random.below(3);
    decision const d = limit.allow_at(on(now), cost{units});
    if (!d) continue;
    nanoseconds const leaves = now + d.delay;
    if (leaves - last < static_cast<std::int64_t>(units) * 250ms) ++too_close;
    if (leaves < now + 250ms) ++out_of_order;
    last = leaves;
  }
  CHECK(too_close == 0);
  CHECK(out_of_order == 0);
}

TEST_CASE("1500 a second, never empty for ten seconds: 15000 leave") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(1'500), .capacity = 100});
  int left = 0;
  for (nanoseconds t = 0s; t <= 10s; t += 1ms)
    while (decision const d = limit.allow_at(on(t)))
      if (t + d.delay <= 10s) ++left;
  CHECK(left >= 14'999);
  CHECK(left <= 15'001);
}

TEST_CASE("a queue admits what a meter admits, on a million random steps with weights") {
  leaky_meter<no_key, manual_clock> meter({.drain = per_second(7), .capacity = 12});
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(7), .capacity = 12});
  dice random(12);
  nanoseconds now = 0s;
  int different = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    now += random.up_to(500ms);
    cost const c{random.below(14)};
    nanoseconds const asked = random.below(10) == 0 ? now - random.up_to(2s) : now;
    decision const m = meter.allow_at(on(asked), c);
    decision q = limit.allow_at(on(asked), c);
    if (q && c.units != 0 && q.delay != q.reset_after) ++different;
    q.delay = {};
    if (m != q) ++different;
  }
  CHECK(different == 0);
}

TEST_CASE("the last promise can be given back, an earlier one cannot") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(1), .capacity = 10});
  CHECK(limit.allow_at(on(0s), cost{3}).delay == 3s);
  CHECK(limit.allow_at(on(1s), cost{2}).delay == 4s);
  limit.refund_at(on(0s), cost{3});  // somebody waits behind it
  CHECK(limit.peek_at(on(1s)).delay == 5s);
  limit.refund_at(on(1s), cost{2});
  CHECK(limit.peek_at(on(1s)).delay == 3s);
}

TEST_CASE("a promise is given back once: the one before it stays a promise") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(1), .capacity = 10});
  CHECK(limit.allow_at(on(0s), cost{3}).delay == 3s);
  CHECK(limit.allow_at(on(1s), cost{1}).delay == 3s);
  limit.refund_at(on(1s), cost{1});
  limit.refund_at(on(1s), cost{1});
  CHECK(limit.peek_at(on(1s)).delay == 3s);  // at 3 s leaves who came at 0 s; at 2 s nobody may
}

TEST_CASE("a promise of an empty queue leaves nothing behind when it is given back") {
  bare<queue> limit({.drain = per_second(1), .capacity = 10});
  limit.charge(5s, 4);
  limit.refund(5s, 4);
  CHECK(limit.state() == queue::state{});
  limit.charge(5s, 4);
  limit.refund(5s, 1'000);
  CHECK(limit.state() == queue::state{});
}

TEST_CASE("cost zero is promised nothing") {
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(1), .capacity = 2});
  CHECK(limit.allow_at(on(0s), cost{2}).delay == 2s);
  decision const d = limit.allow_at(on(0s), cost{0});
  CHECK(d == decision{.limit = 2, .remaining = 0, .reset_after = 2s, .next_after = 1s});
}

TEST_CASE("of promises made at one instant a ticket gives back its own, and only the last") {
  manual_clock clock{1000s};
  leaky_queue<no_key, manual_clock> limit({.drain = per_second(1), .capacity = 10}, clock);
  auto first = limit.take(clock.now(), no_key{}, cost{3});
  auto second = limit.take(clock.now(), no_key{}, cost{1});
  limit.undo(std::move(first));
  CHECK(delays(limit, 1000s, 1) == std::vector<nanoseconds>{5s});
  limit.undo(std::move(second));  // no longer the last
  CHECK(delays(limit, 1000s, 1) == std::vector<nanoseconds>{6s});
  auto third = limit.take(clock.now(), no_key{}, cost{1});
  limit.give_back(third, cost{0});
  limit.undo(std::move(third));
  CHECK(delays(limit, 1000s, 1) == std::vector<nanoseconds>{7s});
}

TEST_CASE("cost 0 is admitted however short the patience") {
  leaky_queue<no_key, manual_clock> line({.drain = per_second(1), .capacity = 10});
  leaky_meter<no_key, manual_clock> meter({.drain = per_second(1), .capacity = 10});
  CHECK(line.allow_within(-1ns, cost{0}));
  CHECK(meter.allow_within(-1ns, cost{0}));
}
