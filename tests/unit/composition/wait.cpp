// wait.hpp and limiter::allow_within: waiting for one's turn. Nobody sleeps here: sleepers move a manual clock, or note
// what they were asked for.

#include "subjects.hpp"

#include <penstock/wait.hpp>

#include <optional>
#include <stdexcept>
#if defined(__cpp_lib_jthread)  // libc++ hides it
#include <stop_token>
#endif

using namespace composition;

namespace {

/// Twenty at once, ten a second.
struct twenty {
  manual_clock clock;
  bucket<std::string> limit{{.refill = per_second(10), .burst = 20}, clock};

  std::uint64_t left() const { return limit.peek("ann", cost{0}).remaining; }
  /// What "ann" is told who waits at most so long; she does not wait here.
  decision ask(std::uint64_t units, nanoseconds at_most = 1h) {
    return limit.allow_within("ann", at_most, cost{units});
  }
};

/// Sleeps by moving the clock.
struct moves_the_clock {
  manual_clock clock;
  void operator()(nanoseconds wait) { clock.advance(wait); }
#if defined(__cpp_lib_jthread)
  bool operator()(nanoseconds wait, std::stop_token token) {
    if (token.stop_requested()) return false;
    clock.advance(wait);
    return true;
  }
#endif
};

/// check(limiter, clock) for bucket, meter and queue.
void for_each_of_the_family(auto check) {
  manual_clock clock{1h};
  bucket<std::string> buckets({.refill = per_second(10), .burst = 20}, clock);
  check(buckets, clock);
  leaky_meter<std::string, manual_clock> meters({.drain = per_second(10), .capacity = 20}, clock);
  check(meters, clock);
  leaky_queue<std::string, manual_clock> queues({.drain = per_second(10), .capacity = 20}, clock);
  check(queues, clock);
}

/// Reads in milliseconds.
struct coarse {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<coarse>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  manual_clock hand;
  time_point now() const { return time_point{std::chrono::floor<duration>(hand.now().time_since_epoch())}; }
};

template <class L>
concept can_wait = requires(L& limit) { limit.allow_within("ann", 1s); };

}  // namespace

TEST_CASE("20 at 10/s: 15 are taken; who leaves the line gives its place on, and those behind keep theirs") {
  twenty t;
  CHECK(t.limit.allow("ann", cost{15}));
  t.clock.set(100ms);
  auto first = reserve_within(t.limit, "ann", 1h, cost{10});
  CHECK(first.answer().delay == 400ms);  // due at 0.5
  t.clock.set(200ms);
  auto second = reserve_within(t.limit, "ann", 1h, cost{2});
  CHECK(second.answer().delay == 500ms);  // due at 0.7
  t.clock.set(300ms);
  CHECK(t.left() == 0);
  first.cancel();
  CHECK(t.left() == 6);
  second.commit();
  CHECK(t.left() == 6);
}

TEST_CASE("those who wait are served in the order of their calls") {
  for_each_of_the_family([](auto& limit, manual_clock clock) {
    CHECK(limit.allow("ann", cost{10}));
    nanoseconds last = clock.now().time_since_epoch();
    dice random(4);
    for (int i = 0; i < 200; ++i) {
      clock.advance(random.up_to(150ms));
      decision const d = limit.allow_within("ann", 2s, cost{1 + random.below(2)});
      if (!d) continue;
      nanoseconds const due = clock.now().time_since_epoch() + d.delay;
      CHECK(due >= last);
      last = due;
    }
  });
}

TEST_CASE("a call that finds room does not wait") {
  twenty t;
  decision const d = t.ask(15);
  CHECK(d == twenty{}.limit.allow_at(on(0s), "ann", cost{15}));
  CHECK(d.delay == 0ns);
  CHECK(t.limit.allow_within("ann", 0ns, cost{5}).delay == 0ns);
  CHECK_FALSE(t.limit.allow_within("ann", 0ns, cost{1}));
  CHECK_FALSE(t.limit.allow_within("ann", -1s, cost{1}));
  CHECK(t.ask(0).outcome == verdict::admitted);
}

TEST_CASE("a promise is in debt until it is due, and others wait behind it") {
  twenty t;
  CHECK(t.limit.allow("ann", cost{20}));
  decision const d = t.ask(5);
  CHECK(d);
  CHECK(d.delay == 500ms);
  CHECK(d.retry_after == 0ns);
  CHECK(d.remaining == 0);
  CHECK(d.next_after == 600ms);
  CHECK(d.reset_after == 2500ms);
  CHECK(t.limit.allow("ann").retry_after == 600ms);
  t.clock.advance(600ms - 1ns);
  CHECK_FALSE(t.limit.allow("ann"));
  t.clock.advance(1ns);
  CHECK(t.limit.allow("ann"));
}

