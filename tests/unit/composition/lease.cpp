// lease.hpp: reserve now, settle the true cost later.

#include "subjects.hpp"

#include <penstock/lease.hpp>

#include <memory>
#include <optional>

using namespace composition;

namespace {

std::uint64_t left(auto const& limiter) { return limiter.peek("ann", cost{0}).remaining; }

/// check(limiter, twin, clock) for each algorithm: ann has used three of ten, a second ago.
void for_each_pair(auto check) {
  for_each_algorithm([&]<class A>(std::type_identity<A>) {
    manual_clock clock{21s};
    by_name<A> limit({ten}, clock), twin({ten}, clock);
    for (auto* l : {&limit, &twin}) CHECK(l->allow("ann", cost{3}));
    clock.advance(1s);
    check(limit, twin, clock);
  });
}

}  // namespace

TEST_CASE("a lease takes what it asks for, at once") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    auto lease = reserve(limit, "ann", cost{5});
    CHECK(lease);
    CHECK(lease.answer() == twin.allow("ann", cost{5}));
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
    lease.commit();
  });
}

TEST_CASE("a limiter reserves by itself in the same words") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    limit.reserve("ann", cost{5}).commit(cost{2});
    reserve(twin, "ann", cost{5}).commit(cost{2});
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
    auto lease = limit.reserve("ann", cost{3}, 1s), other = reserve(twin, "ann", cost{3}, 1s);
    CHECK(lease.answer() == other.answer());
    clock.advance(2s);
    lease = limit.reserve("bob", cost{1});
    other = reserve(twin, "bob", cost{1});
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
  manual_clock clock;
  bucket<> limit({.refill = per_hour(10), .burst = 10}, clock);
  limit.reserve(cost{7}, 1min).commit(cost{2});
  CHECK(limit.peek(cost{0}).remaining == 8);
}

TEST_CASE("a lease that is dropped gives all back, with the instant it was taken at") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    {
      auto const lease = reserve(limit, "ann", cost{5});
      clock.advance(500ms);
      CHECK(lease);
    }
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
}

TEST_CASE("a lease that is committed keeps all, once and for all") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    {
      auto lease = reserve(limit, "ann", cost{5});
      lease.commit();
      lease.cancel();
      lease.commit(cost{1});
      CHECK(lease);
    }
    CHECK(twin.allow("ann", cost{5}));
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
}

TEST_CASE("less than was reserved is given back, also later") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    {
      auto lease = reserve(limit, "ann", cost{6});
      CHECK(twin.allow("ann", cost{2}));
      clock.advance(500ms);
      lease.commit(cost{2});
      lease.commit(cost{0});  // it is settled
      lease.commit(cost{9});
    }
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
}

TEST_CASE("as much as was reserved is nothing to settle; nothing at all gives all back") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    reserve(limit, "ann", cost{4}).commit(cost{0});
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
    reserve(limit, "ann", cost{4}).commit(cost{4});
    CHECK(twin.allow("ann", cost{4}));
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
}

TEST_CASE("more than was reserved is charged when it is known, as a debt if need be") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    auto lease = reserve(limit, "ann", cost{5});
    CHECK(twin.allow("ann", cost{5}));
    clock.advance(500ms);
    lease.commit(cost{11});
    twin.charge("ann", cost{6});
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
    CHECK(left(limit) == 0);
    lease.commit(cost{20});  // settled
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
  manual_clock clock;
  bucket<std::string> limit({.refill = per_second(1), .burst = 10}, clock);
  reserve(limit, "ann", cost{5}).commit(cost{13});
  CHECK(limit.peek("ann").retry_after == 4s);
}

TEST_CASE("a refused lease has nothing to settle") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    for (std::uint64_t const units : {9U, 11U}) {
      auto lease = reserve(limit, "ann", cost{units});
      CHECK_FALSE(lease);
      CHECK(lease.answer() == twin.peek("ann", cost{units}));
      if (units == 9) lease.commit(cost{10});
      if (units == 11) lease.cancel();
    }
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
}

TEST_CASE("a lease dropped after its deadline gives nothing back: the work was done by then") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    CHECK(twin.allow("ann", cost{5}));
    {
      auto const late = reserve(limit, "ann", cost{5}, 2s);
      clock.advance(2s + 1ns);
    }
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    {
      auto const in_time = reserve(limit, "ann", cost{5}, 2s);
      clock.advance(2s);
    }
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
}

