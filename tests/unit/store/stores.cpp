// store/*.hpp as one thread sees them. (The laws over every store: conformance/. Threads: concurrency/.)

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/store/lines.hpp>
#include <penstock/store/lock.hpp>
#include <penstock/store/unsynchronized.hpp>
#include <penstock/store/words.hpp>

#include "../allocations.hpp"
#include "../random.hpp"
#include "../timeline.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

using namespace penstock;
using namespace timeline;

namespace {

template <class A, class Store>
using limiter_by_id = limiter<A, std::uint64_t, manual_clock, Store>;

/// Each store of keys.
void for_each_keyed_store(auto check) {
  check(std::type_identity<store::table>{}, std::string("the table"));
  check(std::type_identity<store::sharded_map>{}, std::string("the sharded map"));
  check(std::type_identity<store::unsynchronized>{}, std::string("the unsynchronized store"));
}

/// Each algorithm in each keyed store that can hold it; ten units in ten seconds.
void for_each_keyed(auto check) {
  auto const in = [&]<class Store>(std::type_identity<Store> store, std::string const& name) {
    check(std::type_identity<algorithm::token_bucket>{}, store, "token_bucket in " + name);
    check(std::type_identity<algorithm::leaky_meter>{}, store, "leaky_meter in " + name);
    check(std::type_identity<algorithm::leaky_queue>{}, store, "leaky_queue in " + name);
    check(std::type_identity<algorithm::fixed_window>{}, store, "fixed_window in " + name);
    check(std::type_identity<algorithm::sliding_counter>{}, store, "sliding_counter in " + name);
    if constexpr (!std::is_same_v<Store, store::table>)
      check(std::type_identity<algorithm::sliding_log>{}, store, "sliding_log in " + name);
  };
  for_each_keyed_store(in);
}

}  // namespace

// ---- room and counts ------------------------------------------------------------------------------------------------

TEST_CASE("a store holds at least as many keys as it was asked to, and says how many it could") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    for (std::size_t const keys : {1U, 2U, 3U, 4U, 63U, 64U, 65U, 255U, 1'000U, 5'000U}) {
      limiter_by_id<A, Store> const limit({per(10, 10s)}, {.max_keys = keys});
      INFO(name << ", " << keys << " keys");
      CHECK(limit.stats().capacity >= keys);
      CHECK(limit.stats().keys == 0);
      if (std::is_same_v<Store, store::unsynchronized>) CHECK(limit.stats().capacity == keys);
    }
  });
}

TEST_CASE("a store counts the keys that are not fresh, and those alone") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    manual_clock clock{100s};
    limiter_by_id<A, Store> limit({per(10, 10s)}, {.max_keys = 1'000}, clock);
    INFO(name);
    for (std::uint64_t key = 0; key < 50; ++key) CHECK(limit.allow(key));
    CHECK(limit.stats().keys == 50);
    static_cast<void>(limit.peek(1'000));
    static_cast<void>(limit.allow(1'001, cost{0}));
    static_cast<void>(limit.allow(1'002, cost{11}));
    limit.refund(1'003, cost{1});
    limit.forget(1'004);
    CHECK(limit.stats().keys == 50);
    limit.forget(7);
    CHECK(limit.stats().keys == 49);
    limit.refund(8, cost{1});
    CHECK(limit.stats().keys == 48);
    clock.advance(1h);
    CHECK(limit.stats().keys == 0);
    CHECK(limit.stats().evictions == 0);
    CHECK(limit.stats().newcomers_refused == 0);
  });
}

TEST_CASE("recovered keys make room without being counted as evicted") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    limiter_by_id<A, Store> limit({per(10, 10s)}, {.max_keys = 64});
    INFO(name);
    int refused = 0;
    for (std::uint64_t round = 0; round < 400; ++round)
      for (std::uint64_t key = 0; key < 4; ++key)
        refused += limit.allow_at(on(static_cast<std::int64_t>(round) * 1h), round * 4 + key) ? 0 : 1;
    CHECK(refused == 0);
    CHECK(limit.stats().evictions == 0);
  });
}

TEST_CASE("a key that was at its limit is still refused after a crowd has passed through a store of four") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    limiter_by_id<A, Store> limit({per(1, 60s)}, {.max_keys = 4});
    INFO(name);
    CHECK(limit.allow_at(on(0s), 0));
    CHECK_FALSE(limit.allow_at(on(0s), 0));
    for (std::uint64_t key = 1; key <= 25; ++key) static_cast<void>(limit.allow_at(on(1s), key));
    CHECK_FALSE(limit.allow_at(on(2s), 0));
  });
}

TEST_CASE("whoever is dropped for another's sake is counted, and comes back to no more than it was due") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    limiter_by_id<A, Store> limit({per(10, 10s)}, {.max_keys = 4});
    INFO(name);
    std::array<std::uint64_t, 200> passed{};
    for (int round = 0; round < 20; ++round)
      for (std::uint64_t key = 0; key < passed.size(); ++key) passed[key] += limit.allow_at(on(1s), key) ? 1 : 0;
    CHECK(*std::max_element(passed.begin(), passed.end()) <= 10);
    CHECK(limit.stats().evictions > 0);
    CHECK(limit.stats().newcomers_refused == 0);
    CHECK(limit.stats().keys <= limit.stats().capacity);
    CHECK(limit.allow_at(on(1h), 0, cost{10}));  // nothing is held against anybody for ever
  });
}

