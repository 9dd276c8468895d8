// limiter::reconfigure: another configuration in force, under traffic.

#include "subjects.hpp"

#include <penstock/lease.hpp>

#include <memory>
#include <utility>
#include <vector>

using namespace composition;

namespace {

/// Each of the six over each store, its rate first.
void for_each_limiter(auto check) {
  for_each_store([&]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    for_each_algorithm([&]<class A>(std::type_identity<A>) {
      check(std::type_identity<limiter<A, std::string, manual_clock, Store>>{});
    });
  });
  for_each_algorithm([&]<class A>(std::type_identity<A>) {
    check(std::type_identity<limiter<algorithm::all_of<A, algorithm::sliding_log>, std::string, manual_clock>>{});
  });
}

/// A configuration of any of them; of an all_of, with a second rule that never binds.
template <class L>
typename L::config configured(rate r) {
  if constexpr (requires(typename L::config c) { c.rules; })
    return {{r}, {per(100'000, 1s)}};
  else
    return {r};
}

std::uint64_t left(auto const& limiter, nanoseconds at) { return limiter.peek_at(on(at), "ann", cost{0}).remaining; }

}  // namespace

TEST_CASE("raising a limit gives a key its share of the new one, not a fresh allowance") {
  manual_clock clock{1min};
  bucket<std::string> limit({per_minute(100)}, clock);
  CHECK(limit.allow("ann", cost{40}));
  limit.reconfigure({per_minute(10'000)});
  CHECK(left(limit, 1min) == 6'000);  // 40 % are used
  CHECK(limit.peek("ann", cost{0}).reset_after == 24s);
  CHECK(limit.peek("ann", cost{0}).limit == 10'000);
  CHECK(left(limit, 66s) == 7'000);

  window<std::string> windows({per_minute(100)}, clock);
  CHECK(windows.allow("ann", cost{40}));
  windows.reconfigure({per_minute(10'000)});
  CHECK(left(windows, 1min) == 9'960);  // a window counts
}

TEST_CASE("raised or lowered, a key that has used all waits, and is admitted to the nanosecond when it was told") {
  for_each_limiter([]<class L>(std::type_identity<L>) {
    for (rate const next : {per_minute(1'000), per_minute(10), per(100, 2min), per(100, 10s), per(10, 3h)})
      for (rate const first : {per_minute(100), per(100, 150s), per(100, 2h)}) {
        INFO("from 100 per " << first.period.count() << " ns to " << next.count << " per " << next.period.count()
                             << " ns");
        manual_clock clock{24h};
        L limit(configured<L>(first), clock);
        CHECK(limit.allow("ann", cost{100}));
        limit.reconfigure(configured<L>(next));
        decision const d = limit.allow("ann");
        if (d) continue;  // a window counts units, of which more are allowed now
        CHECK(d.limit == next.count);
        CHECK(d.retry_after <= 2 * next.period);
        CHECK(d.reset_after <= 2 * next.period);
        clock.advance(d.retry_after - 1ns);
        CHECK(limit.allow("ann").outcome == verdict::limited);
        clock.advance(1ns);
        CHECK(limit.allow("ann").outcome == verdict::admitted);
      }
  });
}

TEST_CASE("lowering the largest accepted limit to 100: 101 never; then at most 100, then no more") {
  auto const check = [](auto type, auto const& largest, auto const& hundred) {
    using L = typename decltype(type)::type;
    INFO(L::algorithm_type::name);
    for (bool const used : {false, true}) {
      manual_clock clock{24h};
      L limit(largest, clock);
      if (used) limit.charge("ann", cost{std::uint64_t{1} << 30});
      limit.reconfigure(hundred);
      CHECK(limit.allow("ann", cost{101}).outcome == verdict::never);
      std::uint64_t admitted = 0;
      while (limit.allow("ann")) ++admitted;
      CHECK(admitted <= 100);
      CHECK((used || admitted == 100));
      CHECK(limit.allow("ann").outcome == verdict::limited);
      clock.advance(2min);  // two windows, for the counter
      admitted = 0;
      while (limit.allow("ann")) ++admitted;
      CHECK(admitted == 100);
    }
  };
  constexpr std::uint64_t largest_word = std::uint64_t{1} << 60;
  check(std::type_identity<bucket<std::string>>{}, algorithm::token_bucket::config{per(1, 1ns), largest_word},
        algorithm::token_bucket::config{per_minute(100)});
  check(std::type_identity<leaky_meter<std::string, manual_clock>>{},
        algorithm::leaky_meter::config{per(1, 1ns), largest_word}, algorithm::leaky_meter::config{per_minute(100)});
  check(std::type_identity<leaky_queue<std::string, manual_clock>>{},
        algorithm::leaky_queue::config{per(1, 1ns), largest_word}, algorithm::leaky_queue::config{per_minute(100)});
  check(std::type_identity<window<std::string>>{},
        algorithm::fixed_window::config{per_minute(algorithm::fixed_window::most)},
        algorithm::fixed_window::config{per_minute(100)});
  check(std::type_identity<sliding_log<std::string, manual_clock>>{},
        algorithm::sliding_log::config{per_minute(algorithm::sliding_log::most)},
        algorithm::sliding_log::config{per_minute(100)});
  check(std::type_identity<sliding_counter<std::string, manual_clock>>{},
        algorithm::sliding_counter::config{per_minute(algorithm::sliding_counter::most)},
        algorithm::sliding_counter::config{per_minute(100)});
}

TEST_CASE("a key that is fresh is fresh under every configuration") {
  for_each_limiter([]<class L>(std::type_identity<L>) {
    manual_clock clock{24h};
    L limit(configured<L>(per_minute(100)), clock);
    for (std::uint64_t const size : {1U, 7U, 1'000U, 100U}) {
      limit.reconfigure(configured<L>(per_minute(size)));
      CHECK(limit.peek("ann", cost{size}).remaining == 0);
      CHECK(limit.peek("ann", cost{size + 1}).outcome == verdict::never);
    }
    CHECK(limit.stats().keys == 0);
  });
}

TEST_CASE("the same configuration again changes nothing") {
  for_each_limiter([]<class L>(std::type_identity<L>) {
    manual_clock clock{24h};
    L limit(configured<L>(ten), clock), untouched(configured<L>(ten), clock);
    for (L* const l : {&limit, &untouched}) {
      CHECK(l->allow("ann", cost{3}));
      l->charge("ann", cost{14});  // in debt: not cut to full use
    }
    limit.reconfigure(configured<L>(ten));
    CHECK(alike(limit, untouched, "ann", 24h));
  });
}

TEST_CASE("there and back again, a key that nobody asked for meanwhile is as it was") {
  for_each_limiter([]<class L>(std::type_identity<L>) {
    manual_clock clock{24h};
    L limit(configured<L>(ten), clock), untouched(configured<L>(ten), clock);
    for (L* const l : {&limit, &untouched}) CHECK(l->allow("ann", cost{7}));
    for (int i = 0; i < 3; ++i) {
      limit.reconfigure(configured<L>(per(1, 1s)));
      limit.reconfigure(configured<L>(ten));
    }
    CHECK(alike(limit, untouched, "ann", 24h));
  });
}

TEST_CASE("what a configuration left is capped by every later one, not only by the next") {
  manual_clock clock{24h};
  auto const check = [&](auto& limit) {
    clock.set(24h);
    CHECK(limit.allow("ann", cost{180}));  // three minutes ahead
    limit.reconfigure({per(1, 1s)});
    limit.reconfigure({per(60, 1min)});
    clock.advance(5s);  // longer than anything of the second one
    decision const d = limit.allow("ann");
    CHECK(d.reset_after <= 1min);
    CHECK(d.retry_after <= 1min);
    clock.advance(d.retry_after);
    CHECK(limit.allow("ann"));
  };
  bucket<std::string> buckets({per(180, 3min)}, clock);
  check(buckets);
  leaky_meter<std::string, manual_clock> meters({per(180, 3min)}, clock);
  check(meters);
  leaky_queue<std::string, manual_clock> queues({per(180, 3min)}, clock);
  check(queues);
  window<std::string> windows({per(180, 3min)}, clock);
  check(windows);
}

TEST_CASE("a configuration that cannot be is refused, and all stays as it was") {
  for_each_limiter([]<class L>(std::type_identity<L>) {
    manual_clock clock{24h};
    L limit(configured<L>(ten), clock), untouched(configured<L>(ten), clock);
    for (L* const l : {&limit, &untouched}) CHECK(l->allow("ann", cost{7}));
    for (rate const wrong : {per(0, 1s), per(1, 0s), per(1, -1s), per(1, 24h * 40'000)})
      CHECK(complaint_of([&] { limit.reconfigure(configured<L>(wrong)); }) != "none");
    CHECK(limit.algorithm() == untouched.algorithm());
    CHECK(alike(limit, untouched, "ann", 24h));
  });
  using nested =
      limiter<algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>, std::string, manual_clock>;
  nested limit({{ten}, {ten}});
  CHECK(contains(complaint_of([&] { limit.reconfigure({{per_second(1)}, {per(0, 1s)}}); }), "fixed_window.limit"));
  CHECK(limit.peek_at(on(0s), "ann", cost{10}));  // the first rule did not change by itself
}

TEST_CASE("a rate that misses 0.2 % in the units fixed at construction is refused") {
  manual_clock clock;
  bucket<std::string> limit({.refill = per(1, 3ns), .burst = 5}, clock);  // whole nanoseconds
  CHECK(contains(complaint_of([&] { limit.reconfigure({.refill = per(2, 3ns), .burst = 5}); }), "0.2 %"));
  CHECK(contains(complaint_of([&] { limit.reconfigure({.refill = per(10'000'000'000, 1s), .burst = 5}); }),
                 "token_bucket.refill"));
  CHECK(limit.algorithm().true_rate() == per(1, 3ns));
  limit.reconfigure({.refill = per_second(3), .burst = 5});  // a third of a second misses by less than a nanosecond
  CHECK(limit.allow("ann", cost{5}));
  CHECK(limit.peek("ann").retry_after == 333'333'334ns);
  bucket<std::string> halves({.refill = per(2, 3ns), .burst = 5}, clock);
  halves.reconfigure({.refill = per(2, 5ns), .burst = 5});
  CHECK(halves.algorithm().true_rate() == per(2, 5ns));
}

TEST_CASE("a limiter without a key changes its configuration too") {
  manual_clock clock;
  bucket<> limit({per_second(10)}, clock);
  CHECK(limit.allow(cost{10}));
  limit.reconfigure({.refill = per_second(20), .burst = 40});
  CHECK(limit.peek(cost{0}).remaining == 20);  // fresh in a second, of two
  limit.reconfigure({.refill = per_second(10), .burst = 2});
  CHECK(limit.peek().retry_after == 100ms);
  CHECK(limit.algorithm().size() == 2);
}

TEST_CASE("a list of keys shows them as the configuration in force does") {
  for_each_limiter([]<class L>(std::type_identity<L>) {
    manual_clock clock{24h};
    L limit(configured<L>(per(100, 3min)), clock);
    CHECK(limit.allow("ann", cost{100}));
    limit.reconfigure(configured<L>(per(10, 20s)));
    std::vector<decision> listed;
    limit.for_each([&](fingerprint, decision const& d) { listed.push_back(d); });
    CHECK(listed == std::vector<decision>{limit.peek("ann", cost{0})});
  });
}

TEST_CASE("a reading that lags does not cut what was charged since under the same configuration") {
  for (bool const keyed : {false, true}) {
    manual_clock clock{100s};
    bucket<std::string> by_key({.refill = per(10, 10s), .burst = 10}, clock);
    bucket<> alone({.refill = per(10, 10s), .burst = 10}, clock);
    auto const both = [&](rate r, std::uint64_t size) {
      by_key.reconfigure({.refill = r, .burst = size});
      alone.reconfigure({.refill = r, .burst = size});
    };
    both(per(20, 10s), 20);
    both(per(10, 10s), 10);
    auto const ask = [&](nanoseconds at, std::uint64_t c) {
      return keyed ? by_key.allow_at(on(at), "ann", cost{c}) : alone.allow_at(on(at), cost{c});
    };
    CHECK(ask(105s, 10));
    CHECK_FALSE(ask(100s, 1));
    CHECK_FALSE(ask(105s, 1));
    CHECK(ask(106s, 1));
    CHECK_FALSE(ask(20s, 1));  // the clock was set back: as before
    CHECK(ask(30s, 1));
  }
}

TEST_CASE("a ticket gives back what a unit was when it was taken, whatever is in force by then") {
  manual_clock clock{1000s};
  bucket<> limit({.refill = per_second(1), .burst = 100}, clock);
  CHECK(limit.allow(cost{60}));
  auto ticket = limit.take(clock.now(), no_key{}, cost{10});
  limit.reconfigure({.refill = per(1, 10s), .burst = 10});
  limit.undo(std::move(ticket));
  CHECK(limit.peek(cost{0}).reset_after == 60s);
  CHECK(limit.peek(cost{0}).remaining == 4);
}

TEST_CASE("a window gives back only its own units, also when windows have become longer") {
  auto const check = [](auto limit, manual_clock& clock, auto longer) {
    auto early = limit->take(clock.now(), no_key{}, cost{5});
    clock.set(7210s);
    CHECK(limit->allow(cost{8}));
    limit->reconfigure(longer);
    limit->undo(std::move(early));
    CHECK(limit->peek(cost{0}).remaining == 2);
  };
  manual_clock clock{7080s};
  for (auto const starts : {window_start::aligned, window_start::first_request}) {
    clock.set(7080s);
    check(std::make_unique<window<>>(algorithm::fixed_window::config{.limit = per(10, 60s), .starts = starts}, clock),
          clock, algorithm::fixed_window::config{.limit = per(10, 3600s), .starts = starts});
  }
  clock.set(7030s);  // two windows before
  check(
      std::make_unique<sliding_counter<no_key, manual_clock>>(algorithm::sliding_counter::config{per(10, 60s)}, clock),
      clock, algorithm::sliding_counter::config{per(10, 3600s)});
}

TEST_CASE("windows that end together are not the same when one is shorter") {
  manual_clock clock{3601s};
  {
    window<> limit({.limit = per(10, 60s)}, clock);
    auto early = limit.take(clock.now(), no_key{}, cost{5});
    limit.reconfigure({.limit = per(10, 10s)});
    clock.set(3603s);
    CHECK(limit.allow());
    clock.set(3655s);
    CHECK(limit.allow(cost{10}));  // until 3660 s, as the window of the ticket
    limit.undo(std::move(early));
    CHECK_FALSE(limit.allow());
  }
  clock.set(3610s);
  sliding_counter<no_key, manual_clock> limit({per(10, 60s)}, clock);
  auto early = limit.take(clock.now(), no_key{}, cost{5});  // in the window until 3660 s
  limit.reconfigure({per(10, 10s)});
  clock.set(3709s);
  CHECK(limit.allow(cost{10}));
  clock.set(3715s);
  CHECK(limit.allow());
  CHECK(limit.peek(cost{0}).remaining == 4);
  limit.undo(std::move(early));
  CHECK(limit.peek(cost{0}).remaining == 4);
}

TEST_CASE("a debt of the configuration before is capped whenever its key comes back") {
  manual_clock clock{1000s};
  bucket<> limit({.refill = per_hour(60), .burst = 60}, clock);
  CHECK(limit.allow(cost{60}));
  limit.charge(cost{60});  // two hours
  limit.reconfigure({.refill = per_hour(60), .burst = 20});
  clock.advance(90min);
  CHECK(limit.allow().retry_after == 1min);  // not eleven
}

TEST_CASE("what a configuration promises is not cut while states of the one before may be about") {
  auto const check = [](auto ask, manual_clock& clock, std::uint64_t full) {
    std::uint64_t promised = 0;
    for (int i = 0; i < 50; ++i) {
      decision const d = ask(cost{1});
      if (!d) continue;
      ++promised;
      CHECK(d.delay == promised * 100ms);
    }
    CHECK(promised == full);
    clock.advance(1s);
    CHECK_FALSE(ask(cost{full + 1}));
  };
  for (bool const changed : {false, true}) {
    INFO("cut: " << changed);
    manual_clock clock{100s};
    bucket<std::string> by_key({.refill = per_second(10), .burst = 30}, clock);
    leaky_meter<no_key, manual_clock> alone({.drain = per_second(10), .capacity = 30}, clock);
    CHECK(by_key.allow("ann", cost{changed ? 30u : 20u}));
    CHECK(alone.allow(cost{changed ? 30u : 20u}));
    by_key.reconfigure({.refill = per_second(10), .burst = 20});
    alone.reconfigure({.drain = per_second(10), .capacity = 20});
    check([&](cost c) { return by_key.allow_within("ann", 1s, c); }, clock, 10);
    clock.set(100s);
    INFO("without a key");
    check([&](cost c) { return alone.allow_within(1s, c); }, clock, 10);
    clock.set(100s);  // tickets
    std::vector<lease<bucket<std::string>>> line;
    for (int i = 0; i < 50; ++i)
      if (auto place = reserve_within(by_key, "eve", 1s, cost{i == 0 ? 20u : 1u})) line.push_back(std::move(place));
    CHECK(line.size() == 11);
    for (auto& place : line) place.commit();
  }
}

TEST_CASE("a promise to a key that is cut by the same call is told as it is kept") {
  for (bool const cut_before : {false, true}) {
    manual_clock clock;
    bucket<std::string> limit({.refill = per_second(1), .burst = 10}, clock);
    CHECK(limit.allow("ann", cost{10}));
    limit.reconfigure({.refill = per_second(2), .burst = 10});
    clock.advance(4800ms);
    if (cut_before) CHECK_FALSE(limit.allow("ann"));
    decision const d = limit.allow_within("ann", 500ms);
    CHECK(d);
    CHECK(d.delay == 500ms);
    CHECK(limit.peek("ann", cost{0}).reset_after == 5500ms);
  }
}

TEST_CASE("a key of a longer configuration that a full store drops comes back to no more than it was due") {
  for_each_store([]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    manual_clock clock{100s};
    limiter<algorithm::token_bucket, int, manual_clock, Store> limit({.refill = per_day(100), .burst = 100},
                                                                     {.max_keys = 4}, clock);
    int held = 0;
    for (; limit.stats().evictions == 0 && limit.stats().keys < limit.stats().capacity; ++held)
      CHECK(limit.allow(held, cost{100}));
    limit.reconfigure({.refill = per_minute(100), .burst = 100});
    for (int key = 1000; key < 1040; ++key) (void)limit.allow(key);
    for (int key = 0; key < held; ++key) CHECK_FALSE(limit.allow(key));
    clock.advance(1min);
    for (int key = 0; key < held; ++key) CHECK(limit.allow(key));
  });
}

TEST_CASE("of a state that was cut no more units are given back than were taken") {
  manual_clock clock{1000s};
  bucket<> limit({.refill = per_day(100), .burst = 100}, clock);
  CHECK(limit.allow(cost{99}));
  auto ticket = limit.take(clock.now(), no_key{}, cost{1});
  limit.reconfigure({.refill = per_minute(100), .burst = 100});
  CHECK_FALSE(limit.allow());
  limit.undo(std::move(ticket));
  CHECK(limit.peek(cost{0}).remaining == 1);
}

TEST_CASE("of tickets of one configuration each gives back its own under another, in any order") {
  for (bool const last_first : {false, true}) {
    manual_clock clock{1000s};
    bucket<> limit({.refill = per_second(1), .burst = 10}, clock);
    auto first = limit.take(clock.now(), no_key{}, cost{1}), last = limit.take(clock.now(), no_key{}, cost{1});
    limit.reconfigure({.refill = per_second(100), .burst = 1000});  // as long to recover: nothing is cut
    limit.undo(std::move(last_first ? last : first));
    limit.undo(std::move(last_first ? first : last));
    CHECK(limit.peek(cost{0}).remaining == 1000);
  }
  manual_clock clock{1000s};
  bucket<> limit({.refill = per_second(1), .burst = 10}, clock);
  std::vector<bucket<>::ticket> tickets;
  for (int i = 0; i < 10; ++i) tickets.push_back(limit.take(clock.now(), no_key{}, cost{1}));
  limit.reconfigure({.refill = per_second(10), .burst = 10});
  clock.advance(9500ms);
  while (limit.allow()) {
  }
  int more = 0;
  for (auto& ticket : tickets) {
    limit.undo(std::move(ticket));
    while (limit.allow()) ++more;
  }
  CHECK(more == 10);
}

TEST_CASE("a promise to one key is not left to another that used more under the configuration before") {
  manual_clock clock{10'000s};
  bucket<std::string> limit({.refill = per_hour(10), .burst = 10}, clock);
  CHECK(limit.allow("eve", cost{10}));
  limit.reconfigure({.refill = per_second(10), .burst = 10});
  while (limit.allow_within("ann", 31s)) {
  }
  CHECK(limit.allow("eve").retry_after == 100ms);

  // What a queue promises is within its capacity, and never looks like what another configuration left.
  leaky_queue<std::string, manual_clock> queue({.drain = per(10, 1500ms), .capacity = 10}, clock);
  CHECK(queue.allow("eve", cost{10}));
  queue.reconfigure({.drain = per_second(10), .capacity = 10});
  while (queue.allow_within("ann", 31s)) {
  }
  CHECK(queue.allow("eve").retry_after == 100ms);
}

TEST_CASE("a reading that lags cuts nothing that was charged since, also when the change was long ago") {
  auto const check = [](auto limit, auto next, nanoseconds late) {
    limit->reconfigure(next);
    int admitted = 0;
    for (int round = 0; round < 20; ++round) {
      while (limit->allow_at(on(late))) ++admitted;
      (void)limit->allow_at(on(late - 3s));
    }
    CHECK(admitted == 10);
    limit->charge_at(on(late), cost{10});
    CHECK_FALSE(limit->allow_at(on(late)));
    limit->refund_at(on(late), cost{10});
    CHECK_FALSE(limit->allow_at(on(late)));  // a debt is a debt, too
  };
  manual_clock clock{1000s};
  using config = algorithm::token_bucket::config;  // states of the one before mean something until 1010 s
  check(std::make_unique<bucket<>>(config{.refill = per_second(1), .burst = 5}, clock),
        config{.refill = per_second(10), .burst = 10}, 1012s);
  using windows = algorithm::fixed_window::config;  // ... until 1020 s
  check(std::make_unique<window<>>(windows{.limit = per(5, 10s)}, clock), windows{.limit = per(10, 11s)}, 1023s);
}

TEST_CASE("promises are kept after a reading far ahead, one set back, and another configuration") {
  auto const promised = [](auto& limit) {
    int count = 0;
    while (count < 100 && limit.allow_within("ann", 1s)) ++count;
    return count;
  };
  auto const changed = [](bucket<std::string>& limit) { limit.reconfigure({.refill = per_second(10), .burst = 10}); };
  {
    manual_clock clock{10'000s};
    bucket<std::string> limit({.refill = per_hour(10), .burst = 10}, clock);
    changed(limit);
    (void)limit.allow_at(on(10'200s), "eve");
    CHECK(promised(limit) == 20);
    clock.advance(-200s);
    CHECK(promised(limit) == 10);  // fully used at this reading, and so much in a second
  }
  {
    manual_clock clock{10'000s};
    bucket<std::string> limit({.refill = per_hour(10), .burst = 10}, clock);
    changed(limit);
    CHECK(limit.allow_at(on(10'002s), "ann", cost{10}));
    CHECK_FALSE(limit.allow_at(on(10'000s), "ann"));
    CHECK_FALSE(limit.allow_at(on(10'002s), "ann"));
    (void)limit.allow_at(on(10'200s), "eve");
    CHECK_FALSE(limit.allow_at(on(10'002s), "ann"));
    CHECK_FALSE(limit.allow_at(on(10'000s), "ann"));
    CHECK_FALSE(limit.allow_at(on(10'002s), "ann"));
  }
  {
    manual_clock clock{10'000s};
    bucket<std::string> limit({.refill = per_hour(10), .burst = 10}, clock);
    limit.reconfigure({.refill = per(10, 1000s), .burst = 10});
    CHECK(limit.allow("eve", cost{10}));
    CHECK(limit.allow_within("eve", 1100s, cost{10}));
    changed(limit);
    CHECK(promised(limit) == 20);
  }
}