TEST_CASE("late commits still settle") {
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    auto lease = reserve(limit, "ann", cost{6}, 1s);
    CHECK(twin.allow("ann", cost{2}));
    clock.advance(1500ms);
    lease.commit(cost{2});
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
  for_each_pair([](auto& limit, auto& twin, manual_clock clock) {
    auto lease = reserve(limit, "ann", cost{4}, 1s);
    CHECK(twin.allow("ann", cost{4}));
    clock.advance(1500ms);
    lease.commit(cost{9});
    twin.charge("ann", cost{5});
    CHECK(alike(limit, twin, "ann", clock.now().time_since_epoch()));
  });
}

TEST_CASE("a window that has ended gives back nothing of itself to the next") {
  manual_clock clock{29s};
  window<std::string> limit({ten}, clock);
  auto lease = reserve(limit, "ann", cost{8});
  clock.set(31s);
  CHECK(limit.allow("ann", cost{6}));
  lease.commit(cost{1});
  CHECK(left(limit) == 4);
}

TEST_CASE("a deadline is a deadline by every clock, before its epoch and at its end too") {
  for (nanoseconds const start : {nanoseconds{-1h}, nanoseconds{0s}, nanoseconds{1h},
                                  nanoseconds{std::int64_t{1} << 61}, nanoseconds{-(std::int64_t{1} << 61)}}) {
    INFO(start.count());
    manual_clock clock{start};
    bucket<std::string> limit({.refill = per_hour(10), .burst = 10}, clock);
    {
      auto const late = reserve(limit, "ann", cost{5}, 1s);
      clock.advance(2s);
    }
    CHECK(left(limit) == 5);
    {
      auto const in_time = reserve(limit, "ann", cost{5}, 1s);
      clock.advance(1s);
    }
    CHECK(left(limit) == 5);
    {
      auto const without = reserve(limit, "ann", cost{5});
      clock.advance(1s);
    }
    CHECK(left(limit) == 5);
  }
}

namespace {

struct coarse {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<coarse>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  manual_clock hand;
  time_point now() const { return time_point{std::chrono::duration_cast<duration>(hand.now().time_since_epoch())}; }
};

}  // namespace

TEST_CASE("a deadline is kept by clocks that tick more slowly than once a nanosecond") {
  manual_clock hand{1h};
  token_bucket<std::string, coarse> limit({.refill = per_hour(10), .burst = 10}, coarse{hand});
  {
    auto const late = reserve(limit, "ann", cost{5}, 1s);
    hand.advance(2s);
  }
  CHECK(limit.peek("ann", cost{0}).remaining == 5);
  {
    auto const without = reserve(limit, "ann", cost{5});
    hand.advance(1s);
  }
  CHECK(limit.peek("ann", cost{0}).remaining == 5);
}

// ---- one owner
// ----------------------------------------------------------------------------------------------------------

TEST_CASE("a lease is moved, not copied, and settled once") {
  manual_clock clock;
  bucket<std::string> limit({.refill = per_hour(10), .burst = 10}, clock);
  using owned = decltype(reserve(limit, "ann", cost{1}));
  static_assert(!std::is_copy_constructible_v<owned> && !std::is_copy_assignable_v<owned>);
  static_assert(std::is_nothrow_move_constructible_v<owned> && std::is_nothrow_move_assignable_v<owned>);
  static_assert(!std::is_convertible_v<owned, bool> && std::is_constructible_v<bool, owned>);
  {
    auto first = reserve(limit, "ann", cost{3});
    auto second = std::move(first);
    CHECK(left(limit) == 7);
    first.cancel();  // no longer its own
    first.commit(cost{9});
    CHECK_FALSE(first);
    CHECK(left(limit) == 7);
    CHECK(second);
  }
  CHECK(left(limit) == 10);
  {
    auto first = reserve(limit, "ann", cost{3});
    auto second = reserve(limit, "bob", cost{4});
    second = std::move(first);  // bob's is given back
    CHECK(limit.peek("bob", cost{0}).remaining == 10);
    CHECK(left(limit) == 7);
    auto& same = second;
    second = std::move(same);
    CHECK(left(limit) == 7);
    second.commit(cost{1});
    CHECK(left(limit) == 9);
  }
  CHECK(left(limit) == 9);
  std::vector<owned> many;
  for (int i = 0; i < 9; ++i) many.push_back(reserve(limit, "ann", cost{1}));
  CHECK(left(limit) == 0);
  many.erase(many.begin(), many.begin() + 4);
  CHECK(left(limit) == 4);
  many.clear();
  CHECK(left(limit) == 9);
}

