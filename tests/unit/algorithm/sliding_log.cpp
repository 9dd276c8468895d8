// algorithm/sliding_log.hpp, and the ring that is its memory: algorithm/instant_ring.hpp.

#include <penstock/limiters.hpp>

#include "../allocations.hpp"
#include "../random.hpp"
#include "../timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

using namespace penstock;
using namespace timeline;

namespace {
using log_of_instants = algorithm::sliding_log;
}

TEST_CASE("two in ten seconds: an entry exactly ten seconds old has expired") {
  holds<log_of_instants>({.limit = per(2, 10s)},
                         {admitted(0s), admitted(1s), limited(5s, 5s), limited(9'999'999'999ns, 1ns), admitted(10s),
                          limited(10s, 1s), admitted(11s), limited(11s, 9s)});
}

TEST_CASE("more than the limit never passes and leaves the log as it was; all of it passes at once") {
  holds<log_of_instants>({.limit = per(10, 60s)}, {never(0s, 11), admitted(0s, 10), limited(0s, 60s), never(59s, 11),
                                                   limited(59s, 1s, 10), admitted(60s, 10)});
  bare<log_of_instants> limit({.limit = per(10, 60s)});
  CHECK(limit.allow(0s, 11).outcome == verdict::never);
  CHECK(limit.state().empty());
}

TEST_CASE("what has expired is let go when the next is written") {
  bare<log_of_instants> limit({.limit = per(3, 10s)});
  for (nanoseconds const t : {0s, 1s, 2s}) CHECK(limit.allow(t));
  CHECK(limit.allow(25s));
  CHECK(limit.state().size() == 1);
}

TEST_CASE("the wait for a weighty call is until enough old ones have expired") {
  holds<log_of_instants>(
      {.limit = per(10, 60s)},
      {admitted(0s, 3), admitted(10s, 4), admitted(20s, 3), limited(30s, 30s, 1), limited(30s, 30s, 3),
       limited(30s, 40s, 4), limited(30s, 40s, 7), limited(30s, 50s, 8), limited(30s, 50s, 10), admitted(60s, 3)});
}

TEST_CASE("never more than the limit in any half-open window, on a million random steps") {
  constexpr std::uint64_t most = 25;
  constexpr nanoseconds window = 10s;
  sliding_log<no_key, manual_clock> limit({.limit = per(most, window)});
  dice random(14);
  std::deque<std::pair<nanoseconds, std::uint64_t>> entries;
  std::uint64_t inside = 0;
  nanoseconds now = 0s;
  int wrong = 0, passed = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    now += random.below(3) == 0 ? 0ns : random.up_to(700ms);
    while (!entries.empty() && entries.front().first <= now - window) {
      inside -= entries.front().second;
      entries.pop_front();
    }
    std::uint64_t const units = 1 + random.below(4);
    decision const d = limit.allow_at(on(now), cost{units});
    if (bool(d) != (inside + units <= most)) ++wrong;
    if (!d) continue;
    ++passed;
    inside += units;
    entries.emplace_back(now, units);
    if (d.remaining != most - inside) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(passed > 100'000);
}

TEST_CASE("a decision of a log says when the next unit is free and when all are") {
  sliding_log<no_key, manual_clock> limit({.limit = per(5, 10s)});
  CHECK(limit.peek_at(on(0s), cost{0}) == decision{.limit = 5, .remaining = 5});
  CHECK(limit.allow_at(on(0s), cost{2}) == decision{.limit = 5, .remaining = 3, .reset_after = 10s, .next_after = 10s});
  CHECK(limit.allow_at(on(4s), cost{2}) == decision{.limit = 5, .remaining = 1, .reset_after = 10s, .next_after = 6s});
  CHECK(limit.allow_at(on(6s), cost{4}) == decision{.outcome = verdict::limited,
                                                    .limit = 5,
                                                    .remaining = 1,
                                                    .retry_after = 8s,
                                                    .reset_after = 8s,
                                                    .next_after = 4s});
  CHECK(limit.peek_at(on(14s), cost{0}) == decision{.limit = 5, .remaining = 5});
}

TEST_CASE("a log refunds the units of that very instant, whichever it was") {
  bare<log_of_instants> limit({.limit = per(5, 10s)});
  limit.charge(1s, 2);
  limit.charge(2s, 2);
  limit.charge(3s, 1);
  limit.refund(2s, 1);
  CHECK(limit.peek(3s, 0).remaining == 1);
  limit.refund(2s, 5);
  CHECK(limit.peek(3s, 0).remaining == 2);
  limit.refund(2s, 5);
  limit.refund(1'500ms, 5);
  limit.refund(9s, 5);
  CHECK(limit.peek(3s, 0).remaining == 2);
  CHECK(limit.peek(11s, 0).remaining == 4);
  limit.refund(3s, 1);
  limit.refund(1s, 2);
  CHECK(limit.state() == detail::instant_ring{});
}

TEST_CASE("a reading that lags sees the log as its newest entry did") {
  sliding_log<no_key, manual_clock> limit({.limit = per(3, 10s)});
  CHECK(limit.allow_at(on(0s)));
  CHECK(limit.allow_at(on(10s)));
  CHECK(limit.allow_at(on(9s), cost{2}));  // counted at 10 s
  decision const d = limit.allow_at(on(9s));
  CHECK(d.outcome == verdict::limited);
  CHECK(d.retry_after == 11s);
  CHECK(limit.allow_at(on(20s - 1ns)).outcome == verdict::limited);
  CHECK(limit.allow_at(on(20s), cost{3}).outcome == verdict::admitted);
}

TEST_CASE("a clock set back finds the log fully used at its reading") {
  bare<log_of_instants> limit({.limit = per(3, 10s)});
  limit.charge(1'000s, 1);
  CHECK(limit.peek(940s, 2).outcome == verdict::admitted);
  CHECK(limit.peek(940s - 1ns, 2).retry_after == 10s);
  limit.charge(100s, 1);
  CHECK(limit.peek(100s).retry_after == 10s);
  CHECK(limit.peek(110s, 3).outcome == verdict::admitted);
}

TEST_CASE("the join of two logs has in every window as many units as either") {
  log_of_instants const a({.limit = per(10, 60s)});
  dice random(15);
  int wrong = 0;
  for (int round = 0; round < 500; ++round) {
    detail::instant_ring one, two;
    for (auto* ring : {&one, &two}) {
      nanoseconds now = 0s;
      for (std::uint64_t n = random.below(6); n > 0; --n)
        a.charge(*ring, instant{now += random.up_to(20s)}, cost{1 + random.below(3)});
    }
    detail::instant_ring const both = a.join(one, two);
    std::uint64_t widest = 0;
    for (nanoseconds t = 0s; t <= 200s; t += 500ms) {
      auto const used = [&](detail::instant_ring const& ring) { return ring.units_from(ring.first_after(t.count())); };
      if (used(both) < used(one) || used(both) < used(two)) ++wrong;
      widest = std::max(widest, std::max(used(one), used(two)));
    }
    if (both.units_from(0) > std::max(one.units_from(0), two.units_from(0))) ++wrong;
    if (a.join(two, one) != both || a.join(one, {}) != one || a.join({}, two) != two) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a debt is at most one limit, and gone after one window") {
  bare<log_of_instants> limit({.limit = per(3, 10s)});
  limit.charge(0s, ~std::uint64_t{0});
  CHECK(limit.state().units_from(0) == 6);
  limit.charge(1s, 1);
  CHECK(limit.state().units_from(0) == 6);
  CHECK(limit.peek(1s).retry_after == 9s);
  CHECK(limit.peek(10s, 3).outcome == verdict::admitted);
}

TEST_CASE("memory grows with use, is given back when idle, and is not kept for a log that has expired") {
  auto const before = allocations_so_far().bytes;
  {
    bare<log_of_instants> limit({.limit = per(1'000, 10s)});
    for (int i = 0; i < 1'000; ++i) limit.charge(i * 1ms, 1);
    CHECK(limit.state().size() == 1'000);
    CHECK(limit.state().capacity() == 1'024);
    CHECK(allocations_so_far().bytes - before == 1'024 * 16);

    limit.charge(10'900ms, 1);  // 99 of the old ones are left
    CHECK(limit.state().size() == 100);
    CHECK(limit.state().capacity() <= 512);
    limit.charge(10'990ms, 1);
    limit.charge(10'991ms, 1);
    limit.charge(10'992ms, 1);
    limit.charge(10'993ms, 1);
    CHECK(limit.state().capacity() <= 32);
    limit.charge(1h, 1);
    CHECK(limit.state().size() == 1);
    CHECK(limit.state().capacity() <= 16);
    limit.refund(1h, 1);
    CHECK(limit.state().capacity() == 0);
    CHECK(allocations_so_far().bytes == before);
  }
  CHECK(allocations_so_far().bytes == before);
}

TEST_CASE("units of one instant share an entry") {
  bare<log_of_instants> limit({.limit = per(1'000'000, 10s)});
  for (int i = 0; i < 1'000'000; ++i) limit.charge(5s, 1);
  CHECK(limit.state().size() == 1);
  CHECK(limit.peek(5s).outcome == verdict::limited);
}

TEST_CASE("a limiter's logs give their memory back too") {
  sliding_log<int, manual_clock> limit({.limit = per(1'000, 10s)}, {.max_keys = 100});
  CHECK(limit.allow_at(on(0s), 1));
  auto const before = allocations_so_far().bytes;
  for (int i = 1; i < 1'000; ++i) static_cast<void>(limit.allow_at(on(i * 1us), 1));
  CHECK(allocations_so_far().bytes > before + 10'000);
  for (int i = 0; i < 10; ++i) CHECK(limit.allow_at(on(60s), 1));
  CHECK(allocations_so_far().bytes <= before + 300);
}

// ---- the ring -------------------------------------------------------------------------------------------------------

TEST_CASE("the ring finds by age and by amount what a list of entries would") {
  struct entry {
    std::int64_t at;
    std::uint64_t units;
    bool operator==(entry const&) const = default;
  };
  detail::instant_ring ring;
  std::deque<entry> list;
  dice random(16);
  std::int64_t now = -1'000;
  int wrong = 0;
  for (int i = 0; i < 50'000; ++i) {
    switch (random.below(list.size() > 60 ? 6 : 4)) {
      default: {
        now += static_cast<std::int64_t>(random.below(3));
        std::uint64_t const units = 1 + random.below(5);
        ring.add(now, units);
        if (!list.empty() && list.back().at == now)
          list.back().units += units;
        else
          list.push_back({now, units});
        break;
      }
      case 3:
      case 4:
        if (!list.empty()) {
          std::size_t const which = random.below(list.size());
          std::uint64_t const units = random.below(7);
          ring.take(which, units);
          list[which].units -= std::min(list[which].units, units);
          if (list[which].units == 0) list.erase(list.begin() + static_cast<std::ptrdiff_t>(which));
        }
        break;
      case 5: {
        std::size_t const n = random.below(list.size() + 1);
        ring.drop_front(n);
        list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(n));
      }
    }
    if (ring.size() != list.size() || ring.empty() != list.empty() || ring.capacity() < ring.size()) ++wrong;
    std::uint64_t sum = 0;
    for (std::size_t k = list.size(); k-- > 0;) {
      sum += list[k].units;
      if (ring.at(k) != list[k].at || ring.units(k) != list[k].units || ring.units_from(k) != sum) ++wrong;
    }
    if (ring.units_from(ring.size()) != 0) ++wrong;
    if (list.empty()) continue;
    if (ring.newest() != list.back().at) ++wrong;

    std::int64_t const t = now - static_cast<std::int64_t>(random.below(100));
    std::size_t after = 0;
    while (after < list.size() && list[after].at <= t) ++after;
    if (ring.first_after(t) != after) ++wrong;

    std::size_t const from = random.below(list.size());
    std::uint64_t const wanted = 1 + random.below(100);
    std::uint64_t reached = 0;
    std::size_t at = from;
    for (; at < list.size(); ++at)
      if ((reached += list[at].units) >= wanted) break;
    if (ring.reaching(from, wanted) != at) ++wrong;

    if (i % 100 == 0) {
      detail::instant_ring copy = ring;
      if (copy != ring) ++wrong;
      detail::instant_ring moved = std::move(copy);
      if (moved != ring) ++wrong;
      copy = moved;
      copy.add(now, 1);
      if (copy == ring) ++wrong;
      ring = moved;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("logs of as many units at other instants are not the same") {
  algorithm::sliding_log::state a, b, c;
  a.add(1, 2);
  b.add(2, 2);
  c.add(1, 2);
  CHECK_FALSE(a == b);
  CHECK(a == c);
}