// ---- when_full::refuse ----------------------------------------------------------------------------------------------

TEST_CASE("a full store that refuses newcomers tells them when there will be room, to the nanosecond") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    for (std::size_t const keys : {1U, 4U, 20U, 64U}) {
      limiter_by_id<A, Store> limit({per(10, 10s)}, {.max_keys = keys, .full = when_full::refuse});
      INFO(name << ", " << keys << " keys");
      // Old keys come at different instants, so that they recover at different instants, until one finds no room.
      nanoseconds now = 1s;
      std::uint64_t key = 0;
      for (; limit.allow_at(on(now), key); now += 1ms, ++key) REQUIRE(key < 1'000);
      CHECK(limit.stats().newcomers_refused == 1);
      std::uint64_t const late = key;

      decision const d = limit.peek_at(on(now), late);
      CHECK(d.outcome == verdict::limited);
      CHECK(d.limit == 10);
      CHECK(d.remaining == 0);
      CHECK(d.delay == 0ns);
      CHECK(d.retry_after > 0ns);
      CHECK(d.retry_after <= 20s);
      CHECK(d.next_after == d.retry_after);
      CHECK(limit.stats().newcomers_refused == 1);  // to peek is not to call
      CHECK(limit.allow_at(on(now), late) == d);
      CHECK(limit.allow_at(on(now), late) == d);
      CHECK(limit.stats().newcomers_refused == 3);
      CHECK(limit.stats().evictions == 0);

      CHECK(limit.peek_at(on(now + d.retry_after - 1ns), late).retry_after == 1ns);
      CHECK(limit.allow_at(on(now + d.retry_after - 1ns), late).outcome == verdict::limited);
      CHECK(limit.peek_at(on(now + d.retry_after), late, cost{10}).outcome == verdict::admitted);
      CHECK(limit.allow_at(on(now + d.retry_after), late).outcome == verdict::admitted);
    }
  });
}

TEST_CASE("a full store that refuses newcomers serves those it holds, and lets pass what needs no room") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    limiter_by_id<A, Store> limit({per(10, 10s)}, {.max_keys = 4, .full = when_full::refuse});
    INFO(name);
    std::uint64_t key = 0;
    for (; limit.allow_at(on(1s), key); ++key) REQUIRE(key < 1'000);
    for (std::uint64_t held = 0; held < key; ++held) CHECK(limit.allow_at(on(1s), held).remaining == 8);
    CHECK(limit.allow_at(on(1s), key, cost{0}).outcome == verdict::admitted);
    CHECK(limit.allow_at(on(1s), key, cost{0}).remaining == 0);
    CHECK(limit.allow_at(on(1s), key, cost{11}).outcome == verdict::never);
    CHECK(limit.allow_at(on(1s), key, cost{11}).retry_after == nanoseconds::max());
    limit.refund_at(on(1s), key, cost{5});
    limit.forget(key);
    CHECK(limit.peek_at(on(1s), key).outcome == verdict::limited);
    limit.forget(0);  // makes room, perhaps in another's lines: for itself in any case
    CHECK(limit.peek_at(on(1s), 0).outcome == verdict::admitted);
  });
}

