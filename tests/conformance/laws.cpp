// The laws, one by one, of every algorithm in every store. (Law 2: bounds.cpp. Law 10: tests/concurrency.)

#include "subjects.hpp"

using namespace conformance;

namespace {

penstock::instant on(nanoseconds t) { return penstock::instant{t}; }

/// Readings around one, near and far, later ones included.
std::vector<nanoseconds> around(nanoseconds t, nanoseconds full) {
  nanoseconds const lag = tolerance(full);
  return {t - lag,  t - full,       t - 1ns,      t,          t + 1ns, t + full / 3, t + full - 1ns,
          t + full, t + full + 1ns, t + 2 * full, t + 2 * lag};
}

/// Walks a limiter about, so that whatever is tried next meets states of all kinds; then tries it, `times` times.
template <class Row, class Try>
void between_steps(subject& limiter, typename Row::algorithm const& a, dice& d, readings::honesty honesty,
                   std::size_t times, Try attempt) {
  readings clock(d, honesty, Row{}, a);
  units const size = Row::size(a);
  for (std::size_t i = 0; i < times; ++i) {
    for (std::uint64_t calls = d.below(6); calls-- > 0;) {
      nanoseconds const now = clock.next();
      if (d.below(12) == 0)
        limiter.charge(now, some_cost(d, size));
      else
        static_cast<void>(limiter.allow(now, some_cost(d, size)));
    }
    if (d.below(50) == 0) limiter.forget();
    attempt(clock.next(), i);
  }
}

}  // namespace

// ---- law 1 ----------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("law 1: a refusal changes nothing", "[law]", EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    bool failed = false;
    between_steps<TestType>(limiter, a, d, readings::honesty::lagging, steps(600), [&](nanoseconds now, std::size_t i) {
      if (failed) return;
      units const c = size + d.below(2);  // the whole allowance, or more than can ever be
      step const here{s, i, c, now};
      if (limiter.peek(now, c)) return;
      auto const readings = around(now, TestType::full(a));
      auto const before = present(limiter, readings, size);
      auto const stats_before = limiter.stats();
      decision const refused = limiter.allow(now, c);
      failed = true;
      HOLD(here, !refused);
      HOLD(here, before == present(limiter, readings, size));
      HOLD(here, stats_before.keys == limiter.stats().keys);
      failed = false;
    });
  });
}

TEMPLATE_TEST_CASE("law 1: peek says what allow will say, and changes nothing", "[law]", EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    bool failed = false;
    between_steps<TestType>(limiter, a, d, readings::honesty::set, steps(2'000), [&](nanoseconds now, std::size_t i) {
      if (failed) return;
      units const c = some_cost(d, size);
      step const here{s, i, c, now};
      failed = true;
      decision const peeked = limiter.peek(now, c);
      HOLD(here, limiter.peek(now, c) == peeked);
      decision const answer = limiter.allow(now, c);
      HOLD(here, answer == peeked);
      failed = false;
    });
  });
}

// ---- law 3 ----------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("law 3: a refused cost is admitted retry_after later, and refused one nanosecond earlier", "[law]",
                   EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    bool failed = false;
    between_steps<TestType>(limiter, a, d, readings::honesty::set, steps(2'000), [&](nanoseconds now, std::size_t i) {
      if (failed) return;
      units const c = 1 + d.below(size);
      step const here{s, i, c, now};
      decision const answer = limiter.allow(now, c);
      failed = true;
      HOLD(here, answer.outcome != verdict::never);
      HOLD(here, ((answer.outcome == verdict::limited) == (answer.retry_after > 0ns)));
      if (answer.outcome == verdict::limited) {
        HOLD(here, limiter.peek(now + answer.retry_after, c).outcome == verdict::admitted);
        HOLD(here, limiter.peek(now + answer.retry_after - 1ns, c).outcome == verdict::limited);
      }
      // And so is the wait for one more unit than remains.
      HOLD(here, limiter.peek(now, 0).remaining == answer.remaining);
      HOLD(here, ((answer.next_after == 0ns) == (answer.remaining == limiter.peek(now, 0).limit)));
      if (answer.next_after > 0ns) {
        HOLD(here, limiter.peek(now + answer.next_after, 0).remaining > answer.remaining);
        HOLD(here, limiter.peek(now + answer.next_after - 1ns, 0).remaining == answer.remaining);
      }
      // What remains is admitted, one more is not.
      if (answer.remaining > 0) HOLD(here, limiter.peek(now, answer.remaining).outcome == verdict::admitted);
      if (answer.remaining < size) HOLD(here, limiter.peek(now, answer.remaining + 1).outcome == verdict::limited);
      failed = false;
    });
  });
}

