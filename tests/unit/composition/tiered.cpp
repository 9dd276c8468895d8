// tiered.hpp: plans of one algorithm, one table for all keys.

#include "subjects.hpp"

#include <penstock/lease.hpp>
#include <penstock/tiered.hpp>

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

using namespace composition;

namespace {

enum class plan : std::uint8_t { free, basic, enterprise };

template <template <class, class, class> class L, class Store = default_store>
using plans = tiered<L, plan, std::string, manual_clock, Store>;

constexpr rate of_free = per_minute(100), of_basic = per_minute(1'000), of_enterprise = per_minute(10'000);

std::uint64_t left(auto const& limiter, plan p, nanoseconds at = 0s) {
  return limiter.peek_at(on(at), p, "ann", cost{0}).remaining;
}

/// check(std::type_identity<limiter>) for the three plans in each of the six and each store.
void for_each_kind(auto check) {
  for_each_store([&]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    check(std::type_identity<plans<token_bucket, Store>>{}, "token_bucket");
    check(std::type_identity<plans<leaky_meter, Store>>{}, "leaky_meter");
    check(std::type_identity<plans<leaky_queue, Store>>{}, "leaky_queue");
    check(std::type_identity<plans<fixed_window, Store>>{}, "fixed_window");
    check(std::type_identity<plans<sliding_counter, Store>>{}, "sliding_counter");
    check(std::type_identity<plans<sliding_log, Store>>{}, "sliding_log");
  });
}

}  // namespace

TEST_CASE("each call is held to the plan it names") {
  for_each_kind([]<class L>(std::type_identity<L>, char const* name) {
    INFO(name);
    L limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}, {plan::enterprise, {of_enterprise}}});
    auto const most = [&](plan p, char const* key, std::uint64_t size) {
      CHECK(limit.peek_at(on(1min), p, key, cost{size + 1}).outcome == verdict::never);
      CHECK(limit.peek_at(on(1min), p, key, cost{size}).limit == size);
      CHECK(limit.allow_at(on(1min), p, key, cost{size}).remaining == 0);
      decision const d = limit.allow_at(on(1min), p, key);
      CHECK(d.outcome == verdict::limited);
      CHECK_FALSE(limit.allow_at(on(1min) + d.retry_after - 1ns, p, key));
      CHECK(limit.allow_at(on(1min) + d.retry_after, p, key));
    };
    most(plan::free, "ann", 100);
    most(plan::basic, "bob", 1'000);
    most(plan::enterprise, "eve", 10'000);
    CHECK(limit.stats().keys == 3);
  });
}

