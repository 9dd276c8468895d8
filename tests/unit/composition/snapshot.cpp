// limiter::snapshot and limiter::restore: a restarted service does not forget.

#include "subjects.hpp"

#include <cstddef>
#include <span>

using namespace composition;

namespace {

using bytes = std::vector<std::byte>;
using wall = std::chrono::system_clock::time_point;

constexpr wall noon{std::chrono::hours{500'000}};

/// The six as they can be kept: windows that are aligned need a clock that a restart does not set to zero, as this one.
void for_each_that_can(auto check) {
  auto const with = [&]<class A>(std::type_identity<A>, auto const& config) {
    INFO(A::name);
    check(std::type_identity<A>{}, config);
  };
  with(std::type_identity<algorithm::token_bucket>{}, algorithm::token_bucket::config{ten});
  with(std::type_identity<algorithm::leaky_meter>{}, algorithm::leaky_meter::config{ten});
  with(std::type_identity<algorithm::leaky_queue>{}, algorithm::leaky_queue::config{ten});
  with(std::type_identity<algorithm::fixed_window>{},
       algorithm::fixed_window::config{ten, window_start::first_request});
  using both = algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>;
  with(std::type_identity<both>{}, both::config{{ten}, {per(15, 30s), window_start::first_request}});
}

/// A clock that starts anew with each start of the machine.
struct since_boot {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<since_boot>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  manual_clock hand;
  time_point now() const { return time_point{hand.now().time_since_epoch()}; }
};

/// All that a clock must have: it does not say whether it is steady.
struct minimal_clock {
  using time_point = since_boot::time_point;
  time_point now() const { return {}; }
};

/// The same bytes, signed as if they were right.
bytes signed_again(bytes b) {
  std::span<std::byte> const all(b);
  std::uint64_t const sum = penstock::detail::checksum(all.first(all.size() - 8));
  for (std::size_t i = 0; i < 8; ++i) all[all.size() - 8 + i] = static_cast<std::byte>(sum >> 8 * i);
  return b;
}

}  // namespace

TEST_CASE("what is restored decides as what was saved, with the time that passed meanwhile") {
  for_each_that_can([]<class A>(std::type_identity<A>, typename A::config const& config) {
    for (nanoseconds const asleep :
         {nanoseconds{0s}, nanoseconds{1us}, nanoseconds{2500ms}, nanoseconds{9s}, nanoseconds{1h}}) {
      INFO("asleep for " << asleep.count() << " ns");
      manual_clock before{77h}, after{3s};
      by_name<A> saved(config, {.max_keys = 200}, before);
      dice random(14);
      std::vector<std::string> keys;
      for (int i = 0; i < 100; ++i) {
        keys.push_back("key " + std::to_string(i));
        before.advance(random.up_to(100ms));
        saved.charge(keys.back(), cost{1 + random.below(15)});
      }
      bytes const snapshot = saved.snapshot(noon);
      before.advance(asleep);

      by_name<A> restored(config, {.max_keys = 200}, after);
      restored.restore(snapshot, noon + std::chrono::duration_cast<std::chrono::system_clock::duration>(asleep));
      int different = 0;
      for (nanoseconds later = 0s; later < 40s; later += 700ms)
        for (auto const& key : keys)
          for (std::uint64_t const units : {0U, 1U, 6U, 10U})
            if (restored.peek_at(after.now() + later, key, cost{units}) !=
                saved.peek_at(before.now() + later, key, cost{units}))
              ++different;
      CHECK(different == 0);
      CHECK(restored.stats().keys == saved.stats().keys);
      CHECK(restored.peek("a key never seen", cost{10}));
    }
  });
}

TEST_CASE("keys are found again in another process, which hashed them under a secret of its own") {
  manual_clock clock{1h};
  bucket<std::string> texts({ten}, clock), texts_here({ten}, clock);
  bucket<int> numbers({ten}, clock), numbers_here({ten}, clock);
  auto const elsewhere = [](bytes b) {  // words 3 to 5 are the secret
    for (std::size_t i = 24; i < 48; ++i) b[i] ^= static_cast<std::byte>(i % 8 == 0 ? 6 : i);
    return signed_again(std::move(b));
  };
  auto const there = [&](auto& limit, auto& here, auto const& key) {
    bytes const foreign = elsewhere(limit.snapshot(noon));
    limit.restore(foreign, noon);
    CHECK(limit.snapshot(noon) == foreign);
    CHECK(limit.allow(key, cost{7}));
    CHECK(here.allow(key, cost{1}));
    here.restore(limit.snapshot(noon), noon);
    CHECK(alike(here, limit, key, 1h));
    CHECK(here.peek(key, cost{0}).remaining == 3);
  };
  there(texts, texts_here, "ann");
  there(numbers, numbers_here, -5);
  numbers_here.for_each([](int key, decision const&) { CHECK(key == -5); });
}

TEST_CASE("windows by a wall clock are restored, and go on by it") {
  auto const check = []<class A>(std::type_identity<A>) {
    INFO(A::name);
    manual_clock clock{1234s};
    by_name<A> saved({ten}, clock), restored({ten}, clock);
    CHECK(saved.allow("ann", cost{7}));
    bytes const snapshot = saved.snapshot(noon);
    clock.advance(2s);
    restored.restore(snapshot, noon + 2s);
    CHECK(alike(restored, saved, "ann", 1236s));
    CHECK(restored.peek("ann", cost{0}).remaining == 3);
  };
  check(std::type_identity<algorithm::fixed_window>{});
  check(std::type_identity<algorithm::sliding_counter>{});
}

TEST_CASE("windows aligned to a steady clock can be neither saved nor restored, and it is said why") {
  auto const check = [](auto& limit) {
    CHECK(contains(complaint_of([&] { static_cast<void>(limit.snapshot(noon)); }), "aligned to a steady clock"));
    CHECK(contains(complaint_of([&] { limit.restore(bytes(100), noon); }), "aligned to a steady clock"));
  };
  limiter<algorithm::fixed_window, int, since_boot> windows({ten});
  check(windows);
  limiter<algorithm::sliding_counter, int, since_boot> counters({ten});
  check(counters);
  using both = algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>;
  limiter<both, int, since_boot> one_of_two({{ten}, {ten}});
  check(one_of_two);
  limiter<algorithm::fixed_window, int, minimal_clock> may_be_steady({ten});
  check(may_be_steady);

  // Windows that start at the first request, and buckets, mean as much after a restart as before.
  limiter<algorithm::fixed_window, int, since_boot> own({ten, window_start::first_request});
  CHECK(complaint_of([&] { own.restore(own.snapshot(noon), noon); }) == "none");
  limiter<algorithm::token_bucket, int, minimal_clock> bucket({ten});
  CHECK(complaint_of([&] { bucket.restore(bucket.snapshot(noon), noon); }) == "none");
}

TEST_CASE("a wall clock that was set back gives nobody anything; one far ahead frees everybody") {
  manual_clock clock{1h};
  bucket<std::string> saved({ten}, clock), back({ten}, clock), ahead({ten}, clock), extreme({ten}, clock);
  CHECK(saved.allow("ann", cost{10}));
  bytes const snapshot = saved.snapshot(noon);
  back.restore(snapshot, noon - 24h);
  CHECK(alike(back, saved, "ann", 1h));
  ahead.restore(snapshot, noon + 24h * 10'000);
  CHECK(ahead.stats().keys == 0);
  CHECK(ahead.peek("ann", cost{10}));
  extreme.restore(snapshot, wall::max());
  CHECK(extreme.stats().keys == 0);
  extreme.restore(snapshot, wall::min());
  CHECK(alike(extreme, saved, "ann", 1h));
}

TEST_CASE("integer keys, and what was dropped for want of room, are saved too") {
  manual_clock clock{1h};
  auto const options = store_options{.max_keys = 8};
  bucket<int> saved({ten}, options, clock), restored({ten}, options, clock);
  for (int key = -100; key < 100; ++key) static_cast<void>(saved.allow(key, cost{1}).outcome);
  CHECK(saved.stats().evictions > 0);
  restored.restore(saved.snapshot(noon), noon);
  int different = 0;
  for (int key = -100; key < 150; ++key)  // newcomers start from the floor
    if (restored.peek(key, cost{5}) != saved.peek(key, cost{5})) ++different;
  CHECK(different == 0);
  restored.for_each([&](int key, decision const& d) { CHECK(d == saved.peek(key, cost{0})); });
}

TEST_CASE("a table that was used before holds afterwards what was saved, and nothing else") {
  manual_clock clock{1h};
  auto const options = store_options{.max_keys = 40};
  int different = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    bucket<int> saved({ten}, options, clock), used({ten}, options, clock);
    dice random(seed);
    for (int i = 0; i < 60; ++i)
      for (auto* l : {&saved, &used}) l->charge(static_cast<int>(random.below(40)), cost{3});
    used.restore(saved.snapshot(noon), noon);
    for (int key = 0; key < 40; ++key)
      if (used.peek(key, cost{0}) != saved.peek(key, cost{0})) ++different;
  }
  CHECK(different == 0);
}

TEST_CASE("a plan other than the one it was saved under caps what it cannot mean") {
  manual_clock clock{1h};
  bucket<std::string> saved({.refill = per_hour(60), .burst = 60}, clock),
      restored({.refill = per_minute(60), .burst = 60}, clock);
  CHECK(saved.allow("ann", cost{60}));
  restored.restore(saved.snapshot(noon), noon);
  CHECK(restored.peek("ann", cost{0}).reset_after <= 150s);  // the furthest that can be promised
  decision const d = restored.allow("ann");
  clock.advance(d.retry_after);
  CHECK(restored.allow("ann"));
}

// ---- what is refused ------------------------------------------------------------------------------------------------

TEST_CASE("damaged bytes are refused whole: every bit flipped, every end cut off, anything added") {
  manual_clock clock{1h};
  auto const options = store_options{.max_keys = 4};
  bucket<std::string> saved({ten}, options, clock), target({ten}, options, clock), untouched({ten}, options, clock);
  CHECK(saved.allow("ann", cost{7}));
  CHECK(saved.allow("bob", cost{2}));
  for (auto* l : {&target, &untouched}) {
    CHECK(l->allow("ann", cost{4}));
    CHECK(l->allow("eve", cost{5}));
  }
  bytes const snapshot = saved.snapshot(noon);
  int accepted = 0;
  auto const offer = [&](bytes const& b) {
    if (complaint_of([&] { target.restore(b, noon); }) == "none") ++accepted;
  };
  for (std::size_t i = 0; i < snapshot.size(); ++i)
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes flipped = snapshot;
      flipped[i] ^= std::byte{1} << bit;
      offer(flipped);
    }
  for (std::size_t length = 0; length < snapshot.size(); ++length)
    offer({snapshot.begin(), snapshot.begin() + static_cast<std::ptrdiff_t>(length)});
  for (std::size_t more : {1U, 8U, 64U}) {
    bytes longer = snapshot;
    longer.resize(longer.size() + more);
    offer(longer);
  }
  bytes twice = snapshot;
  twice.insert(twice.end(), snapshot.begin(), snapshot.end());
  offer(twice);
  dice random(15);
  for (int i = 0; i < 1'000; ++i) {
    bytes foreign(random.below(400));
    for (std::byte& b : foreign) b = static_cast<std::byte>(random.bits());
    offer(foreign);
  }
  CHECK(accepted == 0);
  for (char const* key : {"ann", "bob", "eve"}) CHECK(alike(target, untouched, key, 1h));
  CHECK(target.stats().keys == 2);
  target.restore(snapshot, noon);  // and the whole one is taken
  CHECK(alike(target, saved, "ann", 1h));
  CHECK(target.stats().keys == 2);
}

TEST_CASE("what is signed but cannot be is refused whole too") {
  manual_clock clock{1h};
  auto const options = store_options{.max_keys = 4};
  bucket<std::string> saved({ten}, options, clock), target({ten}, options, clock), untouched({ten}, options, clock);
  CHECK(saved.allow("ann", cost{7}));
  CHECK(saved.allow("bob", cost{2}));
  for (auto* l : {&target, &untouched}) CHECK(l->allow("ann", cost{4}));
  bytes const snapshot = saved.snapshot(noon);
  CHECK(signed_again(snapshot) == snapshot);
  auto const offer = [&](bytes const& b) {
    std::string const complaint = complaint_of([&] { target.restore(signed_again(b), noon); });
    CHECK(contains(complaint, "snapshot"));
    CHECK(alike(target, untouched, "ann", 1h));
    CHECK(target.stats().keys == 1);
  };
  for (std::size_t words = 1; words * 8 + 16 < snapshot.size(); ++words) {  // words that are missing at the end
    bytes shorter = snapshot;
    shorter.resize(snapshot.size() - 8 * words);
    if (words % 3 != 0) offer(shorter);  // an entry is three words, and one may be missing
  }
  auto const word_at = [](bytes& b, std::size_t i) { return std::span(b).subspan(8 * i, 8); };
  std::size_t const last_entry = snapshot.size() / 8 - 4;
  bytes far = snapshot;
  word_at(far, last_entry)[7] = std::byte{0x7f};  // a slot that is not there
  offer(far);
  bytes repeated = snapshot;
  for (std::size_t i = 0; i < 8; ++i)
    word_at(repeated, last_entry)[i] = word_at(repeated, last_entry - 3)[i];  // one twice
  offer(repeated);
  for (std::size_t const i : {0U, 1U, 2U}) {  // mark, version, kind
    bytes other = snapshot;
    word_at(other, i)[0] ^= std::byte{2};
    offer(other);
  }
  bytes even = snapshot;
  word_at(even, 5)[0] &= std::byte{0xfe};  // a multiplier under which different keys are one
  offer(even);
  bytes ancient = snapshot;  // of the first moment that there is
  for (std::size_t i = 0; i < 8; ++i) word_at(ancient, 6)[i] = std::byte{i == 7 ? std::uint8_t{0x80} : std::uint8_t{0}};
  target.restore(signed_again(ancient), wall::max());
  CHECK(target.stats().keys == 0);
}

TEST_CASE("a snapshot of another kind, another clock of windows or another size is refused, and it is said which") {
  manual_clock clock{1h};
  auto const snapshot_of = [&](auto type, auto const& config, std::size_t keys = 100) {
    typename decltype(type)::type limit(config, {.max_keys = keys}, clock);
    CHECK(limit.allow(7, cost{3}));
    return limit.snapshot(noon);
  };
  using buckets = bucket<int>;
  using meters = leaky_meter<int, manual_clock>;
  using windows = window<int>;
  using both = limiter<algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>, int, manual_clock>;
  using reversed = limiter<algorithm::all_of<algorithm::fixed_window, algorithm::token_bucket>, int, manual_clock>;
  bytes const of_buckets = snapshot_of(std::type_identity<buckets>{}, buckets::config{ten});

  auto const complaint = [&](auto type, auto const& config, bytes const& b, std::size_t keys = 100) {
    typename decltype(type)::type limit(config, {.max_keys = keys}, clock);
    std::string const said = complaint_of([&] { limit.restore(b, noon); });
    CHECK(limit.stats().keys == (said == "none" ? 1 : 0));
    return said;
  };
  CHECK(complaint(std::type_identity<buckets>{}, buckets::config{ten}, of_buckets) == "none");
  CHECK(complaint(std::type_identity<buckets>{}, buckets::config{.refill = per_second(5), .burst = 500}, of_buckets) ==
        "none");
  CHECK(contains(complaint(std::type_identity<meters>{}, meters::config{ten}, of_buckets), "kind of states"));
  CHECK(contains(complaint(std::type_identity<windows>{}, windows::config{ten}, of_buckets), "kind of states"));
  CHECK(contains(complaint(std::type_identity<buckets>{}, buckets::config{per_second(3)}, of_buckets),
                 "kind of states"));  // thirds of a nanosecond
  CHECK(contains(complaint(std::type_identity<buckets>{}, buckets::config{ten}, of_buckets, 100'000), "max_keys"));
  CHECK(contains(complaint(std::type_identity<buckets>{}, buckets::config{ten}, of_buckets, 10), "max_keys"));
  bytes const aligned = snapshot_of(std::type_identity<windows>{}, windows::config{ten});
  CHECK(contains(complaint(std::type_identity<windows>{}, windows::config{ten, window_start::first_request}, aligned),
                 "kind of states"));
  bytes const of_both = snapshot_of(std::type_identity<both>{}, both::config{{ten}, {ten}});
  CHECK(complaint(std::type_identity<both>{}, both::config{{ten}, {ten}}, of_both) == "none");
  CHECK(contains(complaint(std::type_identity<reversed>{}, reversed::config{{ten}, {ten}}, of_both), "kind of states"));
}

TEST_CASE("what is restored can be saved again, byte for byte") {
  manual_clock clock{1h};
  bucket<std::string> saved({ten}, clock), restored({ten}, clock);
  for (int i = 0; i < 50; ++i)
    CHECK(saved.allow("key " + std::to_string(i), cost{static_cast<std::uint64_t>(i % 10 + 1)}));
  bytes const snapshot = saved.snapshot(noon);
  restored.restore(snapshot, noon);
  CHECK(restored.snapshot(noon) == snapshot);
  bucket<std::string> empty({ten}, clock);
  CHECK(empty.snapshot(noon).size() < snapshot.size());
  restored.restore(empty.snapshot(noon), noon);
  CHECK(restored.stats().keys == 0);
}