TEMPLATE_TEST_CASE("law 3: a cost above the allowance is never admitted, and changes nothing", "[law]",
                   EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    bool failed = false;
    between_steps<TestType>(limiter, a, d, readings::honesty::set, steps(300), [&](nanoseconds now, std::size_t i) {
      if (failed) return;
      for (units const c :
           {size + 1, 2 * size + 5, std::numeric_limits<units>::max() / 2, std::numeric_limits<units>::max()}) {
        step const here{s, i, c, now};
        auto const readings = around(now, TestType::full(a));
        auto const before = present(limiter, readings, size);
        decision const answer = limiter.allow(now, c);
        failed = true;
        HOLD(here, answer.outcome == verdict::never);
        HOLD(here, answer.retry_after == nanoseconds::max());
        HOLD(here, answer.delay == 0ns);
        HOLD(here, before == present(limiter, readings, size));
        failed = false;
      }
    });
  });
}

// ---- law 4 ----------------------------------------------------------------------------------------------------------

namespace {

constexpr nanoseconds earliest = penstock::earliest.time_since_epoch(), latest = penstock::latest.time_since_epoch();

/// Where clocks start.
std::vector<nanoseconds> starts() {
  return {0ns,
          1ns,
          -1ns,
          3'758'770ms,
          -3'758'770ms,
          500'000h,
          -500'000h,
          earliest,
          earliest + 1ns,
          latest - 1ns,
          latest,
          nanoseconds::min(),
          nanoseconds::max()};
}

}  // namespace

TEMPLATE_TEST_CASE("law 4: a key never seen has all of its allowance, wherever the clock starts", "[law]",
                   EVERY_ALGORITHM) {
  for (nanoseconds const start : starts())
    for (shape const& s : shapes())
      for (store_kind const where : TestType::stores()) {
        INFO(s << ", over " << name_of(where) << ", from " << start.count() << " ns");
        auto const a = algorithm_of<TestType>(s, start);
        units const size = TestType::size(a);
        CHECK(a.admits({}, penstock::to_instant(std::chrono::time_point<penstock::timeline, nanoseconds>(start)),
                       penstock::cost{size}));

        auto const limiter = make<TestType>(where, s, start);
        CHECK(limiter->peek(start, size).outcome == verdict::admitted);
        decision const fresh = limiter->peek(start, 0);
        CHECK(fresh.remaining == fresh.limit);
        CHECK(fresh.reset_after == 0ns);
        CHECK(fresh.next_after == 0ns);
        CHECK(limiter->stats().keys == 0);
        CHECK(limiter->allow_by_clock(start, size).outcome == verdict::admitted);
        CHECK(limiter->allow(start, size).outcome == verdict::limited);
        CHECK(limiter->stats().keys == 1);
      }
}

TEMPLATE_TEST_CASE("law 4: a state without counts is fresh at every reading that the clock may come to", "[law]",
                   EVERY_ALGORITHM) {
  for (nanoseconds const start : starts())
    for (shape const& s : shapes()) {
      auto const a = algorithm_of<TestType>(s, start);
      typename TestType::state const zero{};
      dice d(4);
      for (int i = 0; i < 200; ++i) {
        nanoseconds const away{static_cast<std::int64_t>(d.of_any_size(59))};  // 18 years
        nanoseconds const from = std::clamp(start, earliest, latest);
        penstock::instant const now = on(std::clamp(d.below(3) == 0 ? from - away / 4 : from + away, earliest, latest));
        INFO(s << ", from " << start.count() << " ns, at " << now.time_since_epoch().count() << " ns");
        bool const is_fresh = penstock::detail::is_fresh(a, zero, now) && a.fresh_at(zero) <= now;
        decision const all = a.describe(zero, now, penstock::cost{TestType::size(a)});
        bool const admitted = a.admits(zero, now, penstock::cost{TestType::size(a)});
        if (is_fresh && all && admitted) continue;
        CHECK(is_fresh);
        CHECK(admitted);
        CHECK(all.outcome == verdict::admitted);
        return;
      }
    }
}

