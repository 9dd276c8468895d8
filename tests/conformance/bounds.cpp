// Law 2: no interval of time holds more than it may. What is admitted on long random runs is fed to checkers that look
// at every interval at once. (Refunds are left out: they count when they are made. tests/conformance/table.cpp has the
// bound for every key of a table that is too small.)

#include "subjects.hpp"

using namespace conformance;

namespace {

penstock::instant on(nanoseconds t) { return penstock::instant{t}; }

}  // namespace

TEMPLATE_TEST_CASE("law 2: the bound holds in every interval of a long run", "[law]", EVERY_ALGORITHM) {
  for (auto const honesty : {readings::honesty::forward, readings::honesty::lagging})
    for (shape const& s : shapes()) {
      auto const a = algorithm_of<TestType>(s);
      auto bound = TestType::bound_of(s, a);
      typename TestType::state state{};
      units const size = TestType::size(a);
      dice d(2);
      readings clock(d, honesty, TestType{}, a);
      units admitted = 0;
      for (std::size_t i = 0; i < steps(750'000); ++i) {
        nanoseconds const now = clock.next();
        penstock::cost const c{1 + d.below(d.below(4) == 0 ? size : 1)};
        decision const answer = a.describe(state, on(now), c);
        if (!answer) continue;
        a.charge(state, on(now), c);
        bound.admit(now, c.units, answer.delay);
        admitted += c.units;
        step const here{s, i, c.units, now};
        if (!bound.holds()) FAIL(here);
      }
      CHECK(admitted > size);
    }
}

TEMPLATE_TEST_CASE(
    "law 2: the bound holds for whoever polls greedily, for all that the wait tells, and for whoever comes at the last "
    "instant",
    "[law]", EVERY_ALGORITHM) {
  for (shape const& s : shapes())
    for (store_kind const where : TestType::stores()) {
      auto const a = algorithm_of<TestType>(s);
      INFO(s << ", over " << name_of(where));
      auto const limiter = make<TestType>(where, s);
      auto bound = TestType::bound_of(s, a);
      units const size = TestType::size(a);
      dice d(22);
      nanoseconds now = 0ns;
      for (std::size_t i = 0; i < steps(3'000); ++i) {
        units const c = 1 + d.below(size);
        decision answer = limiter->allow(now, c);
        if (answer) bound.admit(now, c, answer.delay);
        decision const present = limiter->peek(now, 0);
        switch (d.below(5)) {
          case 0:
            now += present.next_after;
            break;
          case 1:
            now += answer.retry_after;
            break;
          case 2:
            now += present.reset_after;
            break;
          case 3:
            now += std::max(0ns, present.reset_after - 1ns);
            break;
          default:
            break;
        }
        if (d.below(3) == 0)
          for (int calls = 0; calls < 50 && (answer = limiter->allow(now, 1)); ++calls)
            bound.admit(now, 1, answer.delay);
      }
      CHECK(bound.holds());
    }
}

TEST_CASE("law 2: over decades, too", "[law]") {
  // A call a day for 15 years, on a rate that is not a whole number of nanoseconds.
  auto const a = penstock::algorithm::token_bucket({.refill = {7, 1'000'000s}, .burst = 3});
  oracle::bound::bucket bound(7, nanoseconds(1'000'000s).count(), 3);
  token_bucket::state state{};
  units admitted = 0;
  for (nanoseconds now = 0ns; now < 15 * 8766h; now += 4h + 1ns) {
    if (!a.admits(state, on(now), penstock::cost{1})) continue;
    a.charge(state, on(now), penstock::cost{1});
    bound.admit(now.count(), 1);
    ++admitted;
  }
  CHECK(bound.holds());
  CHECK(admitted == 3 + 7 * 15 * 8766 * 3600ULL / 1'000'000);
}

TEST_CASE("law 2: a rate that must be rounded is rounded down", "[law]") {
  // 80000 a second, polled every microsecond for ten seconds: at most 1 + 80000 * 10.
  for (units const count : std::initializer_list<units>{80'000, 12'345, 999'983, 77'777}) {
    auto const a = penstock::algorithm::token_bucket({.refill = penstock::per_second(count), .burst = 1});
    token_bucket::state state{};
    units admitted = 0;
    for (nanoseconds now = 0ns; now <= 10s; now += 1us) {
      if (!a.admits(state, on(now), penstock::cost{1})) continue;
      a.charge(state, on(now), penstock::cost{1});
      ++admitted;
    }
    INFO(count << " per second");
    CHECK(admitted <= 10 * count + 1);
  }
}