TEST_CASE("who would wait too long is refused at once, and told exactly when not to be") {
  for_each_of_the_family([](auto& limit, manual_clock clock) {
    using algorithm_type = typename std::remove_reference_t<decltype(limit)>::algorithm_type;
    INFO(algorithm_type::name);
    bool const queue = algorithm_type::name == "leaky_queue";  // there, five units alone take half a second
    for (nanoseconds const patience : {0ms, 100ms, 450ms, 1400ms}) {
      nanoseconds const at_most = queue ? patience + 500ms : patience;
      clock.advance(1min);
      CHECK(limit.allow("ann", cost{20}));
      decision const present = limit.peek("ann", cost{0});
      decision const d = limit.allow_within("ann", at_most, cost{5});
      if (d) {
        CHECK(d.delay <= at_most);
        continue;
      }
      CHECK(d.outcome == verdict::limited);
      CHECK(d.delay == 0ns);
      CHECK(limit.peek("ann", cost{0}) == present);  // it takes nothing
      clock.advance(d.retry_after - 1ns);
      CHECK_FALSE(limit.allow_within("ann", at_most, cost{5}));
      clock.advance(1ns);
      decision const later = limit.allow_within("ann", at_most, cost{5});
      CHECK(later);
      CHECK(later.delay == at_most);
    }
    CHECK(limit.allow_within("ann", 1h, cost{21}).outcome == verdict::never);
  });
}

TEST_CASE("who cannot wait as long as an empty queue takes need not try again") {
  leaky_queue<std::string, manual_clock> limit({.drain = per_second(10), .capacity = 20});
  CHECK(limit.allow_within_at(on(0s), "ann", 500ms, cost{5}).delay == 500ms);
  decision const d = limit.allow_within_at(on(0s), "bob", 500ms - 1ns, cost{5});
  CHECK(d.outcome == verdict::never);
  CHECK(d.retry_after == nanoseconds::max());
}

TEST_CASE("a wait is at most what can be promised, and the line no longer") {
  twenty t;  // W = 2 s, so at most 2 s + 30 s
  CHECK(t.limit.allow("ann", cost{20}));
  nanoseconds longest{};
  int places = 0;
  for (; places < 10'000; ++places) {
    decision const d = t.limit.allow_within("ann", nanoseconds::max());
    if (!d) {
      CHECK(d.outcome == verdict::limited);
      break;
    }
    CHECK(d.delay == (places + 1) * 100ms);
    longest = d.delay;
  }
  CHECK(longest == 32s);
  CHECK(places == 320);
  t.clock.advance(32s);
  CHECK(t.left() == 0);  // all promises were kept, and no more
  t.clock.advance(100ms);
  CHECK(t.left() == 1);
}

TEST_CASE("only what can promise can be waited for") {
  static_assert(can_wait<bucket<std::string>> && can_wait<leaky_meter<std::string, manual_clock>> &&
                can_wait<leaky_queue<std::string, manual_clock>>);
  static_assert(!can_wait<window<std::string>> && !can_wait<sliding_log<std::string, manual_clock>> &&
                !can_wait<sliding_counter<std::string, manual_clock>>);
}

TEST_CASE("the calls that read the clock say what their twins say, with a key or without") {
  twenty t;
  bucket<std::string> told({.refill = per_second(10), .burst = 20});
  bucket<> unkeyed({.refill = per_second(10), .burst = 20}, t.clock),
      told_unkeyed({.refill = per_second(10), .burst = 20});
  t.clock.set(1s);
  for (std::uint64_t const units : {15U, 10U, 2U, 30U}) {
    decision const d = t.ask(units, 1s);
    CHECK(d == told.allow_within_at(on(1s), "ann", 1s, cost{units}));
    CHECK(d == unkeyed.allow_within(1s, cost{units}));
    CHECK(d == told_unkeyed.allow_within_at(on(1s), 1s, cost{units}));
  }
}

// ---- acquire
// ------------------------------------------------------------------------------------------------------------

TEST_CASE("acquire sleeps once, for exactly as long as it must") {
  for_each_of_the_family([](auto& limit, manual_clock clock) {
    std::vector<nanoseconds> slept;
    auto const sleep = [&](nanoseconds wait) { slept.push_back(wait); };
    decision const first = acquire(limit, "ann", cost{20}, clock.now() + 10s, sleep);
    CHECK(first);
    nanoseconds const free = first.delay;  // a queue lets nothing through at once
    decision const second = acquire(limit, "ann", cost{4}, clock.now() + 10s, sleep);
    if (free == 0ns) {
      CHECK(second.delay == 400ms);
      CHECK(slept == std::vector<nanoseconds>{400ms});
    } else {
      CHECK_FALSE(second);  // it is full
      CHECK(slept == std::vector<nanoseconds>{2s});
    }
  });
}