TEMPLATE_TEST_CASE("law 4: at the ends of time nothing overflows", "[law]", EVERY_ALGORITHM) {
  for (nanoseconds const start : {nanoseconds::min(), earliest, latest, nanoseconds::max()})
    for (store_kind const where : TestType::stores())
      for (auto const full : {penstock::when_full::inherit, penstock::when_full::refuse}) {
        INFO(name_of(where) << ", from " << start.count() << " ns");
        auto const limiter = make<TestType>(where, {3, 200s, 5}, start, {.max_keys = 1, .full = full});
        for (nanoseconds const now : {start, nanoseconds::min(), -1ns, 0ns, nanoseconds::max(), start})
          for (subject::key k = 0; k < (is_keyed(where) ? 30U : 1U); ++k) {
            limiter->charge(now, 1, k);
            decision const d = limiter->allow(now, 3, k);
            CHECK(d.retry_after >= 0ns);
            CHECK(d.reset_after >= 0ns);
            CHECK(d.next_after >= 0ns);
            limiter->refund(now, 1, k);
          }
      }
}

// ---- law 5 ----------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("law 5: from reset_after on, a key decides as one never seen", "[law]", EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    nanoseconds const full = TestType::full(a);
    typename TestType::state const never_seen{};
    bool failed = false;
    between_steps<TestType>(limiter, a, d, readings::honesty::lagging, steps(600), [&](nanoseconds now, std::size_t i) {
      if (failed) return;
      nanoseconds const reset = limiter.peek(now, 0).reset_after;
      for (nanoseconds const later : {0ns, 1ns, nanoseconds(full / 2), full - 1ns, full, 3 * full, nanoseconds(1h)})
        for (units const c : {units{0}, units{1}, size / 2, size - 1, size, size + 1}) {
          nanoseconds const at = now + reset + later;
          step const here{s, i, c, at};
          decision const expected = a.describe(never_seen, on(at), penstock::cost{c});
          failed = true;
          HOLD(here, limiter.peek(at, c) == expected);
          failed = false;
        }
    });
  });
}

