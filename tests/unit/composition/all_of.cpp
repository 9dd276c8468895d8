// algorithm/all_of.hpp: several rules on one key.

#include "subjects.hpp"

#include "../allocations.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

using namespace composition;
using algorithm::all_of;

namespace {

using burst_and_quota = all_of<algorithm::token_bucket, algorithm::fixed_window>;

/// Two at once and two a second; three in ten seconds.
burst_and_quota::config const two_and_three{{.refill = per_second(2), .burst = 2}, {.limit = per(3, 10s)}};

/// ask(f) with f(at, units) for one key of each kind of limiter.
template <class A>
void in_every_store(typename A::config const& config, auto ask) {
  for_each_store([&]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    limiter<A, std::string, manual_clock, Store> keyed(config);
    ask([&](nanoseconds at, std::uint64_t units) { return keyed.allow_at(on(at), "ann", cost{units}); });
  });
  limiter<A, no_key, manual_clock> unkeyed(config);
  ask([&](nanoseconds at, std::uint64_t units) { return unkeyed.allow_at(on(at), cost{units}); });
  limiter<A, no_key, manual_clock, store::unsynchronized> unsynchronized(config);
  ask([&](nanoseconds at, std::uint64_t units) { return unsynchronized.allow_at(on(at), cost{units}); });
}

}  // namespace

TEST_CASE("all rules admit, or none is charged") {
  in_every_store<burst_and_quota>(two_and_three, [](auto allow) {
    CHECK(allow(0s, 2));
    for (int i = 0; i < 100; ++i)
      CHECK(allow(0s, 1).rule == 0);  // the bucket refuses, and the window does not count it
    CHECK(allow(500ms, 1));
    for (int i = 0; i < 100; ++i) CHECK(allow(1s, 1).rule == 1);  // the window refuses, and the bucket keeps its unit
    CHECK(allow(10s, 2));
    decision const d = allow(10s, 1);
    CHECK(d.rule == 0);
    CHECK(d.retry_after == 500ms);
  });
}

TEST_CASE("of rules that refuse, the one with the longest wait is named, and its wait is exact") {
  in_every_store<burst_and_quota>(two_and_three, [](auto allow) {
    CHECK(allow(1s, 2));
    decision d = allow(1s, 2);  // the bucket has the next two in 1 s, the window in 9 s
    CHECK(d.outcome == verdict::limited);
    CHECK(d.rule == 1);
    CHECK(d.limit == 3);
    CHECK(d.retry_after == 9s);
    CHECK(d.remaining == 0);  // the bucket's, the smallest
    CHECK_FALSE(allow(10s - 1ns, 2));
    CHECK(allow(10s, 2));
    d = allow(10s, 1);  // only the bucket refuses
    CHECK(d.rule == 0);
    CHECK(d.limit == 2);
    CHECK(d.retry_after == 500ms);
    CHECK_FALSE(allow(10500ms - 1ns, 1));
    CHECK(allow(10500ms, 1));
  });
}

TEST_CASE("never is the longest wait") {
  in_every_store<burst_and_quota>(two_and_three, [](auto allow) {
    CHECK(allow(0s, 2));
    decision d = allow(0s, 3);  // above the burst; the window merely has no room for it now
    CHECK(d.outcome == verdict::never);
    CHECK(d.retry_after == nanoseconds::max());
    CHECK(d.rule == 0);
    CHECK(d.limit == 2);
    CHECK(allow(0s, 4).outcome == verdict::never);
    CHECK(allow(500ms, 1).remaining == 0);  // nothing was charged
  });
}