TEST_CASE("a charge finds room where a call would be refused, and the bound holds all the same") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    limiter_by_id<A, Store> limit({per(10, 10s)}, {.max_keys = 4, .full = when_full::refuse});
    INFO(name);
    std::uint64_t key = 0;
    for (; limit.allow_at(on(1s), key, cost{10}); ++key) REQUIRE(key < 1'000);
    limit.charge_at(on(1s), key, cost{10});
    CHECK(limit.stats().evictions == 1);
    CHECK(limit.peek_at(on(1s), key).outcome == verdict::limited);
    int passed = 0;
    for (std::uint64_t any = 0; any <= key; ++any) passed += limit.allow_at(on(1s), any) ? 1 : 0;
    CHECK(passed == 0);
  });
}

TEST_CASE("the wait for room is exact still when charges have pushed others out") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    limiter_by_id<A, Store> limit({per(10, 10s)}, {.max_keys = 64, .full = when_full::refuse});
    INFO(name);
    std::uint64_t key = 0;
    for (; key < 1'000; ++key) static_cast<void>(limit.allow_at(on(1s), key, cost{key % 10 == 0 ? 1U : 10U}));
    for (; key < 1'050; ++key) limit.charge_at(on(1s), key, cost{10});
    int early = 0, late = 0;
    for (; key < 2'000; ++key) {
      decision const d = limit.peek_at(on(1s), key, cost{10});
      if (d.outcome != verdict::limited) continue;
      if (limit.peek_at(on(1s) + d.retry_after - 1ns, key, cost{10})) ++late;
      if (!limit.peek_at(on(1s) + d.retry_after, key, cost{10})) ++early;
    }
    CHECK(early == 0);
    CHECK(late == 0);
  });
}

// ---- the table ------------------------------------------------------------------------------------------------------