TEST_CASE("a key that changes its plan is neither fresh nor lost: 40 of 100 a minute are 40 % of any other") {
  plans<token_bucket> limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}, {plan::enterprise, {of_enterprise}}});
  CHECK(limit.allow_at(on(0s), plan::free, "ann", cost{40}));
  CHECK(left(limit, plan::free) == 60);
  CHECK(left(limit, plan::basic) == 600);
  CHECK(left(limit, plan::enterprise) == 6'000);
  CHECK(limit.allow_at(on(0s), plan::enterprise, "ann", cost{1'000}));  // up: 50 % used
  CHECK(left(limit, plan::free) == 50);                                 // and down
  CHECK(limit.allow_at(on(0s), plan::free, "ann", cost{50}));
  for (plan const p : {plan::free, plan::basic, plan::enterprise}) {
    CHECK(left(limit, p) == 0);
    CHECK(limit.peek_at(on(0s), p, "ann", cost{0}).reset_after == 1min);
  }
  CHECK(left(limit, plan::enterprise, 30s) == 5'000);
}

TEST_CASE("a key up and down all day never finds more than the plan that gives most") {
  for_each_kind([]<class L>(std::type_identity<L>, char const* name) {
    INFO(name);
    L limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}, {plan::enterprise, {of_enterprise}}});
    dice random(7);
    std::uint64_t admitted = 0;
    for (int i = 0; i < 20'000; ++i)
      if (cost const c{random.below(200)}; limit.allow_at(on(1min), static_cast<plan>(random.below(3)), "ann", c))
        admitted += c.units;
    CHECK(admitted <= 10'000);
    CHECK(left(limit, plan::enterprise, 1min) < 200);
  });
}

TEST_CASE("what is used up is capped at the new plan's own full use") {
  enum class pace { slow, fast };
  tiered<token_bucket, pace, std::string, manual_clock> limit(
      {{pace::slow, {.refill = per_hour(60), .burst = 60}}, {pace::fast, {.refill = per_second(10), .burst = 100}}});
  auto const left_of = [&](pace p, nanoseconds at) { return limit.peek_at(on(at), p, "ann", cost{0}).remaining; };
  CHECK(limit.allow_at(on(0s), pace::slow, "ann", cost{30}));  // fresh in half an hour
  decision const d = limit.peek_at(on(0s), pace::fast, "ann");
  CHECK(d.reset_after == 10s);  // not half an hour
  CHECK(d.retry_after == 100ms);
  limit.charge_at(on(0s), pace::fast, "ann", cost{1});  // a debt of one, from the cap
  CHECK(limit.peek_at(on(0s), pace::fast, "ann").retry_after == 200ms);
  CHECK(left_of(pace::fast, 5s) == 49);
  CHECK(left_of(pace::slow, 0s) == 59);  // ten seconds of an hour
}

TEST_CASE("a wait that is told to a key on its new plan is kept to, however long the old one's") {
  enum class pace { slow, fast };
  auto const check = [](auto const& configs, auto type) {
    typename decltype(type)::type limit(configs);
    CHECK(limit.allow_at(on(0s), pace::slow, "ann", cost{100}));
    decision d = limit.allow_at(on(1s), pace::fast, "ann");
    nanoseconds now = 1s;
    CHECK_FALSE(d);
    CHECK(d.reset_after <= 2min);
    CHECK_FALSE(limit.allow_at(on(now + d.retry_after - 1ns), pace::fast, "ann"));
    CHECK(limit.allow_at(on(now + d.retry_after), pace::fast, "ann"));
  };
  using clock = manual_clock;
  for (rate const slow : {per(100, 110s), per(100, 150s), per(100, 10min), per(100, 24h)}) {
    INFO("100 per " << slow.period.count() << " ns");
    check(std::initializer_list<std::pair<pace, algorithm::token_bucket::config>>{{pace::slow, {slow}},
                                                                                  {pace::fast, {of_free}}},
          std::type_identity<tiered<token_bucket, pace, std::string, clock>>{});
    check(std::initializer_list<std::pair<pace, algorithm::leaky_queue::config>>{{pace::slow, {slow}},
                                                                                 {pace::fast, {of_free}}},
          std::type_identity<tiered<leaky_queue, pace, std::string, clock>>{});
    check(std::initializer_list<std::pair<pace, algorithm::fixed_window::config>>{{pace::slow, {slow}},
                                                                                  {pace::fast, {of_free}}},
          std::type_identity<tiered<fixed_window, pace, std::string, clock>>{});
    check(std::initializer_list<std::pair<pace, algorithm::sliding_counter::config>>{{pace::slow, {slow}},
                                                                                     {pace::fast, {of_free}}},
          std::type_identity<tiered<sliding_counter, pace, std::string, clock>>{});
    check(std::initializer_list<std::pair<pace, algorithm::sliding_log::config>>{{pace::slow, {slow}},
                                                                                 {pace::fast, {of_free}}},
          std::type_identity<tiered<sliding_log, pace, std::string, clock>>{});
  }
}

TEST_CASE("a debt inside one plan is worked off in full; another plan cuts it to full use") {
  plans<token_bucket> limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}});
  limit.charge_at(on(0s), plan::free, "ann", cost{150});
  CHECK(limit.peek_at(on(0s), plan::free, "ann").retry_after == 30600ms);
  CHECK(limit.peek_at(on(0s), plan::basic, "ann").retry_after == 60ms);
  CHECK_FALSE(limit.allow_at(on(30600ms) - 1ns, plan::free, "ann"));
  CHECK(limit.allow_at(on(30600ms), plan::free, "ann"));
}