TEST_CASE("when all rules admit, the one with the least left is named") {
  in_every_store<burst_and_quota>(two_and_three, [](auto allow) {
    decision d = allow(0s, 1);
    CHECK(d.rule == 0);
    CHECK(d.limit == 2);
    CHECK(d.remaining == 1);
    CHECK(d.next_after == 500ms);
    CHECK(d.reset_after == 10s);  // until both are fresh
    d = allow(5s, 1);             // one left of each: they grow when both have
    CHECK(d.remaining == 1);
    CHECK(d.next_after == 5s);
    d = allow(6s, 1);
    CHECK(d.rule == 1);
    CHECK(d.limit == 3);
    CHECK(d.remaining == 0);
    CHECK(d.reset_after == 4s);
    CHECK(allow(10s, 0) == decision{.rule = 0, .limit = 2, .remaining = 2});
  });
}

TEST_CASE("rules nest, and are counted through") {
  using nested = all_of<burst_and_quota, algorithm::sliding_log>;
  in_every_store<nested>({two_and_three, {.limit = per(4, 1min)}}, [](auto allow) {
    CHECK(allow(0s, 2));
    CHECK(allow(0s, 1).rule == 0);
    CHECK(allow(1s, 1));
    CHECK(allow(2s, 1).rule == 1);
    CHECK(allow(2s, 1).retry_after == 8s);
    CHECK(allow(10s, 1));
    decision const d = allow(11s, 1);
    CHECK(d.rule == 2);
    CHECK(d.limit == 4);
    CHECK(d.retry_after == 49s);
    CHECK_FALSE(allow(60s - 1ns, 1));
    CHECK(allow(60s, 1));
  });
  // The same nested on the other side.
  using other = all_of<algorithm::sliding_log, all_of<algorithm::fixed_window, algorithm::token_bucket>>;
  in_every_store<other>({{.limit = per(4, 1min)}, {{.limit = per(3, 10s)}, {.refill = per_second(2), .burst = 2}}},
                        [](auto allow) {
                          CHECK(allow(0s, 2).rule == 2);
                          CHECK(allow(0s, 1).rule == 2);
                          CHECK(allow(1s, 1).rule == 1);
                          CHECK(allow(2s, 1).rule == 1);
                          CHECK(allow(10s, 1).rule == 0);
                          CHECK(allow(11s, 1).rule == 0);
                        });
}

TEST_CASE("one rule alone is that rule") {
  for_each_algorithm([]<class A>(std::type_identity<A>) {
    by_name<all_of<A>> joined(typename all_of<A>::config{{ten}});
    by_name<A> alone({ten});
    dice random(3);
    nanoseconds now{};
    int different = 0;
    for (int i = 0; i < 2'000; ++i) {
      now += random.up_to(2s);
      cost const c{random.below(12)};
      if (joined.allow_at(on(now), "ann", c) != alone.allow_at(on(now), "ann", c)) ++different;
    }
    CHECK(different == 0);
  });
}