TEST_CASE("a key may live in two different lines of one shard, the same ones every time") {
  auto const check = []<class A>(std::type_identity<A>, std::size_t keys) {
    detail::table_layout<typename A::state> const t(keys);
    dice random(19);
    int same = 0, unaligned = 0, strayed = 0, moved = 0;
    for (int i = 0; i < 20'000; ++i) {
      fingerprint const f{random.bits(), i % 3 == 0   ? random.bits() & 0xffff'ffff
                                         : i % 3 == 1 ? random.bits() << 32
                                                      : random.bits()};
      auto const p = t.find(f), again = t.find(f);
      if (p.left == p.right) ++same;
      std::size_t const of = static_cast<std::size_t>(p.shard - t.head_at(0));
      for (auto const* l : {p.left, p.right}) {
        if (reinterpret_cast<std::uintptr_t>(l) % 64 != 0) ++unaligned;
        if (static_cast<std::size_t>(l - t.line_at(0)) / t.lines_in_shard() != of) ++strayed;
      }
      if (p.left != again.left || p.right != again.right || p.shard != again.shard || p.tag != f.tag) ++moved;
    }
    INFO(keys << " keys");
    CHECK(same == 0);
    CHECK(unaligned == 0);
    CHECK(strayed == 0);
    CHECK(moved == 0);
  };
  for (std::size_t const keys : {1U, 4U, 100U, 1'000U, 10'000U, 100'000U}) {
    check(std::type_identity<algorithm::token_bucket>{}, keys);
    check(std::type_identity<algorithm::fixed_window>{}, keys);
  }
}

TEST_CASE("lines are picked evenly, by bits that do not follow one another") {
  detail::table_layout<algorithm::token_bucket::state> const t(1'000);
  dice random(20);
  std::vector<void const*> picked;
  std::vector<std::pair<void const*, void const*>> both;
  constexpr int keys = 100'000;
  for (int i = 0; i < keys; ++i) {
    auto const p = t.find({0, random.bits()});
    picked.push_back(p.left);
    picked.push_back(p.right);
    both.emplace_back(p.left, p.right);
  }
  std::sort(picked.begin(), picked.end());
  std::vector<std::size_t> runs;  // how many keys each line was picked for
  for (std::size_t i = 0; i < picked.size();) {
    std::size_t j = i;
    while (j < picked.size() && picked[j] == picked[i]) ++j;
    runs.push_back(j - i);
    i = j;
  }
  std::size_t const mean = picked.size() / runs.size();
  CHECK(runs.size() > 400);
  CHECK(*std::max_element(runs.begin(), runs.end()) < 2 * mean);
  CHECK(*std::min_element(runs.begin(), runs.end()) > mean / 2);
  // Were the second line a function of the first, there would be as many pairs as lines.
  std::sort(both.begin(), both.end());
  CHECK(std::unique(both.begin(), both.end()) - both.begin() > keys / 10);
}

TEST_CASE("a table allocates nothing after its construction, and is not larger when it is full") {
  token_bucket<std::string, manual_clock> limit({.refill = per_second(1), .burst = 10}, {.max_keys = 1'000});
  std::string key = "some text that is longer than the buffer of a string 0000000";
  std::uint64_t refused = 0;
  auto const taken = allocations_of([&] {
    for (int i = 0; i < 100'000; ++i) {
      for (std::size_t digit = key.size(); ++key[--digit] > '9';) key[digit] = '0';
      refused += limit.allow_at(on(1s), key) ? 0 : 1;
    }
  });
  CHECK(taken.made == 0);
  CHECK(100'000 - refused <= 10 * limit.stats().capacity);  // newcomers inherit what was dropped
  CHECK(limit.stats().evictions > 0);
  CHECK(limit.stats().keys <= limit.stats().capacity);
}

TEST_CASE("every key is a good key for a table, zero and all ones too") {
  for (std::uint64_t const key : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    token_bucket<std::uint64_t, manual_clock> limit({.refill = per_second(1), .burst = 2}, {.max_keys = 1});
    CHECK(limit.allow_at(on(1s), key));
    CHECK(limit.allow_at(on(1s), key));
    CHECK_FALSE(limit.allow_at(on(1s), key));
    CHECK(limit.stats().keys == 1);
    limit.forget(key);
    CHECK(limit.stats().keys == 0);
    CHECK(limit.allow_at(on(1s), key, cost{2}));
  }
}

TEST_CASE("a tag of zero is a tag like any other, though slots never used have it") {
  store::table::of<algorithm::token_bucket, std::uint64_t> t(store_options{.max_keys = 4});
  algorithm::token_bucket const a({.refill = per_second(1), .burst = 3});
  auto const take = [&](fingerprint f) {
    bool passed = false;
    static_cast<void>(t.change(a, t.locate(f), instant{1s}, [&](auto& s) {
      passed = a.admits(s, instant{1s}, cost{1});
      if (passed) a.charge(s, instant{1s}, cost{1});
      return passed;
    }));
    return passed;
  };
  for (fingerprint const f : {fingerprint{1, 0}, fingerprint{0, 0}, fingerprint{2, 0}}) {
    INFO(f.tag);
    CHECK((take(f) && take(f) && take(f)));
    CHECK_FALSE(take(f));
  }
  CHECK_FALSE(take({0, 0}));
  CHECK(t.stats(a, instant{1s}).keys == 3);
}

TEST_CASE("two lines find a tag, and only whole tags") {
  auto const check = []<class State>(std::type_identity<State>) {
    using line = detail::slot_line<State>;
    static_assert(sizeof(line) == 64 && alignof(line) == 64);
    line lines[2]{};
    std::uint64_t const halves[] = {0, 1, 0xffff'ffff, 0x8000'0000};
    dice random(21);
    int wrong = 0;
    auto const tag = [&] { return halves[random.below(4)] << 32 | halves[random.below(4)]; };
    for (int i = 0; i < 100'000; ++i) {
      for (auto& l : lines)
        for (auto& t : l.tags) t.store(tag());
      std::uint64_t const wanted = tag();
      std::size_t expected = 0;
      auto const at = [&] { return lines[expected / line::slots].tags[expected % line::slots].load(); };
      while (expected < 2 * line::slots && at() != wanted) ++expected;
      if (line::find(lines[0], lines[1], wanted) != expected) ++wrong;
    }
    CHECK(wrong == 0);
  };
  check(std::type_identity<algorithm::token_bucket::state>{});
  check(std::type_identity<algorithm::fixed_window::state>{});
  CHECK(detail::slot_line<algorithm::token_bucket::state>::slots == 4);
  CHECK(detail::slot_line<algorithm::fixed_window::state>::slots == 2);
}

TEST_CASE("lines begin zeroed, on a border of 64 bytes") {
  for (std::size_t const count : {1U, 3U, 1'000U, 70'000U}) {
    detail::zeroed_lines const memory(count);
    using line = detail::slot_line<algorithm::token_bucket::state>;
    CHECK(reinterpret_cast<std::uintptr_t>(memory.at<line>(0)) % 64 == 0);
    int used = 0;
    for (std::size_t i = 0; i < count; ++i)
      for (auto const& t : memory.at<line>(i)->tags) used += t.load() == 0 ? 0 : 1;
    CHECK(used == 0);
  }
}

// ---- words and the lock ---------------------------------------------------------------------------------------------

TEST_CASE("a state goes through words unchanged") {
  detail::atomic_words<algorithm::fixed_window::state> two;
  CHECK(two.load() == algorithm::fixed_window::state{});
  two.store({.end = -5, .count = 7});
  CHECK(two.load() == algorithm::fixed_window::state{.end = -5, .count = 7});

  detail::atomic_words<algorithm::token_bucket::state> one;
  algorithm::token_bucket::state seen{1};
  CHECK_FALSE(one.replace(seen, {2}));
  CHECK(seen.word == 0);  // what is there
  while (!one.replace(seen, {2})) {
  }
  CHECK(one.load().word == 2);
}

TEST_CASE("a sequence lock tells a reader whether anybody wrote meanwhile") {
  detail::sequence_lock lock;
  std::uint64_t const version = lock.read_begin();
  CHECK(lock.unchanged_since(version));
  lock.lock();
  CHECK_FALSE(lock.unchanged_since(version));
  CHECK_FALSE(lock.lock_at(version));
  lock.unlock();
  CHECK_FALSE(lock.unchanged_since(version));
  CHECK_FALSE(lock.lock_at(version));
  std::uint64_t const next = lock.read_begin();
  CHECK(next != version);
  CHECK(lock.lock_at(next));
  lock.unlock();
  CHECK(lock.consistent([] { return 42; }) == 42);
}

// ---- what stores share ----------------------------------------------------------------------------------------------

TEST_CASE("a bounded map allocates nothing once it is full, however keys come and go") {
  limiter_by_id<algorithm::token_bucket, store::unsynchronized> limit({.refill = per_second(1), .burst = 1},
                                                                      {.max_keys = 100});
  nanoseconds now = 0s;
  for (std::uint64_t key = 0; key < 1'000; ++key) static_cast<void>(limit.allow_at(on(now += 1ms), key));
  auto const before = allocations_so_far().bytes;
  for (std::uint64_t key = 1'000; key < 20'000; ++key) static_cast<void>(limit.allow_at(on(now += 10ms), key));
  CHECK(allocations_so_far().bytes <= before);
}

TEST_CASE("an unkeyed limiter has room for one and is always held") {
  auto const check = []<class Store>(std::type_identity<Store>) {
    manual_clock clock{1s};
    sliding_log<no_key, manual_clock, Store> log({.limit = per(3, 10s)}, clock);
    fixed_window<no_key, manual_clock, Store> window({.limit = per(3, 10s)}, clock);
    token_bucket<no_key, manual_clock, Store> bucket({.refill = per(3, 10s)}, clock);
    auto const counts = [&](auto& limit) {
      CHECK(limit.stats().capacity == 1);
      CHECK(limit.stats().keys == 0);
      CHECK(limit.allow());
      CHECK(limit.stats().keys == 1);
      limit.forget();
      CHECK(limit.stats().keys == 0);
      CHECK(limit.allow(cost{3}));
      CHECK_FALSE(limit.allow());
      limit.refund(cost{3});
      CHECK(limit.stats().keys == 0);
    };
    counts(log);
    counts(window);
    counts(bucket);
  };
  check(std::type_identity<store::cell>{});
  check(std::type_identity<store::unsynchronized>{});
}

TEST_CASE("a key whose tag is zero, or that was forgotten, starts from the floor like any newcomer") {
  algorithm::leaky_meter const meter({.drain = per(3, 10s), .capacity = 4});
  store::table::of<algorithm::leaky_meter, std::uint64_t> table(store_options{.max_keys = 100});
  auto const admits = [&](fingerprint key, cost c) {
    bool passed = false;
    static_cast<void>(table.change(meter, key, instant{1s}, [&](auto& s) {
      passed = meter.admits(s, instant{1s}, c);
      if (passed) meter.charge(s, instant{1s}, c);
      return passed;
    }));
    return passed;
  };
  std::uint64_t last = 0;  // in two lines, until one that has used three of four is dropped
  while (table.stats(meter, instant{1s}).evictions == 0)
    if (++last; !admits({last, 0}, cost{3})) REQUIRE(admits({last, 0}, cost{1}));
  // The last lines of the same shard, whose slots nobody has used: their tags are zero.
  fingerprint const never_seen{0, 0xffff'ffff'ffff};
  REQUIRE(table.touched_by(never_seen).shard == table.touched_by({1, 0}).shard);
  CHECK_FALSE(admits(never_seen, cost{2}));
  CHECK(admits(never_seen, cost{1}));
  table.forget({last, 0});
  CHECK_FALSE(admits({last, 0}, cost{2}));
  CHECK(admits({last, 0}, cost{1}));
}

TEST_CASE("a key that is given all its units back is still held, and no newcomer") {
  for_each_keyed([]<class A, class Store>(std::type_identity<A>, std::type_identity<Store>, std::string const& name) {
    INFO(name);
    manual_clock clock{1000s};
    limiter_by_id<A, Store> limit({per(2, 10h)}, {.max_keys = 64}, clock);
    for (std::uint64_t key = 0; key < 100; ++key) (void)limit.allow(key);
    clock.advance(30h);
    auto const before = limit.stats().evictions;
    for (std::uint64_t key = 1000; key < 1400 && limit.stats().evictions == before; ++key) (void)limit.allow(key);
    REQUIRE(limit.stats().evictions > before);
    int held = 0;
    for (std::uint64_t key = 0; key < 100; ++key) {
      if (!limit.peek(key, cost{2})) continue;  // a newcomer that starts from the floor
      ++held;
      limit.undo(limit.take(clock.now(), key, cost{1}));
      CHECK(limit.peek(key, cost{2}));
    }
    CHECK(held > 0);
  });
}

TEST_CASE("a newcomer that starts from another's window gets its own units back") {
  for_each_keyed_store([]<class Store>(std::type_identity<Store>, std::string const& name) {
    INFO(name);
    manual_clock clock{1000s};
    limiter_by_id<algorithm::fixed_window, Store> limit({per(10, 60s), window_start::first_request}, {.max_keys = 1},
                                                        clock);
    std::uint64_t key = 0;
    while (limit.stats().evictions == 0) CHECK(limit.allow(++key, cost{3}));
    clock.advance(10s);
    std::uint64_t const left = limit.peek(++key, cost{0}).remaining;
    auto ticket = limit.take(clock.now(), key, cost{4});
    CHECK(ticket.answer.remaining == left - 4);
    limit.undo(std::move(ticket));
    CHECK(limit.peek(key, cost{0}).remaining == left);
  });
}

TEST_CASE("a newcomer to a full store that the clock left behind is told how long, once") {
  for_each_keyed_store([]<class Store>(std::type_identity<Store>, std::string const& where) {
    INFO(where);
    manual_clock clock{1'000'000s};
    limiter<algorithm::token_bucket, std::uint64_t, manual_clock, Store> limit(
        {.refill = per_second(1), .burst = 5}, {.max_keys = 1, .full = when_full::refuse}, clock);
    std::uint64_t key = 0;
    for (; key < 2000; ++key) limit.charge(key, cost{5});  // every place is taken, and every floor
    clock.set(1000s);
    for (std::uint64_t old = 0; old < 2000; ++old) (void)limit.allow(old);
    for (int i = 0; i < 5; ++i) {
      decision const told = limit.peek(++key), d = limit.allow(key);
      CHECK(told == d);
      if (d) continue;
      CHECK(d.retry_after <= 5s);
      clock.advance(d.retry_after);
      CHECK(limit.allow(key));
    }
  });
}

TEST_CASE("newcomers take what is free before what the clock left behind") {
  manual_clock clock{100'000s};
  limiter<algorithm::token_bucket, std::uint64_t, manual_clock> limit({.refill = per_minute(1), .burst = 1},
                                                                      {.max_keys = 4096}, clock);
  for (std::uint64_t key = 0; key < 1500; ++key) CHECK(limit.allow(key));
  clock.set(90'000s);
  for (std::uint64_t key = 5000; key < 5600; ++key) CHECK(limit.allow(key));
}