TEST_CASE("a charge can be undone and a key forgotten, whatever its plan") {
  for_each_kind([]<class L>(std::type_identity<L>, char const* name) {
    INFO(name);
    L limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}, {plan::enterprise, {of_enterprise}}});
    CHECK(limit.allow_at(on(0s), plan::basic, "ann", cost{300}));
    CHECK(limit.allow_at(on(1s), plan::basic, "ann", cost{200}));
    limit.refund_at(on(1s), plan::basic, "ann", cost{200});
    CHECK(limit.peek_at(on(1s), plan::basic, "ann", cost{700}));
    limit.charge_at(on(1s), plan::basic, "ann", cost{900});
    CHECK_FALSE(limit.peek_at(on(1s), plan::basic, "ann"));
    limit.forget("ann");
    CHECK(limit.peek_at(on(1s), plan::free, "ann", cost{100}));
    CHECK(limit.stats().keys == 0);
  });
}

TEST_CASE("a lease of a key on a plan is settled on that plan") {
  manual_clock clock;
  plans<token_bucket> limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}}, clock);
  {
    auto lease = reserve(limit, {plan::basic, "ann"}, cost{500});
    CHECK(lease);
    CHECK(left(limit, plan::basic) == 500);
    lease.commit(cost{200});
  }
  CHECK(left(limit, plan::basic) == 800);
  {
    auto const dropped = reserve(limit, {plan::free, "ann"}, cost{80});
  }
  CHECK(left(limit, plan::free) == 80);
  {
    auto more = reserve(limit, {plan::basic, "ann"}, cost{100});
    more.commit(cost{300});
  }
  CHECK(left(limit, plan::basic) == 500);
  CHECK(left(limit, plan::free) == 50);
}

TEST_CASE("one plan's configuration may change, and the others stay") {
  manual_clock clock;
  plans<token_bucket> limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}}, clock);
  CHECK(limit.allow(plan::free, "ann", cost{40}));
  limit.reconfigure(plan::free, {per_minute(200)});
  CHECK(left(limit, plan::free) == 120);
  CHECK(left(limit, plan::basic) == 600);
  CHECK(limit.algorithm(plan::free).size() == 200);
  CHECK(limit.algorithm(plan::basic).size() == 1'000);
  CHECK(contains(complaint_of([&] { limit.reconfigure(plan::enterprise, {of_free}); }),
                 "tiered.plan is 2; allowed: from 0 to 1"));
  CHECK(contains(complaint_of([&] { limit.reconfigure(plan::free, {.refill = of_free, .burst = 0}); }),
                 "token_bucket.burst is 0"));
  CHECK(left(limit, plan::free) == 120);
}

TEST_CASE("a plan that is not configured admits nothing, ever, and counts nothing") {
  plans<token_bucket> limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}});
  for (decision const& d :
       {limit.allow_at(on(0s), plan::enterprise, "ann"), limit.peek_at(on(0s), plan::enterprise, "ann", cost{0}),
        limit.take(on(0s), {plan::enterprise, "ann"}, cost{1}).answer}) {
    CHECK(d.outcome == verdict::never);
    CHECK(d.retry_after == nanoseconds::max());
  }
  limit.charge_at(on(0s), plan::enterprise, "ann", cost{50});
  limit.refund_at(on(0s), plan::enterprise, "ann", cost{50});
  limit.undo(limit.take(on(0s), {plan::enterprise, "ann"}, cost{1}));
  CHECK(limit.stats().keys == 0);
  tiered<token_bucket, int, int, manual_clock> numbered({{0, {of_free}}});
  CHECK(numbered.allow_at(on(0s), -1, 7).outcome == verdict::never);
  CHECK(numbered.allow_at(on(0s), 0, 7));
}