TEST_CASE("rules in one state are the rules one by one, asked all before any is charged") {
  using all = all_of<algorithm::token_bucket, algorithm::sliding_log, algorithm::fixed_window,
                     algorithm::sliding_counter, algorithm::leaky_queue>;
  for_each_store([]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    limiter<all, int, manual_clock, Store> joined({{.refill = per_second(2), .burst = 3},
                                                   {.limit = per(5, 3s)},
                                                   {.limit = per(20, 30s)},
                                                   {.limit = per(12, 10s)},
                                                   {.drain = per_second(1), .capacity = 4}});
    token_bucket<int, manual_clock, Store> a({.refill = per_second(2), .burst = 3});
    sliding_log<int, manual_clock, Store> b({.limit = per(5, 3s)});
    fixed_window<int, manual_clock, Store> c({.limit = per(20, 30s)});
    sliding_counter<int, manual_clock, Store> d({.limit = per(12, 10s)});
    leaky_queue<int, manual_clock, Store> e({.drain = per_second(1), .capacity = 4});
    auto const each = [&](auto f) { return std::vector<decision>{f(a), f(b), f(c), f(d), f(e)}; };
    dice random(44);
    nanoseconds now{};
    int wrong = 0, admitted = 0, rules_seen[5]{};
    for (int i = 0; i < 10'000; ++i) {
      now += random.up_to(700ms);
      int const key = static_cast<int>(random.below(3));
      cost const units{random.below(5)};
      auto const said = each([&](auto const& rule) { return rule.peek_at(on(now), key, units); });
      bool const all_admit =
          std::all_of(said.begin(), said.end(), [](decision const& r) { return static_cast<bool>(r); });
      decision const got = joined.allow_at(on(now), key, units);
      auto const left = all_admit ? each([&](auto& rule) { return rule.allow_at(on(now), key, units); })
                                  : each([&](auto const& rule) { return rule.peek_at(on(now), key, cost{0}); });
      auto const least = std::min_element(left.begin(), left.end(),
                                          [](auto const& x, auto const& y) { return x.remaining < y.remaining; });
      auto const longest = std::max_element(said.begin(), said.end(),
                                            [](auto const& x, auto const& y) { return x.retry_after < y.retry_after; });
      if (static_cast<bool>(got) != all_admit || got.remaining != least->remaining ||
          got.retry_after != longest->retry_after)
        ++wrong;
      if (got.rule != (all_admit ? least - left.begin() : longest - said.begin())) ++wrong;
      if (got.outcome != (all_admit ? verdict::admitted : longest->outcome)) ++wrong;
      admitted += all_admit;
      ++rules_seen[got.rule];
    }
    CHECK(wrong == 0);
    CHECK(admitted > 2'000);
    CHECK(*std::min_element(std::begin(rules_seen), std::end(rules_seen)) > 0);  // each had its say
  });
}

TEST_CASE("charge, refund and forget reach every rule") {
  in_every_store<burst_and_quota>(two_and_three, [](auto allow) { CHECK(allow(0s, 0).remaining == 2); });
  by_name<burst_and_quota> limit(two_and_three), untouched(two_and_three);
  limit.charge_at(on(0s), "ann", cost{4});  // a debt with both
  decision d = limit.peek_at(on(0s), "ann");
  CHECK(d.rule == 1);
  CHECK(d.retry_after == 10s);
  CHECK(limit.peek_at(on(1s), "ann", cost{0}).remaining == 0);
  limit.forget("ann");
  CHECK(alike(limit, untouched, "ann", 0s));
  CHECK(limit.allow_at(on(1s), "ann", cost{2}));
  limit.refund_at(on(1s), "ann", cost{2});
  CHECK(alike(limit, untouched, "ann", 1s));
}

TEST_CASE("a rule that cannot be is an error of the whole") {
  auto const complaint = [](rate refill, std::uint64_t burst, rate quota) {
    return complaint_of([&] { by_name<burst_and_quota>({{.refill = refill, .burst = burst}, {.limit = quota}}); });
  };
  CHECK(complaint(per_second(2), 2, per_day(5)) == "none");
  CHECK(contains(complaint(per_second(2), 0, per_day(5)), "token_bucket.burst is 0"));
  CHECK(contains(complaint(per_second(2), 2, per_day(0)), "fixed_window.limit"));
}

TEST_CASE("what binds by one rule is not let go because another has lost its time") {
  using burst_and_day = algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>;
  limiter<burst_and_day, int, manual_clock>::config const ten_a_day{{.refill = per_second(10), .burst = 10},
                                                                    {.limit = per_day(10)}};
  manual_clock clock{100 * 24h + 12h};
  for_each_store([&]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    limiter<burst_and_day, int, manual_clock, Store> limit(ten_a_day, {.max_keys = 1}, clock);
    CHECK(limit.allow(1, cost{10}));
    clock.advance(-90s);  // for the bucket a clock that was set back, for the day a lag
    for (int key = 2; key < 60; ++key) (void)limit.allow(key);
    clock.advance(92s);
    CHECK_FALSE(limit.allow(1, cost{10}));
  });
  limiter<burst_and_day, int, manual_clock> limit(ten_a_day, {.max_keys = 1}, clock);
  for (int key = 1; key <= 4; ++key) CHECK(limit.allow(key, cost{9}));
  CHECK(limit.allow(5));  // one of them is in the floor now
  REQUIRE(limit.stats().evictions == 1);
  clock.advance(-90s);
  (void)limit.allow(6);
  clock.advance(92s);
  limit.forget(5);
  limit.forget(6);
  for (int key = 1; key <= 4; ++key) CHECK_FALSE(limit.allow(key, cost{9}));
}