TEMPLATE_TEST_CASE("law 5: fresh_at is where reset_after points, and joining is never more lenient", "[law]",
                   EVERY_ALGORITHM) {
  for (shape const& s : shapes()) {
    auto const a = algorithm_of<TestType>(s);
    units const size = TestType::size(a);
    nanoseconds const full = TestType::full(a);
    dice d(5);
    readings clock(d, readings::honesty::forward, TestType{}, a);
    std::array<typename TestType::state, 2> states{};
    for (std::size_t i = 0; i < steps(20'000); ++i) {
      nanoseconds const now = clock.next();
      auto& state = states[d.below(2)];
      units const c = some_cost(d, size);
      step const here{s, i, c, now};
      if (d.below(20) == 0)
        a.charge(state, on(now), penstock::cost{c});
      else if (a.admits(state, on(now), penstock::cost{c}))
        a.charge(state, on(now), penstock::cost{c});
      decision const stands = a.describe(state, on(now), penstock::cost{0});
      REQUIRE(std::max(0ns, nanoseconds(a.fresh_at(state) - on(now))) == stands.reset_after);
      REQUIRE(penstock::detail::is_fresh(a, state, on(now)) == (stands.reset_after == 0ns));
      if (d.below(1'000) == 0) state = {};

      auto const joined = a.join(states[0], states[1]), other_way = a.join(states[1], states[0]);
      for (nanoseconds const later : {0ns, 1ns, nanoseconds(full / 3), full, 2 * full}) {
        penstock::instant const at = on(now + later);
        decision const j = a.describe(joined, at, penstock::cost{0}), k = a.describe(other_way, at, penstock::cost{0});
        decision const x = a.describe(states[0], at, penstock::cost{0}),
                       y = a.describe(states[1], at, penstock::cost{0});
        bool const strict = j.remaining <= std::min(x.remaining, y.remaining) &&
                            j.reset_after >= std::max(x.reset_after, y.reset_after);
        if (strict && j == k) continue;
        INFO(here << ", looked at " << later.count() << " ns later");
        CHECK(strict);
        CHECK(j == k);
        return;
      }
      // With a key never seen, or with itself, nothing changes.
      REQUIRE(a.describe(a.join(state, {}), on(now), penstock::cost{1}) ==
              a.describe(state, on(now), penstock::cost{1}));
      REQUIRE(a.describe(a.join(state, state), on(now), penstock::cost{1}) ==
              a.describe(state, on(now), penstock::cost{1}));
    }
  }
}

// ---- law 6 ----------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("law 6: a reading that lags admits no more than the newest would, and moves nothing back", "[law]",
                   EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    nanoseconds const full = TestType::full(a), most = TestType::longest_lag(a);
    bool failed = false;
    nanoseconds newest = -1h;
    between_steps<TestType>(limiter, a, d, readings::honesty::forward, steps(1'000),
                            [&](nanoseconds now, std::size_t i) {
                              if (failed) return;
                              newest = std::max(newest, now);
                              if (d.below(2) == 0) static_cast<void>(limiter.allow(newest, 1));
                              nanoseconds const lag = d.below(3) == 0 ? most : d.up_to(most);
                              units const c = 1 + d.below(size);
                              step const here{s, i, c, newest - lag};
                              failed = true;
                              HOLD(here, limiter.peek(newest - lag, 0).remaining <= limiter.peek(newest, 0).remaining);
                              HOLD(here, (!limiter.peek(newest - lag, c) || limiter.peek(newest, c)));

                              auto const later = {newest, newest + 1ns, newest + full / 2, newest + full - 1ns};
                              std::vector<decision> before, after;
                              for (nanoseconds const t : later) before.push_back(limiter.peek(t, 0));
                              decision const answer = limiter.allow(newest - lag, c);
                              for (nanoseconds const t : later) after.push_back(limiter.peek(t, 0));
                              for (std::size_t k = 0; k < before.size(); ++k) {
                                HOLD(here, after[k].remaining <= before[k].remaining);
                                HOLD(here, after[k].reset_after >= before[k].reset_after);
                              }
                              if (!answer) HOLD(here, before == after);
                              failed = false;
                            });
  });
}

TEMPLATE_TEST_CASE("law 6: a clock set back leaves a key fully used, and nobody is locked out for longer than Λ + 2W",
                   "[law]", EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    nanoseconds const full = TestType::full(a), most = tolerance(full);
    for (nanoseconds const back : {full, most - 1ns, most, most + 1ns, most + full, most + full + 1ns, most + 2 * full,
                                   most + 2 * full + 1ns, 5 * most, nanoseconds(8760h)})
      for (units const charged : {units{1}, size, 2 * size}) {
        limiter.forget();
        nanoseconds const start = d.up_to(1h), now = start - back;
        step const here{s, charged, 1, now};
        limiter.charge(start, charged);
        HOLD(here, limiter.peek(start, 0).reset_after <= 2 * full);

        // Whoever does as told is let in, without being told to wait again.
        decision const answer = limiter.allow(now, 1);
        HOLD(here, answer.retry_after <= most + 2 * full);
        HOLD(here, limiter.peek(now, 0).reset_after <= most + 2 * full + full);
        if (!answer) HOLD(here, limiter.peek(now + answer.retry_after, 1).outcome == verdict::admitted);
        if (back > most + 2 * full) {
          HOLD(here, !answer);  // it may be the same reading twice: nothing is minted
          HOLD(here, answer.remaining == 0);
          HOLD(here, answer.retry_after <= full + 1ns);
          HOLD(here, limiter.peek(now, 0).remaining == 0);
          HOLD(here, limiter.peek(now + full + 1ns, 1).outcome == verdict::admitted);
        }
      }
  });
}