TEST_CASE("plans are numbered from zero without a gap, each once, and each must be possible") {
  using limit = plans<token_bucket>;
  CHECK(complaint_of([] { limit({{plan::basic, {of_basic}}, {plan::free, {of_free}}}); }) == "none");  // in any order
  CHECK(contains(complaint_of([] { limit(std::initializer_list<std::pair<plan, limit::config>>{}); }),
                 "tiered.plans is empty"));
  CHECK(contains(complaint_of([] { limit({{plan::free, {of_free}}, {plan::enterprise, {of_enterprise}}}); }),
                 "tiered.plans is without plan 1"));
  CHECK(contains(complaint_of([] { limit({{plan::free, {of_free}}, {plan::free, {of_basic}}}); }),
                 "tiered.plans is plan 0 twice"));
  CHECK(contains(complaint_of([] { limit({{plan::free, {of_free}}, {plan::basic, {per_minute(0)}}}); }),
                 "token_bucket.refill"));
  CHECK(
      contains(complaint_of([] { limit({{plan::free, {of_free}}, {plan::basic, {.refill = of_basic, .burst = 0}}}); }),
               "token_bucket.burst is 0"));
  CHECK(contains(complaint_of([] { limit({{plan::free, {of_free}}}, {.max_keys = 0}); }), "max_keys"));
  // Rates that no common unit keeps to 0.2 %.
  CHECK(contains(complaint_of([] { limit({{plan::free, {per(11, 13ns)}}, {plan::basic, {per(7, 10ns)}}}); }), "0.2 %"));
}