TEST_CASE("a key is held as long as any rule holds it") {
  for_each_store([]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    manual_clock clock{1000s};
    limiter<burst_and_quota, std::string, manual_clock, Store> limit(two_and_three, {}, clock);
    CHECK(limit.allow("ann"));
    clock.advance(1s);  // for the bucket, not for the window
    CHECK(limit.stats().keys == 1);
    clock.advance(10s);
    CHECK(limit.stats().keys == 0);
  });
}

TEST_CASE("a rule whose charges may throw is not copied for one whose may not") {
  limiter<all_of<algorithm::sliding_log, algorithm::token_bucket>, std::string, manual_clock> limit(
      {{.limit = per_hour(100'000)}, {.refill = per_hour(100'000), .burst = 100'000}});
  for (int i = 0; i < 600; ++i) CHECK(limit.allow_at(on(nanoseconds(i)), "ann"));
  CHECK(allocations_of([&] {
          for (int i = 600; i < 700; ++i) (void)limit.allow_at(on(nanoseconds(i)), "ann");
        }).made == 0);
}

namespace {

/// So many in a lifetime: an algorithm with what the concept asks for, and nothing else.
struct quota {
  struct config {
    std::uint64_t most;
  };
  struct state {
    std::uint64_t used{};
  };
  explicit quota(config const& c, instant = {}) : most(c.most) {}
  bool admits(state const& s, instant, cost c) const noexcept {
    return c.units == 0 || (c.units <= most && s.used <= most - c.units);
  }
  void charge(state& s, instant, cost c) const noexcept { s.used += c.units; }
  void refund(state& s, instant, cost c) const noexcept { s.used -= std::min(s.used, c.units); }
  decision describe(state const& s, instant now, cost c) const noexcept {
    decision d;
    d.outcome = admits(s, now, c) ? verdict::admitted : verdict::never;
    d.limit = d.remaining = most;
    return d;
  }
  instant fresh_at(state const& s) const noexcept { return s.used == 0 ? earliest : instant::max(); }
  state join(state const& a, state const& b) const noexcept { return {std::max(a.used, b.used)}; }

  std::uint64_t most;
};

}  // namespace

TEST_CASE("a rule needs no more than an algorithm does") {
  limiter<all_of<quota, algorithm::token_bucket>, int, manual_clock> limit({{3}, {.refill = per_second(5)}});
  for (int i = 0; i < 3; ++i) CHECK(limit.allow(1));
  CHECK(limit.allow(1).outcome == verdict::never);
  limiter<all_of<quota, quota>, int, manual_clock> quotas({{3}, {2}});
  CHECK(quotas.allow(1, cost{2}));
  CHECK_FALSE(quotas.allow(1));
}

TEST_CASE("what a rule has recovered from is not kept in a floor by another that binds") {
  burst_and_quota const rules({{.refill = per(1000, 1000s), .burst = 1000}, {.limit = per_second(10)}});
  burst_and_quota::state floor, dropped;
  rules.charge(floor, instant{100'000s}, cost{10});  // the bucket's for ten seconds, the window's for one
  rules.charge(dropped, instant{100'003s}, cost{1});
  auto const after = detail::floor_after(rules, floor, dropped, instant{100'003'500ms});
  CHECK(rules.describe(after, instant{100'003'500ms}, cost{0}).remaining == 9);
  CHECK(rules.rule<0>().describe(detail::part<0>(after), instant{100'003'500ms}, cost{0}).remaining == 993);
}
