// The models against cases worked out by hand. (crosscheck.cpp holds them against second, even more naive models.)

#include "bound.hpp"
#include "check.hpp"
#include "fixed_window.hpp"
#include "leaky_meter.hpp"
#include "leaky_queue.hpp"
#include "sliding_counter.hpp"
#include "sliding_log.hpp"
#include "token_bucket.hpp"

#include <limits>
#include <vector>

namespace {

using namespace oracle;

static_assert(model<fixed_window> && model<sliding_log> && model<sliding_counter>);
static_assert(model<token_bucket> && model<leaky_meter> && model<leaky_queue>);

constexpr std::int64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000, hour = 3600 * s, day = 24 * hour;

template <class M>
bool admits(M& m, std::int64_t now, std::uint64_t cost = 1) {
  return m.ask(now, cost).outcome == admitted;
}

template <class M>
bool refuses(M& m, std::int64_t now, std::int64_t retry_after, std::uint64_t cost = 1) {
  answer const a = m.ask(now, cost);
  return a.outcome == limited && a.retry_after == retry_after;
}

void wide_integers() {
  static_assert(wide(-7) < wide(3) && wide(3) < wide(std::numeric_limits<std::uint64_t>::max()));
  static_assert(floor_div(-7, 2) == -4 && ceil_div(-7, 2) == -3 && floor_div(7, 2) == 3 && ceil_div(7, 2) == 4);
  static_assert(floor_div(-8, 2) == -4 && ceil_div(0, 5) == 0 && ceil_div(1, 5) == 1 && floor_div(-1, 5) == -1);
  static_assert(to_nanoseconds(wide(1).shifted_left(63)) == std::numeric_limits<std::int64_t>::max());
  static_assert(to_count(-5) == 0 && to_count(wide(1).shifted_left(64)) == std::numeric_limits<std::uint64_t>::max());

  test::dice dice(1);
  auto const some = [&] {  // of any length up to 120 bits, either sign
    wide const magnitude = (wide(dice.bits()) * dice.bits()).shifted_left(static_cast<std::size_t>(dice.roll(0, 8)));
    wide const shorter = floor_div(magnitude, wide(1).shifted_left(static_cast<std::size_t>(dice.roll(0, 127))));
    return dice.roll(0, 1) == 0 ? shorter : -shorter;
  };
  for (int i = 0; i < 30'000; ++i) {
    wide const a = some(), b = some(), c = some(), d = std::max(wide(1), b.negative() ? -b : b);
    CHECK((a + b) * c == a * c + b * c && a + b - b == a && -(-a) == a && (a - b) * (a + b) == a * a - b * b);
    CHECK((a < b) == (a - b).negative() && (a == b) == (a - b == 0));
    wide const floor = floor_div(a, d), ceil = ceil_div(a, d);
    CHECK(floor * d <= a && a < (floor + 1) * d && ceil * d >= a && a > (ceil - 1) * d);
    if (!a.negative())
      CHECK(long_division(a, d) == floor && a.shifted_left(3) == 8 * a && a.halved() == floor_div(a, 2));
#ifdef __SIZEOF_INT128__
    __extension__ using native = __int128;
    auto const to_native = [](wide const& v) {
      wide const magnitude = v.negative() ? -v : v;
      native const n = static_cast<native>(floor_div(magnitude, wide(1).shifted_left(64)).low_bits()) << 64;
      return v.negative() ? -(n | magnitude.low_bits()) : n | magnitude.low_bits();
    };
    native const x = to_native(floor_div(a, 1024)), y = to_native(floor_div(d, 1024)) + 1;
    wide const p = floor_div(a, 1024), q = floor_div(d, 1024) + 1;
    CHECK((x < y) == (p < q) && to_native(p + q) == x + y && to_native(p - q) == x - y);
    CHECK(to_native(floor_div(p, q)) == (x - (x % y + y) % y) / y);
    native const u = static_cast<std::int64_t>(x), v = static_cast<std::int64_t>(y);
    CHECK(to_native(wide(static_cast<std::int64_t>(u)) * static_cast<std::int64_t>(v)) == u * v);
#endif
  }
}

void fixed_windows() {
  fixed_window aligned(3, 10 * s, true);
  CHECK(admits(aligned, 8 * s) && admits(aligned, 9 * s) && admits(aligned, 9 * s) &&
        refuses(aligned, 9500 * ms, 500 * ms));
  CHECK(admits(aligned, 10 * s) && admits(aligned, 11 * s) && admits(aligned, 12 * s) &&
        refuses(aligned, 13 * s, 7 * s));

  fixed_window first(1, 10 * s, false);
  CHECK(admits(first, 7 * s) && refuses(first, 17 * s - 1, 1) && admits(first, 17 * s) &&
        refuses(first, 20 * s, 7 * s));

  fixed_window negative(1, 10 * s, true);  // [-10, 0) is a window of its own
  CHECK(admits(negative, -1) && refuses(negative, -1, 1) && admits(negative, 0));

  fixed_window yearly(5, 365 * day, true);
  for (int i = 0; i < 5; ++i) CHECK(admits(yearly, 0));
  CHECK(refuses(yearly, 30 * day, 335 * day));

  fixed_window debt(4, 10 * s, true);
  debt.charge(s, 100);
  CHECK(debt.look(2 * s, 1) == answer{limited, 4, 0, 8 * s, 8 * s, 8 * s, 0});
  debt.refund(s, 5);  // of the 8 that a debt can be
  CHECK(debt.look(2 * s, 0) == answer{admitted, 4, 1, 0, 8 * s, 8 * s, 0} && debt.look(10 * s, 4).outcome == admitted);
  debt.refund(10 * s, 3);
  CHECK(!debt.fresh());
  debt.refund(9 * s, 3);
  CHECK(debt.fresh() && debt.look(2 * s, 0) == answer{admitted, 4, 4, 0, 0, 0, 0});
}

void sliding_logs() {
  sliding_log log(2, 10 * s);
  CHECK(admits(log, 0) && admits(log, s) && refuses(log, 5 * s, 5 * s) && refuses(log, 10 * s - 1, 1) &&
        admits(log, 10 * s));

  sliding_log ten(10, 60 * s);
  CHECK(ten.ask(0, 11) == answer{never, 10, 10, -1, 0, 0, 0} && ten.entries() == 0 && admits(ten, 0, 10));
  sliding_log three(3, 10 * s);
  CHECK(admits(three, 0) && admits(three, s) && admits(three, 2 * s) && admits(three, 25 * s) && three.entries() == 1);

  sliding_log lagging(2, 10 * s);
  CHECK(admits(lagging, 8 * s) && admits(lagging, 5 * s) && refuses(lagging, 5 * s, 13 * s));  // both stand at 8
  lagging.refund(5 * s, 1);
  CHECK(lagging.look(9 * s, 0).remaining == 0);
  lagging.refund(8 * s, 1);
  CHECK(lagging.look(9 * s, 0) == answer{admitted, 2, 1, 0, 9 * s, 9 * s, 0});

  sliding_log debt(2, 10 * s);
  debt.charge(s, 100);
  debt.refund(s, 3);  // of the 4 that a debt can be
  CHECK(debt.look(s, 0) == answer{admitted, 2, 1, 0, 10 * s, 10 * s, 0});
}

void sliding_counters() {
  sliding_counter counter(100, 60 * s);
  counter.charge(0, 80);
  counter.charge(60 * s, 30);
  CHECK(counter.ask(75 * s, 1) == answer{admitted, 100, 9, 0, 105 * s, 1, 0});  // the estimate falls below 60 at once

  sliding_counter one(1, 10 * s);
  CHECK(admits(one, 0) && refuses(one, 9900 * ms, 100 * ms + 1) && admits(one, 20 * s));

  sliding_counter late(100, 60 * s), early(100, 60 * s);             // what an even spread guesses wrong, both ways
  CHECK(admits(late, 60 * s - 1, 100) && admits(late, 90 * s, 50));  // 150 within 30 s and 1 ns
  sliding_log exact(100, 60 * s);
  CHECK(admits(early, 0, 100) && admits(exact, 0, 100) && !admits(early, 61 * s, 50) && admits(exact, 61 * s, 50));

  sliding_counter debt(4, 10 * s);
  debt.charge(s, 100);  // 8 of 4: weighs 4 in the middle of the next window, and just under 4 right after
  CHECK(debt.look(s, 1) == answer{limited, 4, 0, 14 * s + 1, 19 * s, 14 * s + 1, 0});

  sliding_counter refunded(4, 10 * s);  // by the window that the charge was made in, as long as it counts
  CHECK(admits(refunded, s, 4) && admits(refunded, 18 * s, 2));
  refunded.refund(0, 1);
  refunded.refund(10 * s, 1);
  refunded.refund(-1, 1);
  refunded.refund(20 * s, 1);
  CHECK(refunded.look(10 * s, 0) == answer{admitted, 4, 0, 0, 20 * s, 1, 0});  // 3 and 1 left
}

void buckets() {
  token_bucket slow(1, 2 * s, 10);
  CHECK(admits(slow, 0, 10) && slow.look(2 * s, 0).remaining == 1 && refuses(slow, 0, 2 * s));
  token_bucket quarter(2, s, 1);
  CHECK(admits(quarter, 0) && refuses(quarter, 125 * ms, 375 * ms));  // a balance of 0.25
  token_bucket thirty(1, hour, 30);
  CHECK(admits(thirty, 0, 10) && refuses(thirty, 0, 5 * hour, 25) && admits(thirty, 0, 1));
  CHECK(thirty.look(365 * day, 31).outcome == never && thirty.look(365 * day, 30).outcome == admitted);

  token_bucket third(3, 2 * s, 3);
  CHECK(admits(third, 0) && refuses(third, 0, 666'666'667, 3));
  CHECK(refuses(third, 666'666'666, 1, 3) && admits(third, 666'666'667, 3));

  token_bucket bytes(2'000'000, s, 16'000'000);
  std::int64_t first_refusal = -1, bytes_after = 0;
  for (std::int64_t t = 0; t < 12 * s; t += ms) {
    bool const passed = admits(bytes, t, 10'000);
    if (!passed && first_refusal < 0) first_refusal = t;
    if (passed && t >= 2 * s) bytes_after += 10'000;
  }
  CHECK(first_refusal == 1999 * ms && bytes_after > 19'980'000 && bytes_after < 20'020'000);

  token_bucket hourly(1'000'000, hour, 1'000'000);
  std::int64_t const ages = std::int64_t{1} << 62;
  CHECK(admits(hourly, -ages, 1'000'000) && admits(hourly, ages, 1'000'000));  // 292 years idle

  token_bucket polled(10, s, 10);
  int passed = 0;
  for (std::int64_t t = 0; t <= 60 * s; t += 50 * ms) passed += admits(polled, t);
  CHECK(passed == 610);
  token_bucket fast(80'000, s, 1);
  passed = 0;
  for (std::int64_t t = 0; t <= s; t += us) passed += admits(fast, t);
  CHECK(passed == 76'924);  // each 13th question: 12.5 us are never over sooner. At most 80'001 by the bound

  token_bucket back(10, s, 5);
  CHECK(admits(back, 10 * s, 4) && refuses(back, 9 * s, s) && !admits(back, 10 * s, 5));
  token_bucket late_clock(1, 10'000 * s, 1);
  CHECK(admits(late_clock, 3'758'770 * ms));

  token_bucket refunded(1, s, 5);
  CHECK(admits(refunded, 0, 2));
  refunded.refund(2 * s, 2);  // nothing of it is left then
  CHECK(refunded.look(0, 0).remaining == 3);
  refunded.refund(0, 1);
  CHECK(refunded.look(0, 0) == answer{admitted, 5, 4, 0, s, s, 0});
  refunded.refund(0, 1);
  CHECK(refunded.fresh());

  token_bucket far(1, s, 1);  // readings end at 2^62
  CHECK(admits(far, ages - s / 4) && refuses(far, std::numeric_limits<std::int64_t>::max(), s * 3 / 4));
}

void queues() {
  leaky_queue six(2, s, 6);
  for (int i = 1; i <= 9; ++i) {
    answer const a = six.ask(0, 1);
    CHECK(a.outcome == (i <= 6 ? admitted : limited) && a.delay == (i <= 6 ? i * 500 * ms : 0));
  }
  leaky_queue ten(1, s, 10);
  token_bucket bucket(1, s, 10);
  CHECK(admits(ten, 0, 10) && admits(bucket, 0, 10));
  for (int i = 1; i <= 10; ++i) CHECK(ten.ask(hour, 1).delay == i * s && bucket.ask(hour, 1).delay == 0);
  CHECK(ten.ask(hour, 0).delay == 0 && refuses(ten, hour, s));

  leaky_queue busy(1500, s, 100);  // never empty for ten seconds
  bound::departures apart(1500, s);
  int departed = 0;
  for (std::int64_t t = 0; t <= 10 * s; t += 100 * us)
    for (answer a = busy.ask(t, 1); a.outcome == admitted; a = busy.ask(t, 1)) {
      apart.promise(t + a.delay, 1);
      departed += t + a.delay <= 10 * s;
    }
  CHECK(departed >= 14'999 && departed <= 15'001 && apart.holds());

  bound::departures close(3, 10), closer(3, 10);  // an interval of 3 1/3, so 4 apart, or 3 after rounding up
  close.promise(4, 1), close.promise(7, 1), close.promise(10, 1), close.promise(17, 2);
  closer.promise(4, 1), closer.promise(7, 1), closer.promise(10, 1), closer.promise(13, 1);
  CHECK(close.holds() && !closer.holds());

  leaky_queue promises(1, s, 5);
  CHECK(admits(promises, 0, 2) && admits(promises, s, 1));
  promises.refund(0, 2);  // the older promise stands
  CHECK(promises.look(s, 0).remaining == 3);
  promises.refund(s, 1);
  CHECK(promises.look(s, 0).remaining == 4);
  promises.refund(0, 2);  // still
  CHECK(promises.look(s, 0).remaining == 4);
  promises.charge(s, 2);
  promises.refund(s, 1);
  promises.refund(s, 1);  // a promise is given back once, in whole or in part
  CHECK(promises.look(s, 0).remaining == 3);
}

// A burst of 40 just before a second ends and a slower one later: the most admitted (departing) within any second.
void classic_burst() {
  auto const most = [](auto limiter) {
    std::vector<std::int64_t> times;
    for (int i = 0; i < 40; ++i) times.push_back(950 * ms + i * 2500 * us);
    for (int i = 0; i < 40; ++i) times.push_back(5 * s + i * 25 * ms);
    bound::everything passed;
    for (std::int64_t t : times)
      if (answer const a = limiter.ask(t, 1); a.outcome == admitted) passed.admit(t + a.delay, 1);
    return passed.most_within(s);
  };
  CHECK(most(fixed_window(10, s, true)) == 20 && most(sliding_log(10, s)) == 10 && most(sliding_counter(10, s)) == 11);
  CHECK(most(token_bucket(10, s, 10)) == 19 && most(leaky_queue(10, s, 10)) == 10);
}

// A clock set back: behind by more than max(W, 60 s), the state counts as fully used at the reading. `newest` is the
// furthest state that can still be a lagging reading's; all of it holds for a window of 10 s used up at t = 1000 s.
void clocks_set_back() {
  auto const behind = [](auto m, std::int64_t oldest_lag, std::int64_t retry, std::int64_t reset) {
    m.charge(1000 * s, 100);
    CHECK(m.look(oldest_lag, 1).retry_after > 60 * s);
    std::int64_t const n = oldest_lag - 1;
    CHECK(m.look(n, 0).remaining == 0 && m.look(n, 0).reset_after == reset && m.look(n, 3).outcome == never);
    CHECK(m.ask(n, 3).outcome == never && m.look(oldest_lag, 1).retry_after > 60 * s);  // neither kept it
    CHECK(refuses(m, n, retry) && m.look(oldest_lag, 1).retry_after < 60 * s && admits(m, n + retry));
  };
  behind(fixed_window(2, 10 * s, true), 940 * s, 1, 1);  // n is the last instant of [930, 940)
  behind(fixed_window(2, 10 * s, false), 940 * s, 10 * s, 10 * s);
  behind(sliding_log(2, 10 * s), 940 * s, 10 * s, 10 * s);
  behind(sliding_counter(2, 10 * s), 940 * s, 2, 10 * s + 1);  // the estimate is below 2 right after 940 s
  behind(token_bucket(1, 5 * s, 2), 940 * s, 5 * s, 10 * s);   // in debt until 1020 s
  behind(leaky_meter(1, 5 * s, 2), 940 * s, 5 * s, 10 * s);
  behind(leaky_queue(1, 5 * s, 2), 940 * s, 5 * s, 10 * s);
}

}  // namespace

int main() {
  wide_integers();
  fixed_windows();
  sliding_logs();
  sliding_counters();
  buckets();
  queues();
  classic_burst();
  clocks_set_back();
  return test::verdict();
}
