// A configuration that changes under way: what holds before and after must hold across the change.

#include "subjects.hpp"

using namespace conformance;

namespace {

template <class Row, class Hold>
void with_changes(Hold hold) {
  struct change {
    shape from, to;
  };
  for (change const& c : std::vector<change>{
           {{100, 60s, 100}, {10'000, 60s, 10'000}},  // more at a time
           {{10'000, 60s, 10'000}, {100, 60s, 100}},  // less
           {{10, 100s, 10}, {10, 10s, 10}},           // faster
           {{10, 10s, 10}, {10, 100s, 10}},           // slower
           {{10, 1h, 10}, {10, 60s, 10}},
       })
    for (store_kind const where : Row::stores()) {
      INFO("from " << c.from << " to " << c.to << ", over " << name_of(where));
      auto const limiter = make<Row>(where, c.from);
      hold(*limiter, c.from, c.to);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("after a change, peek says what allow will say", "[change]", EVERY_ALGORITHM) {
  with_changes<TestType>([](subject& limiter, shape const& from, shape const& to) {
    for (units const used : {from.size / 2, from.size, 2 * from.size}) {
      limiter.forget();
      limiter.reconfigure(0ns, from);
      limiter.charge(0ns, used);
      limiter.reconfigure(1s, to);
      for (nanoseconds now = 1s; now < 20s; now += 3s) {
        decision const peeked = limiter.peek(now, 3), answer = limiter.allow(now, 3);
        HOLD(now.count() << " ns", answer == peeked);
      }
    }
  });
}

TEMPLATE_TEST_CASE("after a change, a refused cost is admitted retry_after later", "[change]", EVERY_ALGORITHM) {
  with_changes<TestType>([](subject& limiter, shape const& from, shape const& to) {
    for (units const used : {from.size, 2 * from.size}) {
      limiter.forget();
      limiter.reconfigure(0ns, from);
      limiter.charge(0ns, used);
      limiter.reconfigure(1s, to);
      auto const a = algorithm_of<TestType>(to);
      for (units const c : {units{1}, TestType::size(a)}) {
        decision const answer = limiter.allow(1s, c);
        HOLD(used << " used", answer.outcome != verdict::never);
        if (answer) continue;
        HOLD(used << " used, " << answer, limiter.peek(1s + answer.retry_after - 1ns, c).outcome == verdict::limited);
        HOLD(used << " used, " << answer, limiter.peek(1s + answer.retry_after, c).outcome == verdict::admitted);
      }
      HOLD(used << " used", limiter.peek(1s, 0).reset_after <= 2 * TestType::full(a));
    }
  });
}

TEMPLATE_TEST_CASE("after a change nobody waits longer than the new configuration takes to recover from full use",
                   "[change]", EVERY_ALGORITHM) {
  with_changes<TestType>([](subject& limiter, shape const& from, shape const& to) {
    auto const a = algorithm_of<TestType>(to);
    limiter.charge(0ns, 2 * from.size);
    limiter.reconfigure(1s, to);
    nanoseconds const recovery = a.full_use();  // of a sliding counter two windows: its counts are kept
    nanoseconds now = 1s;
    while (!limiter.allow(now, 1) && now <= 1s + 2 * recovery) now += std::max<nanoseconds>(1s, recovery / 16);
    HOLD(now.count() << " ns", now <= 1s + recovery + recovery / 16);
  });
}

TEMPLATE_TEST_CASE("40 of 100 a minute used become 40 % of 10000 a minute", "[change]", token_bucket, leaky_meter,
                   leaky_queue) {
  for (store_kind const where : TestType::stores()) {
    auto const limiter = make<TestType>(where, {100, 60s, 100});
    limiter->charge(0ns, 40);
    CHECK(limiter->peek(0ns, 0).remaining == 60);
    limiter->reconfigure(0ns, {10'000, 60s, 10'000});
    CHECK(limiter->peek(0ns, 0).remaining == 6'000);
    CHECK(limiter->peek(0ns, 0).limit == 10'000);
    limiter->reconfigure(0ns, {100, 60s, 100});
    CHECK(limiter->peek(0ns, 0).remaining == 60);
  }
}

TEMPLATE_TEST_CASE("long after a change, all is as if the new configuration had always been", "[change]",
                   EVERY_ALGORITHM) {
  with_changes<TestType>([](subject& limiter, shape const& from, shape const& to) {
    limiter.charge(0ns, 2 * from.size);
    limiter.reconfigure(1s, to);
    auto const a = algorithm_of<TestType>(to);
    auto model = TestType::model_of(a);
    dice d(71);
    for (nanoseconds now = 10h; now < 11h; now += d.up_to(20s)) {
      units const c = some_cost(d, TestType::size(a));
      decision const answer = limiter.allow(now, c), expected = as_decision(model.ask(now.count(), c));
      HOLD((step{to, 0, c, now}), answer == expected);
    }
  });
}

TEMPLATE_TEST_CASE("a reading that lags cuts nothing that was charged since, however long ago the change", "[change]",
                   EVERY_ALGORITHM) {
  with_changes<TestType>([](subject& limiter, shape const& from, shape const& to) {
    auto const a = algorithm_of<TestType>(to);
    units const size = TestType::size(a), c = std::max<units>(1, size / 10);
    nanoseconds const full = algorithm_of<TestType>(from).full_use(), lag = TestType::longest_lag(a);
    for (nanoseconds const late : {1s + full / 2, 1s + 2 * full - 1ns, 1s + 2 * full, 1s + 2 * full + lag - 1ns,
                                   1s + 2 * full + lag, 1s + 3 * full + lag}) {
      limiter.forget();
      limiter.reconfigure(0ns, from);
      limiter.reconfigure(1s, to);
      units admitted = 0;
      for (int round = 0; round < 5; ++round) {
        while (limiter.allow(late, c)) admitted += c;
        for (nanoseconds const back : {1ns, lag / 2, lag})
          if (limiter.allow(late - back, c)) admitted += c;
      }
      HOLD(late.count() << " ns, " << admitted << " admitted", admitted <= size);
    }
  });
}