TEMPLATE_TEST_CASE("law 6: a full store that finds its clock set back locks nobody out either", "[law]",
                   EVERY_ALGORITHM) {
  for (store_kind const where : TestType::stores())
    for (auto const full_policy : {penstock::when_full::inherit, penstock::when_full::refuse}) {
      if (!is_keyed(where)) continue;
      shape const s{2, 10s, 2};
      auto const a = algorithm_of<TestType>(s);
      nanoseconds const full = TestType::full(a), most = tolerance(full);
      INFO("over " << name_of(where) << (full_policy == penstock::when_full::refuse ? ", refusing newcomers" : ""));
      auto const limiter = make<TestType>(where, s, 0ns, {.max_keys = 4, .full = full_policy});
      for (subject::key k = 0; k < 100; ++k)
        limiter->charge(0s, TestType::size(a), k);  // all places are taken, with force

      // A day earlier: the old keys do not come back. A new one calls now and then, others seldom.
      nanoseconds now = -24h;
      subject::key const visitor = 1'000;
      subject::key other = 2'000;
      bool admitted = false;
      for (; !admitted && now <= -24h + most + 2 * full; now += full + 1s) {
        admitted = static_cast<bool>(limiter->allow(now, 1, visitor));
        now += full + 1s;
        static_cast<void>(limiter->allow(now, 1, other++));
      }
      CHECK(admitted);
    }
}

// ---- law 7 ----------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("law 7: a refund undoes a charge that fitted", "[law]", EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    bool failed = false;
    nanoseconds newest = -1h;
    between_steps<TestType>(limiter, a, d, readings::honesty::forward, steps(600), [&](nanoseconds now, std::size_t i) {
      if (failed) return;
      newest = std::max(newest, now);
      units const c = 1 + d.below(size);
      if (!limiter.peek(newest, c)) return;
      step const here{s, i, c, newest};
      auto const readings = {newest, newest + 1ns, newest + TestType::full(a) / 2, newest + 2 * TestType::full(a)};
      auto const before = present(limiter, readings, size);
      if (d.below(2) == 0)
        limiter.charge(newest, c);
      else
        static_cast<void>(limiter.allow(newest, c));
      failed = true;
      HOLD(here, limiter.peek(newest, size).outcome == verdict::limited);
      limiter.refund(newest, c);
      HOLD(here, before == present(limiter, readings, size));
      failed = false;
    });
  });
}

TEMPLATE_TEST_CASE("law 7: a ticket is undone, also one taken by a reading that lags", "[law]", EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    nanoseconds const full = TestType::full(a);
    bool failed = false;
    nanoseconds newest = -1h;
    between_steps<TestType>(
        limiter, a, d, readings::honesty::forward, steps(1'000), [&](nanoseconds now, std::size_t i) {
          if (failed) return;
          newest = std::max(newest, now);
          if (d.below(2) == 0) static_cast<void>(limiter.allow(newest, 1));
          nanoseconds const at =
              d.below(2) == 0
                  ? newest
                  : newest - d.up_to(std::min(TestType::longest_lag(a), d.below(2) == 0 ? full : nanoseconds::max()));
          units const c = 1 + d.below(size);
          step const here{s, i, c, at};
          auto const readings = {newest, newest + 1ns, newest + full / 2, newest + 2 * full};
          auto const before = present(limiter, readings, size);
          decision const answer = limiter.take(at, c);
          limiter.undo();
          failed = true;
          INFO("the newest reading was " << newest.count() << " ns, the ticket " << answer);
          HOLD(here, before == present(limiter, readings, size));
          failed = false;
        });
  });
}

TEMPLATE_TEST_CASE("law 7: nothing is refunded above fresh, nor to a key that is not held", "[law]", EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    step const here{s, 0, size, 0ns};
    decision const fresh = limiter.peek(0ns, 0);
    limiter.refund(0ns, size);
    HOLD(here, limiter.peek(0ns, 0) == fresh);
    HOLD(here, limiter.stats().keys == 0);
    for (units const c : {size, size + 1, std::numeric_limits<units>::max()}) {
      static_cast<void>(limiter.allow(0ns, 1 + d.below(size)));
      limiter.refund(0ns, c);
      limiter.refund(0ns, c);
      HOLD(here, limiter.peek(0ns, 0) == fresh);
      HOLD(here, limiter.peek(0ns, size + 1).outcome == verdict::never);
      HOLD(here, limiter.allow(0ns, size));
      HOLD(here, !limiter.allow(0ns, 1));
      limiter.forget();
      HOLD(here, limiter.peek(0ns, 0) == fresh);
    }
  });
}

// ---- law 8 ----------------------------------------------------------------------------------------------------------