TEST_CASE("leases in any order: only what was used stays used") {
  for_each_store([]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    manual_clock clock;
    token_bucket<int, manual_clock, Store> limit({.refill = per_hour(1'000), .burst = 1'000}, {.max_keys = 100}, clock);
    using owned = decltype(reserve(limit, 1, cost{1}));
    std::vector<std::pair<owned, std::uint64_t>> open;
    dice random(8);
    std::uint64_t used = 0, reserved = 0;
    for (int i = 0; i < 5'000; ++i) {
      if (std::uint64_t const c = 1 + random.below(20); random.below(2) == 0) {
        auto lease = reserve(limit, 1, cost{c});
        CHECK(static_cast<bool>(lease) == (used + reserved + c <= 1'000));
        if (!lease) continue;
        reserved += c;
        open.emplace_back(std::move(lease), c);
      } else if (!open.empty()) {
        std::swap(open[random.below(open.size())], open.back());
        std::uint64_t const units = open.back().second;
        std::uint64_t const actual = random.below(8) == 0 && used < 900 ? random.below(units + 1) : 0;
        if (actual != 0) open.back().first.commit(cost{actual});
        used += actual;
        reserved -= units;
        open.pop_back();
      }
      CHECK(limit.peek(1, cost{0}).remaining == 1'000 - used - reserved);
    }
    CHECK(used > 500);
  });
}

TEST_CASE("a limiter without a key gives leases too") {
  manual_clock clock;
  bucket<> limit({.refill = per_hour(10), .burst = 10}, clock);
  {
    auto lease = reserve(limit, cost{7}, 1min);
    CHECK(limit.peek(cost{0}).remaining == 3);
    lease.commit(cost{2});
  }
  CHECK(limit.peek(cost{0}).remaining == 8);
  {
    auto const dropped = reserve(limit, cost{8});
  }
  CHECK(limit.peek(cost{0}).remaining == 8);
}

TEST_CASE("several rules on one key are settled together") {
  manual_clock clock;
  limiter<algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>, std::string, manual_clock> limit(
      {{.refill = per_minute(10), .burst = 10}, {per_hour(20)}}, clock);
  reserve(limit, "ann", cost{8}).commit(cost{3});
  CHECK(left(limit) == 7);
  {
    auto const dropped = reserve(limit, "ann", cost{7});
  }
  CHECK(left(limit) == 7);
  clock.advance(30min);
  CHECK(left(limit) == 10);
  CHECK(limit.allow("ann", cost{10}));
  clock.advance(29min);
  CHECK(limit.peek("ann", cost{8}).rule == 1);  // 7 of the hour's 20
  CHECK(limit.peek("ann", cost{7}));
}

TEST_CASE("settling nothing leaves the last promise of a queue to be given back") {
  manual_clock clock;
  leaky_queue<std::string, manual_clock> limit({.drain = per_second(1), .capacity = 10}, clock);
  CHECK(limit.allow("ann", cost{3}));
  limit.refund("ann", cost{0});
  limit.refund("ann", cost{3});
  CHECK(left(limit) == 10);
}

// ---- a place in the line
// ----------------------------------------------------------------------------------------------------

TEST_CASE("a place in the line is a lease: dropped, it is given on") {
  manual_clock clock;
  bucket<std::string> limit({.refill = per_second(10), .burst = 20}, clock);
  CHECK(limit.allow("ann", cost{20}));
  {
    auto place = reserve_within(limit, "ann", 1s, cost{10});
    CHECK(place);
    CHECK(place.answer().delay == 1s);
    CHECK_FALSE(reserve_within(limit, "ann", 1s, cost{1}));
    CHECK(reserve_within(limit, "ann", 1100ms).answer().delay == 1100ms);  // and given on at once
  }
  auto next = reserve_within(limit, "ann", 1s, cost{3});
  CHECK(next.answer().delay == 300ms);
  clock.advance(300ms);
  next.commit(cost{1});
  CHECK(left(limit) == 2);

  bucket<> unkeyed({.refill = per_second(10), .burst = 20}, clock);
  CHECK(unkeyed.allow(cost{20}));
  auto const place = reserve_within(unkeyed, 1s);
  CHECK(place.answer().delay == 100ms);
}

TEST_CASE("a lease that was moved from has nothing to settle, more than was reserved either") {
  bucket<> limit({.refill = per_hour(10), .burst = 10});
  auto first = limit.reserve(cost{2});
  auto second = std::move(first);
  first.commit(cost{5});  // NOLINT(bugprone-use-after-move): that is the question
  CHECK(limit.peek(cost{0}).remaining == 8);
}

TEST_CASE("a ticket gives back what it took, no more") {
  bucket<> limit({.refill = per_hour(10), .burst = 10});
  CHECK(limit.allow(cost{5}));
  auto const ticket = limit.take(limit.clock().now(), no_key{}, cost{3});
  limit.give_back(ticket, cost{8});
  CHECK(limit.peek(cost{0}).remaining == 5);
}
