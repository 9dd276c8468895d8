// algorithm/arrival.hpp: the rate that is really kept, the words, and the readings that fit them.

#include <penstock/algorithm/token_bucket.hpp>

#include "../random.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

using bucket = algorithm::token_bucket;

/// How much slower than the rate asked for, as a fraction.
long double shortfall(rate asked) {
  rate const kept = bucket({.refill = asked, .burst = 1}).true_rate();
  auto const frequency = [](rate r) {
    return static_cast<long double>(r.count) / static_cast<long double>(r.period.count());
  };
  return 1 - frequency(kept) / frequency(asked);
}

bool is_exact(rate asked) {
  rate const kept = bucket({.refill = asked, .burst = 1}).true_rate();
  return detail::multiply(kept.count, static_cast<std::uint64_t>(asked.period.count())) ==
         detail::multiply(asked.count, static_cast<std::uint64_t>(kept.period.count()));
}

}  // namespace

TEST_CASE("common rates are kept exactly") {
  rate const rows[] = {per_second(1),          per_second(2),     per_second(3),     per_second(7),
                       per_minute(100),        per_hour(99),      per_minute(13),    per_second(10),
                       per_second(100),        per_second(1'000), per_second(1'500), per_second(80'000),
                       per_second(10'000'000), per(1, 30 * 24h),  per_day(10'000),   per_hour(1'000'000),
                       per(1, 10'000s),        per(3, 2s),        per(1, 1ns),       per(14, 1ns),
                       per_second(14)};
  for (auto const& r : rows) {
    INFO(r.count << " per " << r.period.count() << " ns");
    CHECK(is_exact(r));
  }
}

TEST_CASE("a rate that cannot be exact is kept a little slower, and says by how much") {
  CHECK_FALSE(is_exact(per_second(12'345)));
  CHECK(shortfall(per_second(12'345)) > 0);
  CHECK(shortfall(per_second(12'345)) < 6e-7L);
}

TEST_CASE("no rate is kept faster than asked for, and none slower by more than 0.2 %") {
  dice random(6);
  int kept = 0, refused = 0, too_fast = 0, too_slow = 0;
  for (int i = 0; i < 50'000; ++i) {
    rate const asked{1 + random.of_any_size(40),
                     1ns + random.up_to(1h) / static_cast<std::int64_t>(1 + random.of_any_size(30))};
    try {
      rate const r = bucket({.refill = asked, .burst = 1}).true_rate();
      ++kept;
      auto const period = [](rate x) { return static_cast<std::uint64_t>(x.period.count()); };
      detail::wide const wanted = detail::multiply(asked.count, period(r)),
                         got = detail::multiply(r.count, period(asked));
      if (got > wanted) ++too_fast;
      if (shortfall(asked) > 0.002L) ++too_slow;
    } catch (config_error const&) {
      ++refused;
    }
  }
  CHECK(kept > 0);
  CHECK(refused > 0);
  CHECK(too_fast == 0);
  CHECK(too_slow == 0);
}

TEST_CASE("a rate is refused only when no M up to 14 would do") {
  dice random(7);
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    rate const asked{15 + random.below(1'000'000),
                     std::chrono::nanoseconds{1 + static_cast<std::int64_t>(random.below(100'000'000))}};
    auto const period = static_cast<std::uint64_t>(asked.period.count());
    bool possible = asked.count <= 14;
    for (std::uint64_t m = 1; m <= 14; ++m) {
      std::uint64_t const interval = (period * m + asked.count - 1) / asked.count;
      if ((interval * asked.count - period * m) * 500 <= period * m) possible = true;
    }
    bool accepted = true;
    try {
      static_cast<void>(bucket({.refill = asked, .burst = 1}));
    } catch (config_error const&) {
      accepted = false;
    }
    // A count that reduces to 14 or less is exact whatever its error by M.
    if (possible && !accepted) ++wrong;
    if (!possible && accepted && !is_exact(asked)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a fresh state admits its whole burst wherever the clock started, and not one more") {
  for (rate const r : {per(1, 10'000s), per_second(13), per_second(10), per(1, 30 * 24h)})
    for (std::int64_t const origin :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{3'758'770'000'000},
          std::int64_t{1'700'000'000'000'000'000}, std::int64_t{1} << 62, -(std::int64_t{1} << 62),
          std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
      INFO(r.count << " per " << r.period.count() << " ns from " << origin);
      bucket const a({.refill = r, .burst = 5}, instant{duration{origin}});
      for (duration const ahead : {duration{0}, duration{1}, duration{365 * 24h}}) {
        if (origin > latest.time_since_epoch().count() - duration{365 * 24h}.count() && ahead != 0ns) continue;
        instant const now = instant{duration{origin} + ahead};
        bucket::state s;
        for (int i = 0; i < 5; ++i) {
          CHECK(a.admits(s, now, cost{1}));
          a.charge(s, now, cost{1});
        }
        CHECK_FALSE(a.admits(s, now, cost{1}));
        CHECK(s.word != 0);
      }
    }
}

TEST_CASE("a reading too far from the origin for a word counts as the last one that fits") {
  bucket const a({.refill = per_second(13), .burst = 5});  // M = 13: 5 years back, 23 ahead
  for (instant const now : {earliest, instant::min(), latest, instant::max()}) {
    bucket::state s;
    for (int i = 0; i < 5; ++i) {
      CHECK(a.admits(s, now, cost{1}));
      a.charge(s, now, cost{1});
    }
    CHECK_FALSE(a.admits(s, now, cost{1}));
    CHECK(a.describe(s, now, cost{1}).retry_after > 0ns);
  }
  bucket::state s;
  a.charge(s, latest - 365 * 24h, cost{5});
  CHECK_FALSE(a.admits(s, latest, cost{1}));
  s = {};
  a.charge(s, earliest, cost{5});
  CHECK_FALSE(a.admits(s, earliest + 365 * 24h, cost{1}));
}

TEST_CASE("there are 5 years before the origin and 20 after it at any M") {
  constexpr duration year = 365 * 24h;
  for (std::uint64_t m = 1; m <= 14; ++m) {
    bucket const a({.refill = per_second(m), .burst = m}, instant{1'000h});
    for (instant const now : {instant{1'000h} - 5 * year, instant{1'000h} + 20 * year}) {
      INFO(m);
      bucket::state s;
      a.charge(s, now, cost{m});
      CHECK_FALSE(a.admits(s, now, cost{1}));
      CHECK_FALSE(a.admits(s, now + 1s - 1ns, cost{m}));
      CHECK(a.admits(s, now + 1s, cost{m}));
      CHECK(a.fresh_at(s) == now + 1s);
      CHECK_FALSE(a.is_fresh(s, now + 1s - 1ns));
      CHECK(a.is_fresh(s, now + 1s));
    }
  }
}

TEST_CASE("from fresh_at on a state is fresh, and not a nanosecond before") {
  for (rate const r : {per_second(1), per_second(3), per_second(7), per(3, 2s), per_second(12'345)}) {
    bucket const a({.refill = r, .burst = 5}, instant{1h});
    for (std::uint64_t units = 1; units <= 5; ++units) {
      bucket::state s;
      a.charge(s, instant{1h}, cost{units});
      INFO(r.count << " per " << r.period.count() << " ns, " << units << " units");
      CHECK(a.is_fresh(s, a.fresh_at(s)));
      CHECK_FALSE(a.is_fresh(s, a.fresh_at(s) - 1ns));
    }
  }
}

TEST_CASE("the largest burst recovers in its time, to the nanosecond") {
  bucket const a({.refill = per_second(1), .burst = 1'152'921'504});
  bucket::state s;
  instant const now{0ns};
  CHECK(a.admits(s, now, cost{1'152'921'504}));
  a.charge(s, now, cost{1'152'921'504});
  decision const d = a.describe(s, now, cost{1'152'921'504});
  CHECK(d.outcome == verdict::limited);
  CHECK(d.retry_after == 1'152'921'504s);
  CHECK(a.admits(s, now + d.retry_after, cost{1'152'921'504}));
  CHECK_FALSE(a.admits(s, now + d.retry_after - 1ns, cost{1'152'921'504}));
}

TEST_CASE("a charge of any size leaves a debt of one burst at most") {
  bucket const a({.refill = per_second(1), .burst = 10});
  for (std::uint64_t const units : {std::uint64_t{20}, std::uint64_t{21}, std::uint64_t{1} << 40,
                                    std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
    bucket::state s;
    instant const now{5s};
    a.charge(s, now, cost{units});
    INFO(units);
    CHECK(a.describe(s, now, cost{1}).retry_after == 11s);
    bucket::state twice = s;
    a.charge(twice, now, cost{units});
    CHECK(twice == s);
  }
}

TEST_CASE("a state further ahead than any debt was left by a clock set back: it counts as fully used, once") {
  bucket const a({.refill = per_second(1), .burst = 10});  // W = 10 s, so readings may lag 60 s
  bucket::state s;
  a.charge(s, instant{1'000s}, cost{10});
  bucket::state const before = s;
  CHECK_FALSE(a.reanchor(s, instant{1'010s - 80s}));  // 2W + 60 s behind: it lags
  CHECK(s == before);
  CHECK(a.reanchor(s, instant{1'010s - 80s - 1ns}));  // further: it was set back
  CHECK(a.fresh_at(s) == instant{930s - 1ns + 10s});
  CHECK_FALSE(a.reanchor(s, instant{930s - 1ns}));
  CHECK(a.describe(before, instant{100s}, cost{1}).retry_after == 1s);  // as it would be once re-anchored
}

TEST_CASE("of two states the later one binds") {
  bucket const a({.refill = per_second(1), .burst = 10});
  bucket::state one, two;
  a.charge(one, instant{0s}, cost{3});
  a.charge(two, instant{1s}, cost{1});
  CHECK(a.join(one, two) == one);
  CHECK(a.join(two, one) == one);
  CHECK(a.join(one, {}) == one);
  CHECK(a.join({}, {}) == bucket::state{});
}
