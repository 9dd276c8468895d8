// limiter::allow_each and limiter::for_each: many keys at once.

#include "subjects.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

using namespace composition;

TEST_CASE("allow_each answers what single calls answer, in their order, on every store") {
  for_each_store([]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    for_each_algorithm([]<class A>(std::type_identity<A>) {
      limiter<A, std::string, manual_clock, Store> batched({ten}, {.max_keys = 40}), single({ten}, {.max_keys = 40});
      dice random(12);
      nanoseconds now{};
      int wrong = 0;
      for (std::size_t const size : {0U, 1U, 2U, 15U, 16U, 17U, 33U, 100U}) {
        now += random.up_to(3s);
        std::vector<std::string> keys;
        for (std::size_t i = 0; i < size; ++i) keys.push_back("key " + std::to_string(random.below(20)));  // some twice
        cost const c{1 + random.below(4)};
        std::vector<decision> answers(size);
        batched.allow_each_at(on(now), keys, answers, c);
        for (std::size_t i = 0; i < size; ++i)
          if (answers[i] != single.allow_at(on(now), keys[i], c)) ++wrong;
      }
      CHECK(wrong == 0);
    });
  });
}

TEST_CASE("allow_each reads the clock once, and leaves alone what has no partner") {
  manual_clock clock{1s};
  bucket<int> limit({.refill = per_minute(2)}, clock);
  std::array const keys{1, 2, 1, 1, 3};
  std::array<decision, 7> answers;
  decision const untouched{.limit = 99};
  answers.fill(untouched);
  limit.allow_each(keys, answers);
  CHECK(answers[0].remaining == 1);
  CHECK(answers[1].remaining == 1);
  CHECK(answers[2].remaining == 0);
  CHECK(answers[3].outcome == verdict::limited);
  CHECK(answers[4].remaining == 1);
  CHECK(answers[5] == untouched);
  CHECK(answers[6] == untouched);
  limit.allow_each(keys, std::span(answers).first(1), cost{0});
  CHECK(answers[0].remaining == 0);
  CHECK(answers[1].remaining == 1);
}

TEST_CASE("a list of keys gives integers and enums back, with what each has left, and only those that are not fresh") {
  auto const check = []<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    manual_clock clock;
    enum class colour : std::int16_t { red = -7, green = 0, blue = 300 };
    auto const listed = [&]<class Key>(std::vector<Key> const& keys) {
      bucket<Key> fresh({.refill = per_minute(10)});
      token_bucket<Key, manual_clock, Store> limit({.refill = per_minute(10)}, {.max_keys = 1'000}, clock);
      std::map<Key, std::uint64_t> expected, found;
      std::uint64_t units = 0;
      for (Key const k : keys) {
        CHECK(limit.allow(k, cost{units % 10 + 1}));
        expected[k] = 9 - units++ % 10;
      }
      limit.for_each([&](Key k, decision const& d) {
        CHECK(found.emplace(k, d.remaining).second);
        CHECK(d.outcome == verdict::admitted);
        CHECK(d.limit == 10);
      });
      CHECK(found == expected);
      clock.advance(1min);
      limit.for_each([&](Key, decision const&) { FAIL("all are fresh again"); });
    };
    listed(std::vector<int>{0, 1, -1, -5, 42, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()});
    listed(std::vector<std::int64_t>{0, -1, std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max()});
    listed(std::vector<std::uint64_t>{0, 1, std::numeric_limits<std::uint64_t>::max()});
    listed(std::vector<std::int8_t>{0, -1, -128, 127});
    listed(std::vector<colour>{colour::red, colour::green, colour::blue});
    dice random(13);
    std::map<std::uint64_t, int> some;
    for (int i = 0; i < 300; ++i) some[random.bits()];
    std::vector<std::uint64_t> keys;
    for (auto const& [k, unused] : some) keys.push_back(k);
    listed(keys);
  };
  for_each_store(check);
}

TEST_CASE("texts and composite keys, which no store has, are listed by their fingerprints") {
  for_each_store([]<class Store>(std::type_identity<Store>, char const* where) {
    INFO(where);
    manual_clock clock;
    token_bucket<std::string, manual_clock, Store> limit({.refill = per_minute(10)}, {.max_keys = 100}, clock);
    CHECK(limit.allow("ann", cost{3}));
    CHECK(limit.allow("bob", cost{4}));
    std::vector<fingerprint> found;
    std::vector<std::uint64_t> remaining;
    limit.for_each([&](fingerprint k, decision const& d) {
      found.push_back(k);
      remaining.push_back(d.remaining);
    });
    std::sort(remaining.begin(), remaining.end());
    CHECK(remaining == std::vector<std::uint64_t>{6, 7});
    CHECK(found.size() == 2);
    CHECK_FALSE(found.front() == found.back());
    token_bucket<std::tuple<std::string, int>, manual_clock, Store> pairs({.refill = per_minute(10)}, {.max_keys = 100},
                                                                          clock);
    CHECK(pairs.allow({"ann", 1}));
    int seen = 0;
    pairs.for_each([&](fingerprint, decision const&) { ++seen; });
    CHECK(seen == 1);
  });
}

TEST_CASE("every algorithm can be listed") {
  for_each_algorithm([]<class A>(std::type_identity<A>) {
    manual_clock clock{21s};
    limiter<A, int, manual_clock> limit({ten}, clock);
    for (int key = -50; key < 50; ++key) CHECK(limit.allow(key, cost{3}));
    int seen = 0, wrong = 0;
    std::vector<std::pair<int, decision>> listed;
    limit.for_each([&](int key, decision const& d) { listed.emplace_back(key, d); });
    for (auto const& [key, d] : listed) {
      ++seen;
      if (d != limit.peek(key, cost{0})) ++wrong;
    }
    CHECK(seen == 100);
    CHECK(wrong == 0);
    CHECK(limit.stats().keys == 100);
  });
}
