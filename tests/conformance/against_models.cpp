// Every decision of every algorithm and every limiter beside the decision of its exact model: all short sequences, long
// random walks, and walks through each store.

#include "subjects.hpp"

#include <array>

using namespace conformance;

namespace {

penstock::instant on(nanoseconds t) { return penstock::instant{t}; }

/// The bare algorithm, used as a limiter uses it.
template <class Row>
struct bare {
  typename Row::algorithm const& a;
  typename Row::state state{};

  decision peek(nanoseconds now, units c) const { return a.describe(state, on(now), penstock::cost{c}); }
  decision allow(nanoseconds now, units c) {
    decision const d = peek(now, c);
    if (a.admits(state, on(now), penstock::cost{c}))
      a.charge(state, on(now), penstock::cost{c});
    else if (d.outcome == verdict::limited)
      penstock::detail::reanchor(a, state, on(now));
    return d;
  }
};

// ---- all short sequences --------------------------------------------------------------------------------------------

/// Asks whatever can be asked, to a depth; every path starts from the same two copies.
template <class Row>
class every_sequence {
 public:
  every_sequence(shape const& s, std::vector<nanoseconds> times, std::vector<units> costs)
      : shape_(s), a_(algorithm_of<Row>(s)), times_(std::move(times)), costs_(std::move(costs)) {}

  void of_length(unsigned length) {
    ask(bare<Row>{a_}, Row::model_of(a_), length);
    CHECK(asked_ > 0);
  }

 private:
  void ask(bare<Row> const& before, typename Row::model const& model_before, unsigned length) {
    if (length == 0 || failed_) return;
    for (nanoseconds const t : times_)
      for (units const c : costs_) {
        path_[length] = {t, c};
        auto limiter = before;
        auto model = model_before;
        bool const admits = a_.admits(limiter.state, on(t), penstock::cost{c});
        decision const answer = limiter.allow(t, c), expected = as_decision(model.ask(t.count(), c));
        ++asked_;
        if (answer != expected || admits != static_cast<bool>(expected)) return fail(length, answer, expected);
        ask(limiter, model, length - 1);
        if (failed_) return;
      }
  }

  void fail(unsigned length, decision const& answer, decision const& expected) {
    failed_ = true;
    std::string told;
    for (std::size_t i = path_.size(); i-- > length;)
      if (path_[i].at != never_asked)
        told += " (" + std::to_string(path_[i].at.count()) + " ns, " + std::to_string(path_[i].cost) + ")";
    INFO(shape_ << ", asked" << told);
    CHECK(answer == expected);
  }

  static constexpr nanoseconds never_asked = nanoseconds::min();
  struct question {
    nanoseconds at = never_asked;
    units cost = 0;
  };
  shape shape_;
  typename Row::algorithm a_;
  std::vector<nanoseconds> times_;
  std::vector<units> costs_;
  std::array<question, 8> path_{};
  std::size_t asked_ = 0;
  bool failed_ = false;
};

}  // namespace

TEMPLATE_TEST_CASE("every short sequence of calls is answered as by the model", "[exhaustive]", EVERY_ALGORITHM) {
  unsigned const more = steps(10) > 10 ? 1 : 0;
  for (shape const& s : std::vector<shape>{{2, 7ns, 3}, {3, 5ns, 2}, {1, 3ns, 1}}) {
    auto const a = algorithm_of<TestType>(s);
    nanoseconds const w = TestType::full(a);
    units const size = TestType::size(a);
    every_sequence<TestType>(s, {0ns, 1ns, 2ns, w - 1ns, w, w + 1ns}, {0, 1, 2, size, size + 1})
        .of_length(slow ? 3 : 3 + more);
    every_sequence<TestType>(s, {0ns, 1ns, w - 1ns, w, w + 1ns, 2 * w}, {1, size}).of_length(slow ? 3 : 4 + more);
    every_sequence<TestType>(s, {-1ns, 0ns, w, 2 * w - 1ns}, {1, size}).of_length(slow ? 4 : 5 + more);
    every_sequence<TestType>(s, {0ns, 1ns, w}, {1, size}).of_length(slow ? 4 : 6 + more);
  }
}

TEMPLATE_TEST_CASE("every short sequence of calls is answered as by the model when the clock is set back",
                   "[exhaustive]", EVERY_ALGORITHM) {
  for (shape const& s : std::vector<shape>{{2, 7s, 3}, {1, 100s, 2}}) {
    auto const a = algorithm_of<TestType>(s);
    nanoseconds const w = TestType::full(a), most = tolerance(w);
    units const size = TestType::size(a);
    every_sequence<TestType>(s, {0ns, w, most, most + 1ns, most + w, most + w + 1ns, most + 2 * w, 3 * most + 2 * w},
                             {1, size, size + 1})
        .of_length(3);
  }
}

// ---- long walks -----------------------------------------------------------------------------------------------------