TEST_CASE("plans share units that suit them all") {
  // Alone, 3/s and 7/s count in thirds and sevenths of a nanosecond.
  plans<token_bucket> limit({{plan::free, {per_second(3)}}, {plan::basic, {per_second(7)}}});
  for (plan const p : {plan::free, plan::basic}) {
    auto const kept = limit.algorithm(p).true_rate();
    std::uint64_t const asked = p == plan::free ? 3 : 7;
    // kept.count per kept.period is at most asked per second, and less by at most one in a hundred million.
    auto const period = static_cast<std::uint64_t>(kept.period.count());
    CHECK(kept.count * 1'000'000'000 <= asked * period);
    CHECK(kept.count * 1'000'000'000 >= asked * (period - period / 100'000'000 - 1));
  }
  CHECK(limit.algorithm(plan::free).units() == limit.algorithm(plan::basic).units());
}

TEST_CASE("the calls that read the clock say what their twins say") {
  manual_clock clock{5s};
  plans<token_bucket> read({{plan::free, {of_free}}}, {.max_keys = 10}, clock), told({{plan::free, {of_free}}});
  CHECK(read.allow(plan::free, "ann", cost{70}) == told.allow_at(on(5s), plan::free, "ann", cost{70}));
  clock.advance(1s);
  CHECK(read.peek(plan::free, "ann", cost{50}) == told.peek_at(on(6s), plan::free, "ann", cost{50}));
  read.charge(plan::free, "ann", cost{50});
  told.charge_at(on(6s), plan::free, "ann", cost{50});
  CHECK(read.peek(plan::free, "ann") == told.peek_at(on(6s), plan::free, "ann"));
  read.refund(plan::free, "ann", cost{20});
  told.refund_at(on(6s), plan::free, "ann", cost{20});
  CHECK(read.peek(plan::free, "ann", cost{0}) == told.peek_at(on(6s), plan::free, "ann", cost{0}));
  CHECK(read.clock().now() == clock.now());
}

TEST_CASE("allow_each answers what single calls under each plan answer") {
  for_each_kind([]<class L>(std::type_identity<L>, char const* name) {
    INFO(name);
    auto const made = [] {
      return std::make_unique<L>(std::initializer_list<std::pair<plan, typename L::config>>{
          {plan::free, {of_free}}, {plan::basic, {of_basic}}, {plan::enterprise, {of_enterprise}}});
    };
    auto const batched = made(), single = made();
    dice random(31);
    int wrong = 0;
    for (int round = 0; round < 30; ++round) {
      nanoseconds const now = 1min + round * 5s;
      std::vector<std::string> keys;
      for (std::size_t i = 0; i < 40; ++i) keys.push_back("key " + std::to_string(random.below(5)));
      std::vector<typename L::key_argument> requests;
      for (auto const& key : keys) requests.push_back(L::on(static_cast<plan>(random.below(4)), key));  // 3: no plan
      std::vector<decision> answers(requests.size());
      batched->allow_each_at(on(now), requests, answers, cost{9});
      for (std::size_t i = 0; i < requests.size(); ++i)
        if (answers[i] != single->allow_at(on(now), requests[i].plan, requests[i].key, cost{9})) ++wrong;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("a list of keys says which plan each is on, and what it has left under it") {
  for_each_store([]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    manual_clock clock{1min};
    tiered<token_bucket, plan, int, manual_clock, Store> limit({{plan::free, {of_free}}, {plan::basic, {of_basic}}},
                                                               clock);
    CHECK(limit.allow(plan::free, 1, cost{40}));
    CHECK(limit.allow(plan::basic, 2, cost{40}));
    CHECK(limit.allow(plan::free, 3, cost{40}));
    CHECK(limit.allow(plan::basic, 3, cost{100}));  // it changed its plan
    std::map<int, std::pair<plan, std::uint64_t>> seen;
    limit.for_each([&](plan p, auto const& key, decision const& d) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(key)>, int>) seen[key] = {p, d.remaining};
    });
    CHECK(seen == std::map<int, std::pair<plan, std::uint64_t>>{
                      {1, {plan::free, 60}}, {2, {plan::basic, 960}}, {3, {plan::basic, 500}}});
  });
}

TEST_CASE("places in the line are promised under the key's plan") {
  manual_clock clock{1min};
  tiered<token_bucket, plan, std::string, manual_clock> limit(
      {{plan::free, {per_second(1), 1}}, {plan::basic, {per_second(10), 1}}}, clock);
  CHECK(limit.allow(plan::free, "ann"));
  CHECK(limit.allow(plan::basic, "bob"));
  CHECK_FALSE(limit.allow_within(plan::free, "ann", 999ms));
  CHECK(limit.allow_within(plan::free, "ann", 1s).delay == 1s);
  CHECK(limit.allow_within(plan::basic, "bob", 1s).delay == 100ms);
  CHECK(limit.allow_within_at(clock.now(), plan::basic, "bob", 1s).delay == 200ms);
  CHECK(limit.allow_within(plan::enterprise, "eve", 1h).outcome == verdict::never);
  auto place = reserve_within(limit, limit.on(plan::basic, "bob"), 1s);
  CHECK(place.answer().delay == 300ms);
  place.cancel();
  CHECK(limit.allow_within(plan::basic, "bob", 1s).delay == 300ms);
}

TEST_CASE("plans survive a restart") {
  manual_clock before{77h}, after{3s};
  std::chrono::system_clock::time_point const noon{500'000h};
  tiered<token_bucket, plan, std::string, manual_clock> saved({{plan::free, {of_free}}, {plan::basic, {of_basic}}},
                                                              before);
  CHECK(saved.allow(plan::free, "ann", cost{100}));
  CHECK(saved.allow(plan::basic, "bob", cost{1'000}));
  auto const bytes = saved.snapshot(noon);
  tiered<token_bucket, plan, std::string, manual_clock> restored({{plan::free, {of_free}}, {plan::basic, {of_basic}}},
                                                                 after);
  restored.restore(bytes, noon + 30s);
  before.advance(30s);
  for (plan const p : {plan::free, plan::basic})
    for (char const* const key : {"ann", "bob", "eve"}) CHECK(restored.peek(p, key) == saved.peek(p, key));
  CHECK(restored.snapshot(noon + 30s) == saved.snapshot(noon + 30s));
  bucket<std::string> other({of_free}, after);
  CHECK_THROWS_AS(other.restore(bytes, noon), config_error);

  tiered<fixed_window, plan, std::string> aligned(
      {{plan::free, {of_free, window_start::first_request}}, {plan::basic, {of_basic}}});
  CHECK_THROWS_AS(aligned.snapshot(), config_error);  // one plan's windows mean nothing to another steady clock
}

TEST_CASE("a newcomer on a short plan does not drop a live key of a long one as if it were free") {
  for_each_store([]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    tiered<token_bucket, plan, std::uint64_t, manual_clock, Store> limit(
        {{plan::free, {of_free}}, {plan::basic, {.refill = per_hour(1'000), .burst = 1'000}}}, {.max_keys = 1});
    CHECK(limit.allow_at(on(1min), plan::basic, std::uint64_t{7}, cost{1'000}));
    CHECK(limit.allow_at(on(1min), plan::free, std::uint64_t{8}).outcome != verdict::never);
    CHECK_FALSE(limit.allow_at(on(1min), plan::basic, std::uint64_t{7}, cost{1'000}));
  });
}

TEST_CASE("a key of a long plan keeps through a restart what it has used") {
  manual_clock clock{77h};
  auto const made = [&] {
    return std::make_unique<tiered<token_bucket, plan, std::string, manual_clock>>(
        std::initializer_list<std::pair<plan, algorithm::token_bucket::config>>{{plan::free, {of_free}},
                                                                                {plan::basic, {per_day(10'000)}}},
        clock);
  };
  auto const saved = made(), restored = made();
  CHECK(saved->allow(plan::basic, "bob", cost{9'000}));
  std::chrono::system_clock::time_point const noon{500'000h};
  restored->restore(saved->snapshot(noon), noon);
  CHECK(restored->peek(plan::basic, "bob", cost{0}) == saved->peek(plan::basic, "bob", cost{0}));
}

TEST_CASE("a plan that is reconfigured caps its own keys, as a limiter does") {
  manual_clock clock{1h};
  tiered<token_bucket, plan, std::string, manual_clock> tiers({{plan::free, {of_free}}}, clock);
  bucket<std::string> alone({of_free}, clock);
  CHECK(tiers.allow(plan::free, "ann", cost{50}));
  CHECK(alone.allow("ann", cost{50}));
  tiers.reconfigure(plan::free, {per_second(100)});
  alone.reconfigure({per_second(100)});
  CHECK(tiers.peek(plan::free, "ann", cost{100}) == alone.peek("ann", cost{100}));
  CHECK(tiers.allow(plan::free, "ann", cost{100}).retry_after == 1s);
}

TEST_CASE("what a projection returns holds its key") {
  manual_clock clock{1min};
  tiered<token_bucket, plan, std::tuple<int, int>, manual_clock> limit({{plan::free, {of_free}}}, clock);
  auto const asked = limit.on(plan::free, std::tuple<int, int>{1, 2});  // of a temporary
  static_assert(!std::is_reference_v<decltype(asked.key)>);
  CHECK(limit.take(clock.now(), asked, cost{1}));
  CHECK(limit.peek(plan::free, std::tuple<int, int>{1, 2}, cost{0}).remaining == 99);
}

TEST_CASE("a window of one plan gives back nothing of another's") {
  enum class plan { slow, fast };
  manual_clock clock{7100s};
  tiered<fixed_window, plan, int, manual_clock> limit({{plan::slow, {per_hour(10)}}, {plan::fast, {per_minute(10)}}},
                                                      clock);
  auto early = limit.take(clock.now(), limit.on(plan::slow, 1), cost{5});
  clock.set(7210s);
  CHECK(limit.allow(plan::fast, 1, cost{10}));
  limit.undo(std::move(early));
  CHECK(limit.peek(plan::fast, 1, cost{0}).remaining == 0);
}

TEST_CASE("empty braces after the plans are the store's options") {
  enum class plan { only };
  tiered<token_bucket, plan, int> limit({{plan::only, {.refill = per_hour(10)}}}, {});
  CHECK(limit.allow(plan::only, 1));
}

TEST_CASE("a plan charges nothing for nothing, and lets go of what the clock has lost") {
  detail::tier<algorithm::token_bucket> const plan({{.refill = per_second(1), .burst = 5}, 0});
  detail::tier<algorithm::token_bucket>::state s;
  plan.charge(s, instant{1'000'000s}, cost{0});
  CHECK(plan.is_fresh(s, instant{}));
  plan.charge(s, instant{1'000'000s}, cost{5});
  CHECK_FALSE(plan.is_forgettable(s, instant{1'000'000s}));
  CHECK(plan.is_forgettable(s, instant{1000s}));
  CHECK(plan.reanchor(s, instant{1000s}));
  CHECK(plan.fresh_at(s) == instant{1005s});
}

TEST_CASE("a floor that its own plan has lost is that plan's full use, though a longer plan may be about") {
  detail::tier<algorithm::token_bucket> const plan(algorithm::token_bucket({.refill = per_second(5), .burst = 5}), 0,
                                                   algorithm::token_bucket({.refill = per_hour(10), .burst = 10}));
  detail::tier<algorithm::token_bucket>::state s;
  plan.charge(s, instant{1'000s}, cost{5});
  CHECK_FALSE(detail::anchor(plan, s, instant{1'000s}));
  CHECK(detail::anchor(plan, s, instant{500s}));
  CHECK(plan.fresh_at(s) == instant{501s});
}
