// The models against second models that are more naive still: these know no closed form, count time nanosecond by
// nanosecond, and find every wait by trying. Then the three arrival models against each other, and the checkers of the
// bound against their naive variants. An argument gives the number of random steps for each (40 000 unless told).

#include "bound.hpp"
#include "check.hpp"
#include "fixed_window.hpp"
#include "leaky_meter.hpp"
#include "leaky_queue.hpp"
#include "sliding_counter.hpp"
#include "sliding_log.hpp"
#include "token_bucket.hpp"

#include <cstdlib>
#include <deque>
#include <map>
#include <vector>

namespace {

using namespace oracle;
using units = std::int64_t;
using nanoseconds = std::int64_t;

// Second models: `fits` says whether a cost is admitted at an instant, `take` records it. Readings never step back.

struct counted_window {
  units limit;
  nanoseconds period;
  std::map<std::int64_t, units> by_window{};
  static std::int64_t index(nanoseconds t, nanoseconds period) {
    return t >= 0 ? t / period : -((-t + period - 1) / period);
  }
  units in(std::int64_t window) const { return by_window.contains(window) ? by_window.at(window) : 0; }
  bool fits(nanoseconds t, units c) const { return in(index(t, period)) + c <= limit; }
  void take(nanoseconds t, units c) { by_window[index(t, period)] += c; }
};

struct started_window {
  units limit;
  nanoseconds period;
  std::vector<std::pair<nanoseconds, units>> windows{};  // start, units
  bool inside(nanoseconds t) const { return !windows.empty() && t - windows.back().first < period; }
  bool fits(nanoseconds t, units c) const { return (inside(t) ? windows.back().second : 0) + c <= limit; }
  void take(nanoseconds t, units c) {
    if (!inside(t)) windows.emplace_back(t, 0);
    windows.back().second += c;
  }
};

struct weighted_windows : counted_window {
  bool fits(nanoseconds t, units c) const {
    std::int64_t const k = index(t, period);
    nanoseconds const left = (k + 1) * period - t;
    return in(k - 1) * left + (in(k) + c - 1) * period < limit * period;
  }
};

struct everything_log {
  units limit;
  nanoseconds period;
  std::vector<std::pair<nanoseconds, units>> all{};
  bool fits(nanoseconds t, units c) const {
    units inside = c;
    for (auto const& [at, n] : all)
      if (t - period < at && at <= t) inside += n;
    return inside <= limit;
  }
  void take(nanoseconds t, units c) { all.emplace_back(t, c); }
};

struct stepwise_bucket {  // the balance in 1/period of a unit grows by `count` each nanosecond
  units count;
  nanoseconds period;
  units burst;
  nanoseconds now = 0;
  units balance = burst * period;
  units at(nanoseconds t) const {
    units b = balance;
    for (nanoseconds i = now; i < t; ++i) b = std::min(burst * period, b + count);
    return b;
  }
  bool fits(nanoseconds t, units c) const { return at(t) >= c * period; }
  void take(nanoseconds t, units c) {
    balance = at(t) - c * period;
    now = t;
  }
};

struct places_queue {  // holds one place for each unit, with its departure in 1/count of a nanosecond
  units count;
  nanoseconds period;
  units capacity;
  std::deque<std::int64_t> places{};
  units waiting(nanoseconds t) const {
    units n = 0;
    for (std::int64_t departure : places) n += departure > t * count;  // who leaves now does not wait now
    return n;
  }
  bool fits(nanoseconds t, units c) const { return waiting(t) + c <= capacity; }
  void take(nanoseconds t, units c) {
    for (units i = 0; i < c; ++i)
      places.push_back((places.empty() ? t * count : std::max(places.back(), t * count)) + period);
    while (places.size() > 1 && places.front() <= t * count) places.pop_front();
  }
};

template <class Fits>
nanoseconds first_wait(Fits fits) {
  nanoseconds w = 0;
  while (!fits(w)) ++w;
  return w;
}

// One call on both, every field. `tight`: the key is short of something until the very instant that reset_after names.
template <class M, class Second>
void compare(M& m, Second& second, units limit, nanoseconds now, units c, bool tight) {
  bool const fits = c == 0 || (c <= limit && second.fits(now, c));
  answer const looked = m.look(now, static_cast<std::uint64_t>(c));
  answer const a = m.ask(now, static_cast<std::uint64_t>(c));
  CHECK(a == looked && a.outcome == (c > limit ? never : fits ? admitted : limited));
  if (fits && c > 0) second.take(now, c);

  units remaining = 0;
  while (remaining < limit && second.fits(now, remaining + 1)) ++remaining;
  CHECK(a.limit == static_cast<std::uint64_t>(limit) && a.remaining == static_cast<std::uint64_t>(remaining));
  if (a.outcome == limited)
    CHECK(a.retry_after == first_wait([&](nanoseconds w) { return second.fits(now + w, c); }));
  else
    CHECK(a.retry_after == (a.outcome == never ? -1 : 0));
  if (remaining == limit)
    CHECK(a.next_after == 0);
  else
    CHECK(a.next_after == first_wait([&](nanoseconds w) { return second.fits(now + w, remaining + 1); }));

  CHECK(second.fits(now + a.reset_after, limit) && m.look(now + a.reset_after, 0).reset_after == 0);
  if (tight && a.reset_after > 0) CHECK(!second.fits(now + a.reset_after - 1, limit));
  if constexpr (requires { second.places; })
    CHECK(a.delay == (fits && c > 0 ? -counted_window::index(-second.places.back(), second.count) - now : 0));
  else
    CHECK(a.delay == 0);
}

void all_alike(units count, nanoseconds period, units burst, std::vector<std::pair<nanoseconds, units>> const& calls) {
  auto const u = [](units n) { return static_cast<std::uint64_t>(n); };
  auto const run = [&](auto m, auto second, units limit, bool tight) {
    nanoseconds now = 0;
    for (auto const& [step, c] : calls) compare(m, second, limit, now += step, c, tight);
  };
  run(fixed_window(u(count), period, true), counted_window{count, period}, count, true);
  run(fixed_window(u(count), period, false), started_window{count, period}, count, true);
  run(sliding_log(u(count), period), everything_log{count, period}, count, true);
  run(sliding_counter(u(count), period), weighted_windows{{count, period}}, count, false);
  run(token_bucket(u(count), period, u(burst)), stepwise_bucket{count, period, burst}, burst, true);
  run(leaky_meter(u(count), period, u(burst)), stepwise_bucket{count, period, burst}, burst, true);
  run(leaky_queue(u(count), period, u(burst)), places_queue{count, period, burst}, burst, true);
}

void every_sequence_of(unsigned length) {
  nanoseconds const steps[] = {0, 1, 3, 7};
  units const costs[] = {0, 1, 2, 3};
  for (auto const& [count, period, burst] : {std::tuple{2, 7, 3}, std::tuple{3, 5, 2}, std::tuple{1, 1, 1}})
    for (unsigned sequence = 0; sequence < 1U << (4 * length); ++sequence) {
      std::vector<std::pair<nanoseconds, units>> calls;
      for (unsigned i = 0; i < length; ++i)
        calls.emplace_back(steps[sequence >> (4 * i) & 3], costs[sequence >> (4 * i + 2) & 3]);
      all_alike(count, period, burst, calls);
    }
}

void random_sequences(int total) {
  test::dice dice(2);
  for (int done = 0; done < total; done += 50) {
    units const count = dice.roll(1, 7), burst = dice.roll(1, 7);
    nanoseconds const period = dice.roll(1, 40);
    std::vector<std::pair<nanoseconds, units>> calls{{-dice.roll(0, 500), 1}};  // starts before the epoch, to cross it
    for (int i = 0; i < 50; ++i) {
      nanoseconds const step = dice.roll(0, 3) == 0 ? dice.roll(0, 2 * period) : dice.roll(0, 3);
      calls.emplace_back(step, dice.roll(0, 19) == 0 ? count + burst : dice.roll(0, 4));
    }
    all_alike(count, period, burst, calls);
  }
}

// Bucket and meter agree in every field, the queue in all but the delay, whatever the clock does; the queue's refunds
// differ by design, so it is left out where there are any.
void arrival_models_agree(int total) {
  test::dice dice(3);
  for (int done = 0; done < total; done += 1000) {
    bool const refunds = dice.roll(0, 1) == 0;
    auto const count = static_cast<std::uint64_t>(dice.roll(1, 20)),
               burst = static_cast<std::uint64_t>(dice.roll(1, 30));
    nanoseconds const period = dice.roll(0, 1) == 0 ? dice.roll(1, 1000) : dice.roll(1, 100) * second_ns;
    token_bucket bucket(count, period, burst);
    leaky_meter meter(count, period, burst);
    leaky_queue queue(count, period, burst);
    nanoseconds now = dice.roll(-1000, 1000) * second_ns, charged = now;
    for (int i = 0; i < 1000; ++i) {
      now += dice.roll(0, 2 * period / static_cast<nanoseconds>(count));
      if (dice.roll(0, 9) == 0) now -= dice.roll(0, 3 * period);
      if (dice.roll(0, 99) == 0)
        now -= dice.roll(0, 3 * std::max(60 * second_ns, static_cast<nanoseconds>(burst) * period));
      auto const c = static_cast<std::uint64_t>(dice.roll(0, 5));
      switch (dice.roll(0, 9)) {
        case 0:
          bucket.charge(now, c), meter.charge(now, c), queue.charge(now, c);
          break;
        case 1:
          if (refunds) bucket.refund(charged, c), meter.refund(charged, c);
          break;
        default: {
          answer const a = bucket.ask(now, c);
          CHECK(a == meter.ask(now, c));
          answer q = queue.ask(now, c);
          q.delay = 0;
          if (!refunds) CHECK(a == q);
          charged = dice.roll(0, 2) == 0 ? charged : now;
        }
      }
    }
  }
}

// What the models admit holds the bound; a stream that is a little too generous is caught, by both variants alike.
void the_bound(int total) {
  test::dice dice(4);
  int broken[3] = {};
  for (int done = 0; done < total; done += 100) {
    auto const count = static_cast<std::uint64_t>(dice.roll(1, 5)), burst = static_cast<std::uint64_t>(dice.roll(1, 5));
    nanoseconds const period = dice.roll(1, 30);
    bound::bucket bucket(count, period, burst);
    bound::sliding_log log(count, period);
    bound::fixed_window window(count, period, true);
    bound::everything all;
    bool as_bucket = true, as_log = true, as_window = true;
    auto const judge = [&] {
      as_bucket = as_bucket && all.holds_as_bucket(count, period, burst);
      as_log = as_log && all.holds_as_sliding_log(count, period);
      as_window = as_window && all.holds_as_aligned_window(count, period);
      CHECK(bucket.holds() == as_bucket && log.holds() == as_log && window.holds() == as_window);
    };
    nanoseconds newest = dice.roll(-200, 0);
    std::vector<nanoseconds> taken;
    for (int i = 0; i < 40; ++i) {
      nanoseconds const t = newest + dice.roll(dice.roll(0, 4) == 0 ? -3 : 0, 2 * period);
      newest = std::max(newest, t);
      units const c = dice.roll(0, 2);
      bucket.admit(t, c), log.admit(t, c), window.admit(t, c), all.admit(t, c);
      judge();
      if (c > 0) taken.push_back(newest);
      if (dice.roll(0, 4) == 0 && !taken.empty()) {  // one unit of a recent admission comes back
        auto const which =
            taken.end() - static_cast<std::ptrdiff_t>(dice.roll(1, std::min<nanoseconds>(3, std::ssize(taken))));
        bucket.take_back(*which, 1), log.take_back(*which, 1), window.take_back(*which, 1), all.take_back(*which, 1);
        taken.erase(which);
      }
    }
    broken[0] += !as_bucket, broken[1] += !as_log, broken[2] += !as_window;
  }
  CHECK(broken[0] > 0 && broken[1] > 0 && broken[2] > 0);

  token_bucket bucket(7, 1000, 9);
  leaky_queue queue(7, 1000, 9);
  sliding_log log(9, 1000);
  fixed_window aligned(9, 1000, true), first(9, 1000, false);
  bound::bucket bucket_bound(7, 1000, 9);
  bound::departures apart(7, 1000);
  bound::sliding_log log_bound(9, 1000);
  bound::fixed_window aligned_bound(9, 1000, true), first_bound(9, 1000, false);
  nanoseconds now = 0;
  for (int i = 0; i < 5 * total; ++i) {
    now += dice.roll(0, 99) == 0 ? dice.roll(-3000, 3000) : dice.roll(0, 150);
    auto const c = static_cast<std::uint64_t>(dice.roll(1, 3));
    if (bucket.ask(now, c).outcome == admitted) bucket_bound.admit(now, c);
    if (answer const a = queue.ask(now, c); a.outcome == admitted) apart.promise(now + a.delay, c);
    if (log.ask(now, c).outcome == admitted) log_bound.admit(now, c);
    if (aligned.ask(now, c).outcome == admitted) aligned_bound.admit(now, c);
    if (first.ask(now, c).outcome == admitted) first_bound.admit(now, c);
  }
  CHECK(bucket_bound.holds() && apart.holds() && log_bound.holds() && aligned_bound.holds() && first_bound.holds());
}

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 40'000;
  every_sequence_of(steps < 1'000'000 ? 3 : 4);
  random_sequences(steps);
  arrival_models_agree(steps);
  the_bound(steps);
  return test::verdict();
}
