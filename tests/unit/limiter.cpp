// limiter.hpp: what every limiter does, whatever its algorithm and its keys.

#include <penstock/penstock.hpp>

#include "random.hpp"
#include "timeline.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

using namespace penstock;
using namespace timeline;

namespace {

/// Each of the six, ten units in ten seconds.
void for_each_algorithm(auto check) {
  check(std::type_identity<algorithm::token_bucket>{}, "token_bucket");
  check(std::type_identity<algorithm::leaky_meter>{}, "leaky_meter");
  check(std::type_identity<algorithm::leaky_queue>{}, "leaky_queue");
  check(std::type_identity<algorithm::fixed_window>{}, "fixed_window");
  check(std::type_identity<algorithm::sliding_counter>{}, "sliding_counter");
  check(std::type_identity<algorithm::sliding_log>{}, "sliding_log");
}

constexpr rate ten = per(10, 10s);
constexpr cost largest{std::numeric_limits<std::uint64_t>::max()};

template <class A>
using by_name = limiter<A, std::string, manual_clock>;
template <class A>
using by_nobody = limiter<A, no_key, manual_clock>;

}  // namespace

TEST_CASE("what peek says, allow does; and peek changes nothing") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    by_name<A> limit({ten}), never_peeked({ten});
    dice random(22);
    nanoseconds now = 0s;
    int wrong = 0;
    for (int i = 0; i < 20'000; ++i) {
      now += random.up_to(1s);
      std::string const key(1, static_cast<char>('a' + random.below(3)));
      cost const c{random.below(12)};
      decision const said = limit.peek_at(on(now), key, c);
      if (said != limit.peek_at(on(now), key, c)) ++wrong;
      decision const done = limit.allow_at(on(now), key, c);
      if (said != done || done != never_peeked.allow_at(on(now), key, c)) ++wrong;
    }
    INFO(name);
    CHECK(wrong == 0);
  });
}

TEST_CASE("the calls that read the clock say what their twins say that are told the time") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    manual_clock clock{5s};
    by_name<A> read({ten}, clock), told({ten}, manual_clock{5s});
    auto const now = [&] { return clock.now(); };
    CHECK(read.allow("ann", cost{4}) == told.allow_at(now(), "ann", cost{4}));
    clock.advance(300ms);
    CHECK(read.allow("ann") == told.allow_at(now(), "ann"));
    CHECK(read.peek("ann") == told.peek_at(now(), "ann"));
    CHECK(read.peek("ann", cost{9}) == told.peek_at(now(), "ann", cost{9}));
    read.charge("ann", cost{7});
    told.charge_at(now(), "ann", cost{7});
    CHECK(read.peek("ann") == told.peek_at(now(), "ann"));
    read.refund("ann", cost{3});
    told.refund_at(now(), "ann", cost{3});
    CHECK(read.peek("ann", cost{0}) == told.peek_at(now(), "ann", cost{0}));

    by_nobody<A> alone({ten}, clock), told_alone({ten}, manual_clock{5s});
    CHECK(alone.allow(cost{4}) == told_alone.allow_at(now(), cost{4}));
    CHECK(alone.allow() == told_alone.allow_at(now()));
    CHECK(alone.peek() == told_alone.peek_at(now()));
    alone.charge(cost{9});
    told_alone.charge_at(now(), cost{9});
    alone.refund(cost{2});
    told_alone.refund_at(now(), cost{2});
    CHECK(alone.peek(cost{0}) == told_alone.peek_at(now(), cost{0}));
  });
}

TEST_CASE("a refused call changes nothing") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    by_name<A> limit({ten}), never_refused({ten});
    for (auto* l : {&limit, &never_refused}) {
      CHECK(l->allow_at(on(1s), "ann", cost{6}));
      CHECK(l->allow_at(on(2s), "ann", cost{4}));
    }
    for (nanoseconds t = 2s; t < 2'500ms; t += 1ms) {
      CHECK_FALSE(limit.allow_at(on(t), "ann", cost{8}));
      CHECK_FALSE(limit.allow_at(on(t), "ann", cost{11}));
    }
    for (nanoseconds t = 2'500ms; t < 25s; t += 100ms)
      for (std::uint64_t const units : {0U, 1U, 5U, 10U})
        CHECK(limit.peek_at(on(t), "ann", cost{units}) == never_refused.peek_at(on(t), "ann", cost{units}));
  });
}