TEST_CASE("a place in the line is given back when the sleeper throws") {
  twenty t;
  CHECK(t.ask(20));
  auto const wakes_at_once = [](nanoseconds) { throw std::runtime_error("woken"); };
  CHECK_THROWS_AS(acquire(t.limit, "ann", cost{5}, t.clock.now() + 1s, wakes_at_once), std::runtime_error);
  CHECK(t.limit.peek("ann", cost{0}).reset_after == 2s);
}

TEST_CASE("acquire serves a line in order, each when its turn comes") {
  twenty t;
  moves_the_clock sleep{t.clock};
  std::vector<nanoseconds> served;
  for (int i = 0; i < 50; ++i) {
    CHECK(acquire(t.limit, "ann", cost{1}, t.clock.now() + 1s, sleep));
    served.push_back(t.clock.now().time_since_epoch());
  }
  for (int i = 0; i < 50; ++i) CHECK(served[static_cast<std::size_t>(i)] == std::max(0, i - 19) * 100ms);
}

TEST_CASE("acquire refuses at once what cannot come by the deadline, and does not sleep") {
  twenty t;
  auto const never_sleeps = [](nanoseconds) { FAIL("slept"); };
  CHECK(acquire(t.limit, "ann", cost{20}, t.clock.now(), never_sleeps));
  CHECK_FALSE(acquire(t.limit, "ann", cost{1}, t.clock.now() + 100ms - 1ns, never_sleeps));
  CHECK_FALSE(acquire(t.limit, "ann", cost{1}, t.clock.now() - 1s, never_sleeps));
  CHECK(acquire(t.limit, "ann", cost{21}, t.clock.now() + 1h, never_sleeps).outcome == verdict::never);
  t.clock.advance(100ms);
  CHECK(t.left() == 1);  // the refused took nothing
  CHECK(acquire(t.limit, "ann", cost{2}, t.clock.now() + 100ms,
                moves_the_clock{t.clock}));  // due exactly at the deadline
}

TEST_CASE("no deadline is too far, whatever the clock reads") {
  for (nanoseconds const start : {nanoseconds{-1h}, nanoseconds{0s}, nanoseconds{1h}}) {
    manual_clock clock{start};
    bucket<std::string> limit({.refill = per_second(10), .burst = 20}, clock);
    CHECK(limit.allow("ann", cost{20}));
    nanoseconds slept{};
    CHECK(acquire(limit, "ann", cost{1}, manual_clock::time_point::max(), [&](nanoseconds wait) { slept = wait; }));
    CHECK(slept == 100ms);
    CHECK_FALSE(acquire(limit, "ann", cost{1}, manual_clock::time_point::min(), [](nanoseconds) { FAIL("slept"); }));
  }
}