TEST_CASE("law 8: bucket, meter and queue admit exactly the same requests", "[law]") {
  for (shape const& s : shapes()) {
    auto const bucket = algorithm_of<token_bucket>(s);
    auto const meter = algorithm_of<leaky_meter>(s);
    auto const queue = algorithm_of<leaky_queue>(s);
    token_bucket::state in_bucket{};
    leaky_meter::state in_meter{};
    leaky_queue::state in_queue{};
    dice d(8);
    readings clock(d, readings::honesty::set, token_bucket{}, bucket);
    for (std::size_t i = 0; i < steps(1'000'000); ++i) {
      nanoseconds const now = clock.next();
      units const units_asked = some_cost(d, s.size);
      penstock::cost const c{units_asked};
      step const here{s, i, units_asked, now};
      bool const admitted = bucket.admits(in_bucket, on(now), c);
      HOLD(here, meter.admits(in_meter, on(now), c) == admitted);
      HOLD(here, queue.admits(in_queue, on(now), c) == admitted);
      if (admitted) {
        bucket.charge(in_bucket, on(now), c);
        meter.charge(in_meter, on(now), c);
        queue.charge(in_queue, on(now), c);
      } else if (units_asked <= s.size) {
        bucket.reanchor(in_bucket, on(now));
        meter.reanchor(in_meter, on(now));
        queue.reanchor(in_queue, on(now));
      }
    }
  }
}

TEST_CASE("law 8: bucket, meter and queue answer alike in every store", "[law]") {
  for (shape const& s : shapes())
    for (store_kind const where : token_bucket::stores()) {
      auto const bucket = make<token_bucket>(where, s), meter = make<leaky_meter>(where, s),
                 queue = make<leaky_queue>(where, s);
      dice d(88);
      readings clock(d, readings::honesty::set, token_bucket{}, algorithm_of<token_bucket>(s));
      for (std::size_t i = 0; i < steps(10'000); ++i) {
        nanoseconds const now = clock.next();
        units const c = some_cost(d, s.size);
        step const here{s, i, c, now};
        decision const answer = bucket->allow(now, c), same = meter->allow(now, c);
        decision delayed = queue->allow(now, c);
        HOLD(here, answer == same);
        HOLD(here, ((delayed.delay > 0ns) == (answer && c != 0)));
        HOLD(here, (delayed.delay == 0ns || delayed.delay == delayed.reset_after));
        delayed.delay = 0ns;
        HOLD(here, answer == delayed);
      }
    }
}

// ---- law 9 ----------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("law 9: cost 0 is admitted, also in debt, changes nothing and reports the present", "[law]",
                   EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    units const size = TestType::size(a);
    nanoseconds const full = TestType::full(a);
    bool failed = false;
    between_steps<TestType>(limiter, a, d, readings::honesty::set, steps(400), [&](nanoseconds now, std::size_t i) {
      if (failed) return;
      if (d.below(2) == 0) limiter.charge(now, 2 * size);
      step const here{s, i, 0, now};
      auto const readings = around(now, full);
      auto const before = present(limiter, readings, size);
      decision const asked = limiter.peek(now, 1), peeked = limiter.peek(now, 0);
      decision const answer = limiter.allow(now, 0);
      failed = true;
      HOLD(here, answer == peeked);
      HOLD(here, answer.outcome == verdict::admitted);
      HOLD(here, answer.retry_after == 0ns);
      HOLD(here, answer.delay == 0ns);
      if (!asked) HOLD(here, answer.remaining == 0);
      if (asked) HOLD(here, answer.remaining == asked.remaining + 1);
      limiter.charge(now, 0);
      limiter.refund(now, 0);
      static_cast<void>(limiter.take(now, 0));
      limiter.undo();
      HOLD(here, before == present(limiter, readings, size));
      failed = false;
    });
  });
}

TEMPLATE_TEST_CASE("law 9: asking for nothing does not stop what could be undone from being undone", "[law]",
                   EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice&) {
    step const here{s, 0, TestType::size(a), 5ns};
    auto const fresh = present(limiter, {5ns, 6ns}, TestType::size(a));
    limiter.charge(5ns, TestType::size(a));
    static_cast<void>(limiter.allow(5ns, 0));
    limiter.charge(5ns, 0);
    limiter.refund(5ns, 0);
    limiter.refund(5ns, TestType::size(a));
    HOLD(here, fresh == present(limiter, {5ns, 6ns}, TestType::size(a)));
  });
}