TEST_CASE("cost zero is admitted, in debt too, changes nothing and reports the present") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    by_name<A> limit({ten});
    CHECK(limit.allow_at(on(1s), "ann", cost{0}) == decision{.limit = 10, .remaining = 10});
    CHECK(limit.stats().keys == 0);
    CHECK(limit.allow_at(on(1s), "ann", cost{3}));
    CHECK(limit.allow_at(on(1s), "ann", cost{0}).remaining == 7);
    limit.charge_at(on(1s), "ann", largest);
    decision const d = limit.allow_at(on(1s), "ann", cost{0});
    CHECK(d.outcome == verdict::admitted);
    CHECK(d.remaining == 0);
    CHECK(d.retry_after == 0ns);
    CHECK(d.delay == 0ns);
    CHECK(d.next_after > 0ns);
    CHECK(d.reset_after > 0ns);
    CHECK(limit.peek_at(on(1s), "ann", cost{0}) == d);
    CHECK(limit.peek_at(on(1s) + d.next_after, "ann", cost{0}).remaining >= 1);
    CHECK(limit.peek_at(on(1s) + d.next_after - 1ns, "ann", cost{0}).remaining == 0);
    CHECK(limit.peek_at(on(1s) + d.reset_after, "ann", cost{0}) == decision{.limit = 10, .remaining = 10});
  });
}

TEST_CASE("a charge of zero and a refund of zero change nothing") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    by_name<A> limit({ten});
    limit.charge_at(on(1s), "ann", cost{0});
    limit.refund_at(on(1s), "ann", cost{0});
    CHECK(limit.stats().keys == 0);
    CHECK(limit.allow_at(on(1s), "ann", cost{4}));
    decision const d = limit.peek_at(on(1s), "ann");
    limit.charge_at(on(1s), "ann", cost{0});
    limit.refund_at(on(1s), "ann", cost{0});
    CHECK(limit.peek_at(on(1s), "ann") == d);
  });
}

TEST_CASE("a cost above the allowance is never admitted, waits for nothing and changes nothing") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    by_name<A> limit({ten});
    for (cost const c :
         {cost{11}, cost{20}, cost{21}, cost{std::uint64_t{1} << 32}, cost{std::uint64_t{1} << 63}, largest}) {
      decision const d = limit.allow_at(on(1s), "ann", c);
      CHECK(d.outcome == verdict::never);
      CHECK(d.retry_after == nanoseconds::max());
      CHECK(d.remaining == 10);
      CHECK(d.delay == 0ns);
      CHECK(limit.stats().keys == 0);
    }
    CHECK(limit.allow_at(on(1s), "ann", cost{10}).outcome == verdict::admitted);
    CHECK(limit.allow_at(on(1s), "ann", cost{11}).outcome == verdict::never);
    CHECK(limit.allow_at(on(1s), "ann", cost{10}).outcome == verdict::limited);
  });
}

TEST_CASE("a debt is at most one allowance: all is forgiven in the time of two") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    for (cost const c : {cost{20}, cost{21}, cost{1'000}, cost{std::uint64_t{1} << 62}, largest}) {
      by_name<A> limit({ten});
      limit.charge_at(on(0s), "ann", c);
      decision const once = limit.peek_at(on(0s), "ann");
      CHECK(once.outcome == verdict::limited);
      CHECK(once.remaining == 0);
      CHECK(once.reset_after <= 20s);
      limit.charge_at(on(0s), "ann", c);
      limit.charge_at(on(0s), "ann", largest);
      CHECK(limit.peek_at(on(0s), "ann") == once);
      CHECK(limit.peek_at(on(20s), "ann", cost{10}).outcome == verdict::admitted);
    }
  });
}