TEST_CASE("a coarse clock has deadlines too, far ones and none") {
  manual_clock hand{1h};
  token_bucket<std::string, coarse> limit({.refill = per_second(10), .burst = 20}, coarse{hand});
  CHECK(limit.allow("ann", cost{20}));
  std::vector<nanoseconds> slept;
  auto const note = [&](nanoseconds wait) { slept.push_back(wait); };
  CHECK(acquire(limit, "ann", cost{1}, coarse::time_point{std::chrono::hours{24 * 365 * 200}}, note));
  CHECK(acquire(limit, "ann", cost{1}, coarse::time_point{std::chrono::hours{24 * 365 * 1'000}}, note));
  CHECK(acquire(limit, "ann", cost{1}, coarse::time_point::max(), note));
  CHECK(slept == std::vector<nanoseconds>{100ms, 200ms, 300ms});
}

#if defined(__cpp_lib_jthread)

TEST_CASE("a stopped waiter gives its place on, and is refused with what is there now") {
  twenty t;
  CHECK(t.limit.allow("ann", cost{20}));
  std::stop_source stop;
  decision d = acquire(t.limit, "ann", cost{10}, stop.get_token(), [&](nanoseconds wait, std::stop_token token) {
    CHECK(wait == 1s);
    CHECK(t.ask(2).delay == 1200ms);  // somebody comes after it
    t.clock.advance(300ms);
    stop.request_stop();
    return !token.stop_requested();
  });
  CHECK(d.outcome == verdict::limited);
  CHECK(d.delay == 0ns);
  CHECK(t.left() == 1);  // 3 have come since, 2 are promised
  CHECK(d.remaining == 1);
  CHECK(d.retry_after == 900ms);

  // Stopped when its turn had come already: refused, and everything is given back.
  d = acquire(t.limit, "ann", cost{4}, stop.get_token(), [&](nanoseconds wait, std::stop_token) {
    t.clock.advance(wait);
    return false;
  });
  CHECK(d.outcome == verdict::limited);
  CHECK(t.left() == 4);
  CHECK(d.remaining == 4);
}

TEST_CASE("an acquire that is not stopped waits to the end") {
  twenty t;
  moves_the_clock sleep{t.clock};
  std::stop_source stop;
  CHECK(acquire(t.limit, "ann", cost{20}, stop.get_token(), sleep).delay == 0ns);
  CHECK(acquire(t.limit, "ann", cost{5}, stop.get_token(), sleep).delay == 500ms);
  CHECK(t.clock.now() == on(500ms));
  CHECK(t.left() == 0);
  CHECK(acquire(t.limit, "ann", cost{21}, stop.get_token(), sleep).outcome == verdict::never);
  stop.request_stop();
  t.clock.advance(1s);
  CHECK(acquire(t.limit, "ann", cost{10}, stop.get_token(), sleep));  // nothing to wait for
}

TEST_CASE("released exactly at the deadline, a hundred thousand times, nothing is lost") {
  twenty t;
  std::stop_source stop;
  dice random(10);
  CHECK(t.limit.allow("ann", cost{20}));
  int wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::uint64_t const units = 1 + random.below(20);
    bool const stopped = random.below(2) == 0;
    nanoseconds const due = t.limit.peek("ann", cost{units}).retry_after;
    decision d;
    if (random.below(2) == 0) {  // the deadline is when it is due; one that is stopped then is a lease that is dropped
      auto place = reserve_within(t.limit, "ann", due, cost{units});
      t.clock.advance(due);
      if (!stopped) place.commit();
      d = place.answer();
    } else {
      d = acquire(t.limit, "ann", cost{units}, stop.get_token(), [&](nanoseconds wait, std::stop_token) {
        t.clock.advance(wait);
        return !stopped;
      });
      if (static_cast<bool>(d) == (stopped && due > 0ns)) ++wrong;
    }
    if (d && d.delay != due) ++wrong;
    t.clock.advance(2s);  // all comes back
    if (t.left() != 20 || (i % 5000 == 0 && t.limit.stats().keys != 0)) ++wrong;
    if (!t.limit.allow("ann", cost{20})) ++wrong;
  }
  CHECK(wrong == 0);
}

#endif

TEST_CASE("those who leave the line, in any order, take nothing with them") {
  twenty t;
  using place = decltype(reserve_within(t.limit, "ann", 1h));
  dice random(11);
  int wrong = 0;
  for (int round = 0; round < 2'000; ++round) {
    CHECK(t.limit.allow("ann", cost{20}));
    std::vector<place> line;
    for (std::uint64_t n = 2 + random.below(8); n > 0; --n) {
      t.clock.advance(random.up_to(20ms));
      line.push_back(reserve_within(t.limit, "ann", 1h, cost{1 + random.below(5)}));
    }
    while (!line.empty()) {
      std::swap(line[random.below(line.size())], line.back());
      line.pop_back();
    }
    t.clock.advance(2s);
    if (t.left() != 20) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a limiter without a key is waited for in the same words") {
  manual_clock clock;
  bucket<> limit({.refill = per_second(10), .burst = 20}, clock);
  moves_the_clock sleep{clock};
  CHECK(acquire(limit, cost{20}, clock.now() + 1s, sleep));
  CHECK(acquire(limit, cost{5}, clock.now() + 1s, sleep).delay == 500ms);
  CHECK_FALSE(acquire(limit, cost{5}, clock.now(), sleep));
  CHECK(clock.now() == on(500ms));
#if defined(__cpp_lib_jthread)
  CHECK(acquire(limit, cost{5}, std::stop_source{}.get_token(), sleep).delay == 500ms);
  CHECK(clock.now() == on(1s));
#endif
}

#if defined(__cpp_lib_jthread)

TEST_CASE("the sleeper that comes with the library does not sleep when it is stopped already") {
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(blocking_sleeper{}(1h, stop.get_token()));
  CHECK(blocking_sleeper{}(0ns, std::stop_token{}));
  blocking_sleeper{}(0ns);
  twenty t;
  CHECK(t.limit.allow("ann", cost{20}));
  CHECK_FALSE(acquire(t.limit, "ann", cost{20}, stop.get_token()));
  CHECK(acquire(t.limit, "bob", cost{20}, stop.get_token()));
  CHECK(acquire(t.limit, "eve", cost{20}, t.clock.now()));
  t.clock.advance(2s);
  CHECK(t.left() == 20);
}

#endif