namespace {

template <class Row>
void walk(shape const& s, std::uint64_t seed, std::size_t how_many) {
  auto const a = algorithm_of<Row>(s);
  auto model = Row::model_of(a);
  bare<Row> limiter{a};
  units const size = Row::size(a);
  dice d(seed);
  readings clock(d, readings::honesty::set, Row{}, a);
  nanoseconds charged = 0ns;
  for (std::size_t i = 0; i < how_many; ++i) {
    nanoseconds const now = clock.next();
    units const c = some_cost(d, size);
    step const here{s, i, c, now};
    switch (d.below(16)) {
      case 0:
        a.charge(limiter.state, on(now), penstock::cost{c});
        model.charge(now.count(), c);
        break;
      case 1: {
        nanoseconds const at = d.below(2) == 0 ? charged : now;
        a.refund(limiter.state, on(at), penstock::cost{c});
        model.refund(at.count(), c);
        break;
      }
      case 2:
        if (d.below(100) != 0) break;
        limiter.state = {};
        model.forget();
        break;
      default: {
        bool const admits = a.admits(limiter.state, on(now), penstock::cost{c});
        decision const answer = limiter.allow(now, c), expected = as_decision(model.ask(now.count(), c));
        HOLD("seed " << seed << ", " << here, answer == expected);
        HOLD("seed " << seed << ", " << here, admits == static_cast<bool>(answer));
        if (admits && c != 0) charged = now;
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("random walks are answered as by the model", "[random]", EVERY_ALGORITHM) {
  std::size_t const each = steps(10'000'000) / shapes().size();
  std::uint64_t seed = 100;
  for (shape const& s : shapes()) walk<TestType>(s, ++seed, each);
}

TEMPLATE_TEST_CASE("large numbers are answered as by the model", "[random]", EVERY_BARE_ALGORITHM) {
  std::uint64_t seed = 200;
  for (shape const& s : std::vector<shape>{
           {5, 8760h, 5},               // a year
           {1'000'000, 1h, 1'000'000},  // a burst for each of an hour's
           {2'000'000'000, 1s, 2'000'000'000},
           {1'000, 24h, 100'000},
           {1, 720h, 1},
       })
    walk<TestType>(s, ++seed, steps(100'000));
}

TEST_CASE("the rate that is kept is the one asked for, or less than 0.2 % below", "[rate]") {
  for (shape const& s : shapes()) {
    auto const kept = algorithm_of<token_bucket>(s).true_rate();
    auto const kept_share = static_cast<long double>(kept.count) / static_cast<long double>(kept.period.count());
    auto const asked_share = static_cast<long double>(s.count) / static_cast<long double>(s.period.count());
    CHECK(kept_share <= asked_share * (1 + 1e-18L));
    CHECK(kept_share >= asked_share * 0.998L);
  }
}

// ---- limiters -------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("a limiter answers one key as the model does, in every store, whatever the clock does", "[stores]",
                   EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    auto model = TestType::model_of(a);
    units const size = TestType::size(a);
    readings clock(d, readings::honesty::set, TestType{}, a);
    nanoseconds charged = 0ns;
    for (std::size_t i = 0; i < steps(4'000); ++i) {
      nanoseconds const now = clock.next();
      units const c = some_cost(d, size);
      step const here{s, i, c, now};
      switch (d.below(20)) {
        case 0:
          limiter.charge(now, c);
          model.charge(now.count(), c);
          break;
        case 1: {
          nanoseconds const at = d.below(2) == 0 ? charged : now;
          limiter.refund(at, c);
          model.refund(at.count(), c);
          break;
        }
        case 2:
          if (d.below(20) != 0) break;
          limiter.forget();
          model.forget();
          break;
        case 3: {
          decision const answer = limiter.peek(now, c), expected = as_decision(model.look(now.count(), c));
          HOLD(here, answer == expected);
          break;
        }
        case 4: {
          decision const answer = limiter.allow_by_clock(now, c), expected = as_decision(model.ask(now.count(), c));
          HOLD(here, answer == expected);
          break;
        }
        default: {
          decision const answer = limiter.allow(now, c), expected = as_decision(model.ask(now.count(), c));
          HOLD(here, answer == expected);
          if (answer && c != 0) charged = now;
        }
      }
    }
  });
}

TEMPLATE_TEST_CASE("a limiter answers many keys as a model each does, in every store", "[stores]", EVERY_ALGORITHM) {
  with_every_store<TestType>([](subject& limiter, auto const& a, shape const& s, dice& d) {
    constexpr std::size_t keys = 6;
    std::vector<typename TestType::model> models(keys, TestType::model_of(a));
    std::vector<nanoseconds> charged(keys);
    units const size = TestType::size(a);
    readings clock(d, readings::honesty::forward, TestType{}, a);
    bool const keyed = limiter.stats().capacity > 1;
    for (std::size_t i = 0; i < steps(4'000); ++i) {
      nanoseconds const now = clock.next();
      units const c = some_cost(d, size);
      auto const k = static_cast<subject::key>(keyed ? d.below(keys) : 0);
      step const here{s, i, c, now};
      switch (d.below(20)) {
        case 0:
          limiter.charge(now, c, k);
          models[k].charge(now.count(), c);
          break;
        case 1:
          limiter.refund(charged[k], c, k);
          models[k].refund(charged[k].count(), c);
          break;
        case 2:
          if (d.below(20) != 0) break;
          limiter.forget(k);
          models[k].forget();
          break;
        default: {
          decision const answer = limiter.allow(now, c, k), expected = as_decision(models[k].ask(now.count(), c));
          HOLD("key " << k << ", " << here, answer == expected);
          if (answer && c != 0) charged[k] = now;
        }
      }
    }
    CHECK(limiter.stats().evictions == 0);
  });
}