TEST_CASE("a charge counts whether or not it fits, and a debt must be worked off first") {
  token_bucket<std::string, manual_clock> bucket({.refill = per_second(1), .burst = 10});
  bucket.charge_at(on(0s), "ann", cost{14});
  CHECK(bucket.peek_at(on(0s), "ann").retry_after == 5s);
  CHECK(bucket.peek_at(on(4s), "ann", cost{0}).remaining == 0);
  CHECK(bucket.peek_at(on(5s), "ann", cost{0}).remaining == 1);
  bucket.charge_at(on(5s), "bob", cost{1});
  CHECK(bucket.peek_at(on(5s), "bob", cost{0}).remaining == 9);
}

TEST_CASE("what was charged and refunded for that instant leaves everything as it was, once") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    for (std::uint64_t const used_before : {0U, 3U}) {
      by_name<A> limit({ten}), untouched({ten});
      for (auto* l : {&limit, &untouched}) CHECK(l->allow_at(on(1s), "ann", cost{used_before}));
      CHECK(limit.allow_at(on(2s), "ann", cost{5}));
      limit.refund_at(on(2s), "ann", cost{5});
      for (nanoseconds t = 2s; t < 25s; t += 100ms)
        for (std::uint64_t const units : {0U, 1U, 7U, 8U, 10U})
          CHECK(limit.peek_at(on(t), "ann", cost{units}) == untouched.peek_at(on(t), "ann", cost{units}));
    }
  });
}

TEST_CASE("a refund after a refund of all, of too much, or of nothing charged leaves a fresh key fresh") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    manual_clock clock{1s};
    by_name<A> limit({ten}, clock);
    limit.refund("ann", cost{5});
    CHECK(limit.stats().keys == 0);
    CHECK(limit.allow("ann", cost{5}));
    for (cost const c : {cost{5}, cost{5}, largest}) {
      limit.refund("ann", c);
      CHECK(limit.peek("ann", cost{0}) == decision{.limit = 10, .remaining = 10});
    }
    CHECK(limit.allow("ann", cost{5}));
    limit.refund("ann", largest);
    CHECK(limit.peek("ann", cost{0}) == decision{.limit = 10, .remaining = 10});
    CHECK(limit.stats().keys == 0);
    limit.refund_at(on(-1h), "ann", largest);
    limit.refund_at(on(1h), "ann", largest);
    CHECK(limit.peek("ann", cost{10}).outcome == verdict::admitted);
    CHECK(limit.peek("ann", cost{11}).outcome == verdict::never);
  });
}

TEST_CASE("an absent key is left absent by refund and forget") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    by_name<A> limit({ten});
    CHECK(limit.allow_at(on(1s), "ann", cost{4}));
    decision const ann = limit.peek_at(on(1s), "ann");
    limit.refund_at(on(1s), "bob", cost{4});
    limit.forget("bob");
    CHECK(limit.peek_at(on(1s), "bob", cost{0}).remaining == 10);
    CHECK(limit.peek_at(on(1s), "ann") == ann);
  });
}

TEST_CASE("a forgotten key is a key never seen, and the others are not") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    by_name<A> limit({ten}), fresh({ten});
    CHECK(limit.allow_at(on(1s), "ann", cost{10}));
    CHECK(limit.allow_at(on(1s), "bob", cost{10}));
    limit.forget("ann");
    CHECK(limit.peek_at(on(1s), "ann", cost{3}) == fresh.peek_at(on(1s), "ann", cost{3}));
    CHECK(limit.allow_at(on(1s), "ann", cost{10}).outcome == verdict::admitted);
    CHECK(limit.peek_at(on(1s), "bob").outcome == verdict::limited);

    by_nobody<A> alone({ten});
    CHECK(alone.allow_at(on(1s), cost{10}));
    alone.forget();
    CHECK(alone.allow_at(on(1s), cost{10}));
  });
}

