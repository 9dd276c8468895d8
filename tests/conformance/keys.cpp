// Many keys in little room: the table beside a map without end, floods of keys, and what a call may touch.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiter.hpp>

#include "subjects.hpp"
#include "unit/allocations.hpp"

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

using namespace conformance;

namespace {

penstock::instant on(nanoseconds t) { return penstock::instant{t}; }

// ---- beside a map without end ---------------------------------------------------------------------------------------

/// Random steps over keys that come and go: while nothing is dropped, every decision is that of a map of bare states.
template <class Row>
void beside_a_map(store_kind where, shape const& s, std::size_t how_many) {
  INFO(s << ", over " << name_of(where));
  auto const a = algorithm_of<Row>(s);
  units const size = Row::size(a);
  auto const limiter = make<Row>(where, s, 0ns, {.max_keys = 4'000});
  struct entry {
    typename Row::state state{};
    nanoseconds charged{};
  };
  std::unordered_map<subject::key, entry> all;
  dice d(31);
  readings clock(d, readings::honesty::forward, Row{}, a);
  for (std::size_t i = 0; i < how_many; ++i) {
    nanoseconds const now = d.below(16) == 0 ? clock.next() : clock.newest();
    // Three hundred keys at a time, other ones every so often: their slots change hands.
    auto const key = static_cast<subject::key>(i / 20'000 * 100 + d.below(d.below(2) == 0 ? 300 : 20));
    units const n = some_cost(d, size);
    penstock::cost const c{n};
    auto& [state, charged] = all[key];
    step const here{s, i, n, now};
    switch (d.below(32)) {
      case 0:
        limiter->charge(now, n, key);
        a.charge(state, on(now), c);
        break;
      case 1:
      case 2:
        limiter->refund(charged, n, key);
        a.refund(state, on(charged), c);
        break;
      case 3:
        if (d.below(4) != 0) break;
        limiter->forget(key);
        state = {};
        break;
      case 4: {
        decision const answer = limiter->peek(now, n, key), expected = a.describe(state, on(now), c);
        HOLD("key " << key << ", " << here, answer == expected);
        break;
      }
      default: {
        decision const answer = limiter->allow(now, n, key), expected = a.describe(state, on(now), c);
        HOLD("key " << key << ", " << here, answer == expected);
        if (answer && n != 0) {
          a.charge(state, on(now), c);
          charged = now;
        }
      }
    }
  }
  CHECK(limiter->stats().evictions == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("every decision is that of a map without end, while nothing is dropped", "[keys]", EVERY_ALGORITHM) {
  for (shape const& s : std::vector<shape>{{7, 1000ns, 9}, {3, 10s, 3}, {3, 200s, 5}})
    for (store_kind const where : TestType::stores())
      if (is_keyed(where)) beside_a_map<TestType>(where, s, steps(where == store_kind::table ? 600'000 : 60'000));
}

TEST_CASE("ten million steps on the table are those of a map without end", "[keys]") {
  beside_a_map<token_bucket>(store_kind::table, {12'345, 1s, 40}, steps(10'000'000));
}

TEMPLATE_TEST_CASE("newcomers are bound by what was dropped before it recovered, and by nothing else", "[keys]",
                   EVERY_ALGORITHM) {
  for (shape const& s : std::vector<shape>{{7, 1000ns, 9}, {5, 10s, 5}})
    for (store_kind const where : TestType::stores()) {
      if (!is_keyed(where)) continue;
      INFO(s << ", over " << name_of(where));
      auto const a = algorithm_of<TestType>(s);
      auto const limiter = make<TestType>(where, s, 0ns, {.max_keys = 200});

      // Most of the room goes to keys that use up all they have. When they have recovered, their traces are still
      // there.
      for (subject::key k = 0; k < 100; ++k) static_cast<void>(limiter->allow(0ns, TestType::size(a), k));
      nanoseconds const recovered = 2 * TestType::full(a);

      // Others come and use one unit each. Nobody starts with less than the one who had the least since then.
      units least = make<TestType>(where, s)->peek(recovered, 0).remaining;
      for (subject::key k = 1'000; k < 2'000 && least > 0; ++k) {
        units const found = limiter->peek(recovered, 0, k).remaining;
        if (found < least)
          FAIL_CHECK("newcomer " << k << " finds " << found << ", others had at least " << least << " left");
        if (found < least) break;
        least = std::min(least, limiter->allow(recovered, 1, k).remaining);
      }
    }
}

TEMPLATE_TEST_CASE("a reading that lags gains nothing when another key has taken the place meanwhile", "[keys]",
                   EVERY_ALGORITHM) {
  for (store_kind const where : TestType::stores()) {
    if (!is_keyed(where)) continue;
    for (int evicting = 0; evicting < 2; ++evicting) {
      shape const s{3, 10s, 3};
      INFO("over " << name_of(where) << (evicting ? ", by dropping" : ", by taking the place of the recovered"));
      auto const a = algorithm_of<TestType>(s);
      units const size = TestType::size(a);
      auto const limiter = make<TestType>(where, s, 0ns, {.max_keys = 4});
      CHECK(limiter->allow(0ns, size, 1));
      nanoseconds const recovered = limiter->peek(0ns, 0, 1).reset_after;
      if (evicting)
        for (subject::key k = 100; k < 200; ++k) static_cast<void>(limiter->allow(1ns, size, k));
      for (subject::key k = 1'000; k < 1'100; ++k) static_cast<void>(limiter->allow(recovered + 1ns, size, k));
      // 2 ns behind: at that instant the key was not recovered.
      CHECK_FALSE(limiter->allow(recovered - 1ns, size, 1));
    }
  }
}

// ---- floods ---------------------------------------------------------------------------------------------------------

namespace {

std::size_t memory_in_use() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  if constexpr (!sanitized) {
    struct mallinfo2 const all = mallinfo2();
    return all.uordblks + all.hblkhd;
  }
#endif
  return 0;
}

}  // namespace

TEMPLATE_TEST_CASE("a flood of fresh keys takes no memory, and no key gets more than it is due", "[flood]",
                   EVERY_ALGORITHM) {
  // No key recovers while it lasts, so that each must be held to what a key may have at once.
  shape const s{3, 600s, 3};
  auto const a = algorithm_of<TestType>(s);
  std::size_t const keys = steps(1'000'000);
  units const most = TestType::size(a);
  store_kind const where =
      penstock::store::fits_table<typename TestType::state> ? store_kind::table : store_kind::sharded_map;
  auto const limiter = make<TestType>(where, s, 0ns, {.max_keys = 1'000});
  std::vector<std::uint8_t> admitted(keys);
  dice d(41);

  auto const at = [](std::size_t i) { return nanoseconds(static_cast<std::int64_t>(i)); };
  auto const hit = [&](std::size_t i, std::uint64_t key) {
    if (limiter->allow(at(i), 1, static_cast<subject::key>(key))) ++admitted[key];
  };
  for (int i = 0; i < 5; ++i) hit(0, 7);  // at its limit before all others come
  CHECK(admitted[7] == most);
  std::size_t const before = memory_in_use();
  bool never_again = true;
  allocations const taken = allocations_of([&] {
    for (std::size_t i = 0; i < keys; ++i) {
      hit(i, i);
      if (i % 4 == 0) hit(i, d.below(i + 1));                              // somebody who was there
      if (i % 4 == 1) hit(i, i - std::min<std::size_t>(i, d.below(500)));  // not long ago
      if (2 * i > keys && i % 128 == 0)
        limiter->charge(at(i), 2 * most,
                        static_cast<subject::key>(keys + i));  // in debt: even a key at its limit must make room
      if (i % 64 == 0) never_again = never_again && !limiter->allow(at(i), 1, 7);
    }
  });
  if constexpr (penstock::store::fits_table<typename TestType::state>) {
    CHECK(taken.made == 0);
    CHECK(memory_in_use() == before);
  } else {
    CHECK(taken.bytes < 1'200'000);
  }
  CHECK(never_again);
  CHECK(*std::max_element(admitted.begin(), admitted.end()) <= most);
  CHECK(limiter->stats().evictions > 100);
  CHECK(limiter->stats().keys <= limiter->stats().capacity);
}

namespace {

/// A key that was dropped comes back into a window that others began, so its windows cannot be told from its own
/// requests: but two of them at most meet in one period.
template <class Row>
auto flood_bound_of(shape const& s, typename Row::algorithm const& a) {
  if constexpr (std::is_same_v<Row, first_request_window>)
    return bounds(oracle::bound::sliding_log(2 * s.count, s.period.count()));
  else
    return Row::bound_of(s, a);
}

}  // namespace

TEMPLATE_TEST_CASE("in a flood that goes on while keys recover, law 2 holds for every single key", "[flood]",
                   EVERY_ALGORITHM) {
  for (shape const& s : std::vector<shape>{{7, 1000ns, 9}, {3, 10s, 3}}) {
    auto const a = algorithm_of<TestType>(s);
    units const size = TestType::size(a);
    constexpr std::size_t keys = 400;
    using checker = decltype(flood_bound_of<TestType>(s, a));
    std::vector<checker> bounds(keys, flood_bound_of<TestType>(s, a));
    for (store_kind const where : TestType::stores()) {
      if (!is_keyed(where)) continue;
      INFO(s << ", over " << name_of(where));
      std::vector<checker> bound(bounds);
      auto const limiter = make<TestType>(where, s, 0ns, {.max_keys = 20});
      dice d(43);
      nanoseconds now = 0ns;
      units all = 0;
      for (std::size_t i = 0; i < steps(150'000); ++i) {
        now += d.up_to(TestType::full(a) / 100);
        auto const k = static_cast<subject::key>(d.below(d.below(2) == 0 ? keys : 30));
        units const c = 1 + d.below(d.below(4) == 0 ? size : 2);
        decision const answer = limiter->allow(now, c, k);
        if (!answer) continue;
        bound[k].admit(now, c, answer.delay);
        all += c;
      }
      CHECK(all > 0);
      CHECK(limiter->stats().evictions > 0);
      CHECK(std::all_of(bound.begin(), bound.end(), [](auto const& b) { return b.holds(); }));
    }
  }
}

TEMPLATE_TEST_CASE("a store that refuses newcomers drops nobody, and tells them when to come back", "[flood]",
                   EVERY_ALGORITHM) {
  shape const s{3, 10s, 3};
  auto const a = algorithm_of<TestType>(s);
  units const size = TestType::size(a);
  for (store_kind const where : TestType::stores()) {
    if (!is_keyed(where)) continue;
    INFO("over " << name_of(where));
    auto const limiter = make<TestType>(where, s, 0ns, {.max_keys = 30, .full = penstock::when_full::refuse});
    std::map<subject::key, typename TestType::model> models;
    dice d(47);
    nanoseconds now = 0ns;
    std::uint64_t refused = 0;
    bool held = true;
    for (std::size_t i = 0; i < steps(20'000) && held; ++i) {
      now += d.up_to(TestType::full(a) / 100);
      auto const k = static_cast<subject::key>(d.below(500));
      units const c = 1 + d.below(size);
      std::uint64_t const before = limiter->stats().newcomers_refused;
      decision const peeked = limiter->peek(now, c, k), answer = limiter->allow(now, c, k);
      auto& model = models.try_emplace(k, TestType::model_of(a)).first->second;
      step const here{s, i, c, now};
      INFO("key " << k << ", " << here);
      held = peeked == answer;
      if (limiter->stats().newcomers_refused == before) {
        held = held && answer == as_decision(model.ask(now.count(), c));
      } else {
        ++refused;
        held = held && answer.outcome == verdict::limited && answer.retry_after > 0ns && answer.remaining == 0 &&
               answer.limit == limiter->peek(now, 0, k).limit &&
               limiter->peek(now + answer.retry_after, c, k).outcome == verdict::admitted &&
               limiter->peek(now + answer.retry_after - 1ns, c, k).outcome == verdict::limited &&
               limiter->allow(now, size + 1, k).outcome == verdict::never &&
               limiter->allow(now, 0, k).outcome == verdict::admitted;
      }
      if (!held) CHECK(held);
    }
    CHECK(refused > 0);
    CHECK(limiter->stats().evictions == 0);
  }
}

TEMPLATE_TEST_CASE("four keys: a at its limit stays refused though 25 others have come", "[flood]", EVERY_ALGORITHM) {
  for (store_kind const where : TestType::stores()) {
    if (!is_keyed(where)) continue;
    INFO("over " << name_of(where));
    auto const limiter = make<TestType>(where, {1, 60s, 1}, 0ns, {.max_keys = 4});
    CHECK(limiter->stats().capacity >= 4);
    CHECK(limiter->allow(0s, 1, 0).outcome == verdict::admitted);
    CHECK(limiter->allow(0s, 1, 0).outcome == verdict::limited);
    for (subject::key other = 1; other <= 25; ++other) static_cast<void>(limiter->allow(1s, 1, other));
    CHECK(limiter->allow(2s, 1, 0).outcome == verdict::limited);
    CHECK(limiter->stats().keys <= limiter->stats().capacity);
  }
}

TEMPLATE_TEST_CASE("there is room for max_keys keys", "[flood]", EVERY_ALGORITHM) {
  for (std::size_t const most : {1U, 2U, 3U, 5U, 100U, 1'000U, 20'000U})
    for (store_kind const where : TestType::stores()) {
      if (!is_keyed(where)) continue;
      auto const limiter = make<TestType>(where, {3, 10s, 3}, 0ns, {.max_keys = most});
      INFO(most << " keys over " << name_of(where));
      CHECK(limiter->stats().capacity >= most);
      std::size_t held_back = 0;
      for (subject::key k = 0; k < most; ++k) held_back += !limiter->allow(0s, 3, k);
      CHECK(limiter->stats().keys + held_back + limiter->stats().evictions >= most);
      // Lines of four one-word states overflow for under 0.1 % of random keys, lines of two for less than 2 %.
      bool const four_in_a_line = where != store_kind::table || sizeof(typename TestType::state) == 8;
      CHECK(held_back + limiter->stats().evictions <= 2 + most / (four_in_a_line ? 1'000 : 50));
    }
}

TEMPLATE_TEST_CASE("limits of 500 and of 5000 take the same memory", "[memory]", aligned_window, first_request_window,
                   sliding_counter, token_bucket, leaky_meter, leaky_queue, bucket_and_window) {
  auto const memory_of = [](units limit) {
    std::array<std::ptrdiff_t, 3> bytes{};
    std::size_t which = 0;
    for (auto const where : {store_kind::cell, store_kind::table, store_kind::sharded_map}) {
      std::unique_ptr<subject> limiter;
      bytes[which++] = allocations_of([&] {
                         limiter = make<TestType>(where, {limit, 60s, limit});
                         for (units i = 0; i < limit; ++i)
                           static_cast<void>(limiter->allow(nanoseconds(static_cast<std::int64_t>(i)), 1));
                       }).bytes;
    }
    return bytes;
  };
  CHECK(memory_of(500) == memory_of(5'000));
}

TEMPLATE_TEST_CASE("no call allocates", "[memory]", token_bucket, aligned_window, bucket_and_window) {
  shape const s{3, 10s, 3};
  penstock::limiter<typename TestType::algorithm, std::string, penstock::manual_clock> by_text(TestType::config(s),
                                                                                               {.max_keys = 100});
  std::string const text(40, 'a');
  allocations const taken = allocations_of([&] {
    for (int i = 0; i < 100; ++i) {
      auto const at = penstock::manual_clock::time_point{i * 100ms};
      static_cast<void>(by_text.allow_at(at, text));
      static_cast<void>(by_text.allow_at(at, "a literal that would not fit the inline buffer of a string"));
      static_cast<void>(by_text.peek_at(at, text));
      by_text.charge_at(at, text, penstock::cost{1});
      by_text.refund_at(at, text, penstock::cost{1});
      by_text.undo(by_text.take(at, text, penstock::cost{1}));
      by_text.forget(text);
      static_cast<void>(by_text.stats());
    }
  });
  CHECK(taken.made == 0);
}

// ---- what a call may touch ------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("a call can touch two lines of its key's shard, always the same", "[table]", token_bucket,
                   leaky_queue, aligned_window, bucket_and_window) {
  for (std::size_t const keys : {1U, 4U, 100U, 1'000U, 10'000U, 200'000U}) {
    penstock::store::table::of<typename TestType::algorithm, std::uint64_t> const table({.max_keys = keys});
    dice d(51);
    struct run {
      std::uintptr_t first = std::numeric_limits<std::uintptr_t>::max(), last = 0;
    };
    std::map<void const*, run> shards;
    bool two_lines = true, same_again = true, aligned = true;
    for (std::size_t i = 0; i < 20 * keys + 1'000; ++i) {
      penstock::fingerprint const f{d.bits(), d.bits()};
      auto const p = table.touched_by(f), again = table.touched_by(f);
      two_lines = two_lines && p.left != p.right;
      same_again = same_again && p.shard == again.shard && p.left == again.left && p.right == again.right;
      for (auto const* const line : {p.left, p.right}) {
        auto const at = reinterpret_cast<std::uintptr_t>(line);
        aligned = aligned && at % 64 == 0 && sizeof(*line) == 64;
        auto& of = shards[p.shard];
        of.first = std::min(of.first, at);
        of.last = std::max(of.last, at);
      }
    }
    INFO(keys << " keys");
    CHECK(two_lines);
    CHECK(same_again);
    CHECK(aligned);
    // Runs do not overlap, and together they are all there is.
    std::set<std::pair<std::uintptr_t, std::uintptr_t>> runs;
    for (auto const& [head, of] : shards) runs.insert({of.first, of.last});
    CHECK(runs.size() == shards.size());
    std::uintptr_t before = 0, lines = 0;
    for (auto const& [first, last] : runs) {
      CHECK(first > before);
      before = last;
      lines += (last - first) / 64 + 1;
    }
    auto const a = algorithm_of<TestType>({3, 10s, 3});
    std::size_t const slots = 64 / (8 + sizeof(typename TestType::state));
    CHECK(lines * slots == table.stats(a, on(0ns)).capacity);
    // But for rounding each shard to whole lines:
    CHECK((shards.size() + lines) * 64 <=
          keys * (sizeof(typename TestType::state) == 8 ? 28 : 60) + (shards.size() + 3) * 64);
  }
}

TEMPLATE_TEST_CASE("a refusal writes to no line and to no shard head, an admission to one line at most", "[table]",
                   token_bucket, leaky_queue, aligned_window, bucket_and_window) {
  shape const s{3, 10s, 3};
  auto const a = algorithm_of<TestType>(s);
  penstock::store::table::of<typename TestType::algorithm, std::uint64_t> table({.max_keys = 40});
  auto const memory = [&](auto const& p) {
    std::array<std::array<unsigned char, 64>, 3> bytes;
    std::memcpy(bytes[0].data(), static_cast<void const*>(p.shard), 64);
    std::memcpy(bytes[1].data(), static_cast<void const*>(p.left), 64);
    std::memcpy(bytes[2].data(), static_cast<void const*>(p.right), 64);
    return bytes;
  };
  dice d(53);
  nanoseconds newest = 0ns;
  std::size_t refusals = 0;
  for (std::size_t i = 0; i < 20'000; ++i) {
    newest += d.up_to(100ms);
    nanoseconds const now = newest - (d.below(4) == 0 ? d.up_to(10s) : 0ns);
    std::uint64_t const key = d.below(100) * 0x9e37'79b9'7f4a'7c15;
    penstock::fingerprint const f{key, key};
    auto const p = table.touched_by(f);
    auto const before = memory(p);
    bool admitted = false;
    table.change(a, f, on(now), [&](auto& state) {
      admitted = a.admits(state, on(now), penstock::cost{1});
      if (admitted) a.charge(state, on(now), penstock::cost{1});
      return admitted;
    });
    auto const after = memory(p);
    refusals += !admitted;
    bool const right = admitted ? (before[1] == after[1]) != (before[2] == after[2]) : before == after;
    if (!right) FAIL("step " << i << (admitted ? ", admitted" : ", refused"));
  }
  CHECK(refusals > 1'000);
}

// ---- batches --------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("a batch is answered as single calls are", "[batch]", EVERY_ALGORITHM) {
  shape const s{3, 10s, 3};
  auto const a = algorithm_of<TestType>(s);
  for (store_kind const where : TestType::stores()) {
    if (!is_keyed(where)) continue;
    INFO("over " << name_of(where));
    dice d(61);
    // Two limiters place their keys alike, so they drop the same ones, too.
    auto const batched = make<TestType>(where, s, 0ns, {.max_keys = 30});
    auto const single = make<TestType>(where, s, 0ns, {.max_keys = 30});
    nanoseconds now = 0ns;
    for (std::size_t round = 0; round < 400; ++round) {
      std::vector<subject::key> keys(d.below(70));
      for (auto& key : keys) key = static_cast<subject::key>(d.below(round % 2 == 0 ? 10 : 100));
      std::vector<decision> answers(keys.size() + 2);
      units const c = d.below(TestType::size(a) + 2);
      batched->allow_each(now, keys, std::span(answers).first(keys.size()), c);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        decision const expected = single->allow(now, c, keys[i]);
        HOLD("round " << round << ", key " << i, answers[i] == expected);
      }
      REQUIRE(answers[keys.size()] == decision{});  // nothing behind the end
      now += d.up_to(1s);
    }
  }
}