TEST_CASE("the first reading may be any: a fresh key is fresh at the extremes of every clock") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    for (nanoseconds const start : {0ns, 1ns, -1ns, nanoseconds{3'758'770ms}, nanoseconds::min(), nanoseconds::max()})
      for (nanoseconds const first : {start, nanoseconds::min(), nanoseconds{-1}, 0ns, 1ns,
                                      nanoseconds{std::int64_t{1} << 62}, nanoseconds::max()}) {
        INFO(name << ", clock at " << start.count() << ", first reading " << first.count());
        by_name<A> limit({ten}, manual_clock{start});
        decision const fresh = limit.peek_at(on(first), "ann", cost{0});
        CHECK(fresh == decision{.limit = 10, .remaining = 10});
        CHECK(limit.allow_at(on(first), "ann", cost{10}).outcome == verdict::admitted);
        decision const d = limit.allow_at(on(first), "ann");
        CHECK(d.outcome == verdict::limited);
        CHECK(d.retry_after > 0ns);
        CHECK(d.retry_after <= 20s);
      }
  });
}

TEST_CASE("readings may jump between the extremes without anybody gaining or being locked out") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    by_name<A> limit({ten}, manual_clock{0s});
    for (nanoseconds const t :
         {0ns, nanoseconds::max(), 0ns, nanoseconds::min(), nanoseconds::max(), nanoseconds::min()}) {
      int passed = 0;
      for (int i = 0; i < 50; ++i) passed += limit.allow_at(on(t), "ann") ? 1 : 0;
      CHECK(passed <= 10);
      decision const d = limit.allow_at(on(t), "ann");
      CHECK(d.outcome == verdict::limited);
      CHECK(d.retry_after > 0ns);
      CHECK(d.retry_after <= 60s + 20s);
    }
  });
}

TEST_CASE("the longest window counts rightly at the extremes of every clock") {
  auto const check = []<class A>(std::type_identity<A>, char const* name) {
    for (nanoseconds const t : {nanoseconds::min(), nanoseconds{-1}, 0ns, nanoseconds::max()}) {
      INFO(name << " at " << t.count());
      by_name<A> limit({per(5, longest_period)}, manual_clock{t});
      CHECK(limit.allow("ann", cost{5}));
      decision const d = limit.allow("ann");
      CHECK(d.outcome == verdict::limited);
      CHECK(d.retry_after > 0ns);
      CHECK(d.reset_after > 0ns);
      CHECK(d.reset_after <= 2 * longest_period);
      CHECK(limit.stats().keys == 1);
      limit.refund("ann", cost{2});
      CHECK(limit.peek("ann", cost{0}).remaining == 2);
      limit.refund("ann", cost{3});
      CHECK(limit.stats().keys == 0);
    }
  };
  check(std::type_identity<algorithm::fixed_window>{}, "fixed_window");
  check(std::type_identity<algorithm::sliding_counter>{}, "sliding_counter");
  check(std::type_identity<algorithm::sliding_log>{}, "sliding_log");
}

namespace {

struct seconds_clock {
  using duration = std::chrono::duration<int>;
  using time_point = std::chrono::time_point<seconds_clock, duration>;
  static time_point now() { return time_point{duration{7}}; }
};
struct fractions_clock {
  using duration = std::chrono::duration<double>;
  using time_point = std::chrono::time_point<fractions_clock, duration>;
  static time_point now() { return time_point{duration{7.25}}; }
};

}  // namespace

TEST_CASE("a clock may be coarse or count in floating point") {
  token_bucket<no_key, seconds_clock> whole({.refill = per_second(1), .burst = 2});
  CHECK(whole.allow(cost{2}));
  CHECK(whole.allow().retry_after == 1s);
  CHECK(whole.allow_at(seconds_clock::time_point{std::chrono::seconds{8}}));

  token_bucket<no_key, fractions_clock> fraction({.refill = per_second(1), .burst = 2});
  CHECK(fraction.allow(cost{2}));
  CHECK(fraction.allow_at(fractions_clock::time_point{fractions_clock::duration{7.75}}).retry_after == 500ms);
  CHECK(fraction.allow_at(fractions_clock::time_point{fractions_clock::duration{8.25}}));
  CHECK(fraction.peek_at(fractions_clock::time_point{fractions_clock::duration{1e300}}, cost{2}).outcome ==
        verdict::admitted);
}

// ---- keys -----------------------------------------------------------------------------------------------------------

namespace {
namespace shop {
enum class region : std::uint8_t { north, south };
struct customer {
  std::string name;
  int branch;
};
std::tuple<std::string_view, int> penstock_key(customer const& c) { return {c.name, c.branch}; }
}  // namespace shop
}  // namespace

namespace {

/// Two keys do not touch each other, whatever is done to one of them.
template <class Key>
void are_apart(auto const& one, auto const& other) {
  token_bucket<Key, manual_clock> limit({.refill = per_second(1), .burst = 10});
  CHECK(limit.allow_at(on(1s), one, cost{10}));
  CHECK_FALSE(limit.allow_at(on(1s), one));
  CHECK(limit.peek_at(on(1s), other, cost{0}).remaining == 10);
  CHECK(limit.allow_at(on(1s), other, cost{2}));
  limit.charge_at(on(1s), other, cost{3});
  limit.refund_at(on(1s), other, cost{1});
  CHECK(limit.peek_at(on(1s), other, cost{0}).remaining == 6);
  CHECK(limit.peek_at(on(1s), one, cost{0}).remaining == 0);
  CHECK(limit.stats().keys == 2);
  limit.forget(one);
  CHECK(limit.allow(one, cost{10}));
  CHECK(limit.peek_at(on(1s), other, cost{0}).remaining == 6);
}

}  // namespace

TEST_CASE("keys of every kind are told apart") {
  are_apart<std::uint32_t>(1, 2);
  are_apart<std::int64_t>(-1, 1);
  are_apart<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
  are_apart<std::int8_t>(std::int8_t{-128}, std::int8_t{127});
  are_apart<bool>(false, true);
  are_apart<char>('a', 'b');
  are_apart<shop::region>(shop::region::north, shop::region::south);
  are_apart<std::string>("ann", "bob");
  are_apart<std::string>("", std::string_view("\0", 1));
  are_apart<std::string_view>("ann", std::string("ann "));
  are_apart<std::array<std::byte, 16>>(std::array<std::byte, 16>{}, std::array<std::byte, 16>{std::byte{1}});
  are_apart<std::pair<std::string, int>>(std::pair<std::string, int>("ann", 1), std::pair<std::string, int>("ann", 2));
  are_apart<std::tuple<std::string, std::string>>(std::tuple<std::string, std::string>("a", "bc"),
                                                  std::tuple<std::string, std::string>("ab", "c"));
  are_apart<shop::customer>(shop::customer{"ann", 1}, shop::customer{"ann", 2});
}

TEST_CASE("joined keys are told apart where plain ones would run together") {
  token_bucket<std::string, manual_clock> limit({.refill = per_second(1), .burst = 1});
  CHECK(limit.allow(composite_key("a:b", "c")));
  CHECK(limit.allow(composite_key("a", "b:c")));
  CHECK(limit.allow(composite_key("a", "b", "c")));
  CHECK(limit.allow(composite_key("a:b:c")));
  CHECK_FALSE(limit.allow(composite_key("a:b", "c")));
}

TEST_CASE("a limiter may be asked from the first words of the README on") {
  penstock::token_bucket<std::string> per_user({.refill = per_second(5), .burst = 20}, {.max_keys = 1'000'000});
  int passed = 0;
  for (int i = 0; i < 20; ++i) passed += per_user.allow("ann") ? 1 : 0;
  CHECK(passed == 20);
  token_bucket<> site({.refill = per_day(1)});
  CHECK(site.allow());
  CHECK_FALSE(site.allow());
  CHECK(site.algorithm().size() == 1);
}

TEST_CASE("a cost that never fits changes nothing, also by a clock that was set back") {
  for_each_algorithm([]<class A>(std::type_identity<A>, char const* name) {
    INFO(name);
    manual_clock clock{1'000'000s};
    by_nobody<A> limit({ten}, clock);
    CHECK(limit.allow(cost{10}));
    clock.set(1000s);
    CHECK(limit.allow(cost{11}).outcome == verdict::never);
    clock.set(1'000'000s);
    CHECK(limit.peek(cost{0}).remaining == 0);
  });
}
