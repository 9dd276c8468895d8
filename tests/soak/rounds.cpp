// A soak: random calls on few keys from several threads, over every algorithm and store, in rounds that are checked at
// their ends. One round by default; PENSTOCK_SOAK_MINUTES keeps it going (tests/run --soak), PENSTOCK_SOAK_SEED repeats
// a round that failed (as far as threads can be repeated).

#include "ledger.hpp"
#include "support/slow.hpp"

#include <penstock/lease.hpp>
#include <penstock/stack.hpp>
#include <penstock/store/leased_cell.hpp>
#include <penstock/wait.hpp>

#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

using namespace concurrency;
using penstock::cost;
using penstock::limiter;
using penstock::manual_clock;

namespace soak {
namespace {

constexpr std::size_t threads = 4, keys = 6, phases = 12;
constexpr allowance small{20, 1s};
constexpr nanoseconds start = 100s;

std::size_t calls_in_phase() { return support::slow ? 40 : 150; }

/// Runs body(thread, dice) in so many phases, between which nobody calls and the clock is moved: no reading lags.
template <class Body>
void in_phases(std::uint64_t seed, manual_clock clock, Body const& body) {
  dice times(seed);
  std::barrier between(static_cast<std::ptrdiff_t>(threads),
                       [&]() noexcept { clock.advance(nanoseconds(times.below(400'000'000))); });
  on_threads(threads, [&](std::size_t thread) {
    dice random(seed * threads + thread + 1);
    for (std::size_t phase = 0; phase < phases; ++phase) {
      for (std::size_t call = 0; call < calls_in_phase(); ++call) body(thread, random);
      between.arrive_and_wait();
    }
  });
}

/// As many calls, times so much, while the first thread moves the clock as it goes.
template <class Body>
void in_motion(std::uint64_t seed, manual_clock clock, std::size_t times, Body const& body) {
  on_threads(threads, [&](std::size_t thread) {
    dice random(seed * threads + thread + 1);
    for (std::size_t call = 0; call < phases * calls_in_phase() * times; ++call) {
      if (thread == 0) clock.advance(nanoseconds(random.below(4'000'000 / times)));
      body(thread, random);
    }
  });
}

/// What may be asked of a limiter by key while others use it; whatever it says must make sense.
template <class L>
bool looks_right(L const& limit, dice& random, allowance a) {
  switch (random.below(4)) {
    case 0: {
      auto const s = limit.stats();
      return s.keys <= s.capacity;
    }
    case 1: {
      bool right = true;
      limit.for_each([&](std::uint64_t key, decision const& d) {
        right = right && key < keys && d.remaining <= d.limit && d.limit <= 2 * a.size;
      });
      return right;
    }
    default: {
      decision const d = limit.peek(random.below(keys), cost{0});
      return d.remaining <= d.limit && d.limit <= 2 * a.size;
    }
  }
}

/// Takes units of a key in one of the ways there are; says how many were kept.
template <class L>
std::uint64_t take_somehow(L& limit, std::uint64_t key, manual_clock::time_point now, dice& random) {
  std::uint64_t const c = 1 + random.below(3);
  switch (random.below(5)) {
    case 0: {
      auto ticket = limit.take(now, key, cost{c});
      if (ticket) limit.undo(std::move(ticket));
      return 0;
    }
    case 1: {
      auto lease = penstock::reserve(limit, key, cost{c});
      if (!lease || random.below(2) == 0) return 0;
      lease.commit(cost{1});
      return 1;
    }
    default:
      return limit.allow_at(now, key, cost{c}) ? c : 0;
  }
}

/// (A queue's promise can no longer be given back when another came after it.)
template <class A>
constexpr bool gives_all_back = !std::is_same_v<A, penstock::algorithm::leaky_queue>;

/// Few keys in hardly any room, everything at once; no key may be above its bound in any window.
template <class A, class Store>
void crowd(std::uint64_t seed) {
  manual_clock clock{start};
  auto const config = limited_to<A>::config(small.size, small.period);
  limiter<A, std::uint64_t, manual_clock, Store> limit(config, {.max_keys = 1 + seed % 8}, clock);
  ledger book(threads, keys);
  std::atomic<std::size_t> wrong{0};
  in_phases(seed, clock, [&](std::size_t thread, dice& random) {
    std::uint64_t const key = random.below(keys);
    if (random.below(8) == 0) {
      if (!looks_right(limit, random, small)) ++wrong;
    } else {
      auto const now = clock.now();
      book.enter(thread, key, now, take_somehow(limit, key, now, random));
    }
  });
  CHECK(wrong == 0);
  for (std::size_t key = 0; key < keys; ++key) CHECK(bound<A>::holds(book.of(key), small, readings::in_order));
  CHECK(limit.stats().keys <= limit.stats().capacity);
  CHECK(limit.stats().newcomers_refused == 0);
}

/// The clock goes on meanwhile, so readings lag.
template <class A, class Store>
void drift(std::uint64_t seed) {
  manual_clock clock{start};
  limiter<A, std::uint64_t, manual_clock, Store> limit(limited_to<A>::config(small.size, small.period),
                                                       {.max_keys = 1 + seed % 8}, clock);
  ledger book(threads, keys);
  std::atomic<std::size_t> wrong{0};
  in_motion(seed, clock, 1, [&](std::size_t thread, dice& random) {
    std::uint64_t const key = random.below(keys), c = 1 + random.below(3);
    auto const now = clock.now();
    if (random.below(16) == 0) {
      if (!looks_right(limit, random, small)) ++wrong;
    } else if (limit.allow_at(now, key, cost{c})) {
      book.enter(thread, key, now, c);
    }
  });
  CHECK(wrong == 0);
  for (std::size_t key = 0; key < keys; ++key) CHECK(bound<A>::holds(book.of(key), small, readings::lagging));
}

/// Nobody is refused: then what remains is the allowance less what was kept, to the unit.
template <class A, class Store>
void ample(std::uint64_t seed) {
  if constexpr (gives_all_back<A>) {
    constexpr std::uint64_t much = 1'000'000;
    manual_clock clock{start};
    limiter<A, std::uint64_t, manual_clock, Store> limit(limited_to<A>::config(much, 1h), {.max_keys = 100}, clock);
    ledger book(threads, keys);
    std::atomic<std::size_t> refused{0};
    on_threads(threads, [&](std::size_t thread) {
      dice random(seed * threads + thread + 1);
      for (std::size_t call = 0; call < calls_in_phase(); ++call) {
        std::uint64_t const key = random.below(keys);
        book.enter(thread, key, clock.now(), take_somehow(limit, key, clock.now(), random));
        if (!limit.peek(key)) ++refused;
      }
    });
    CHECK(refused == 0);
    for (std::size_t key = 0; key < keys; ++key) CHECK(limit.peek(key, cost{0}).remaining == much - book.units(key));
    CHECK(limit.stats().evictions == 0);
  }
}

/// Two configurations take turns: no key gets more than the larger gives.
template <class A, class Store>
void change(std::uint64_t seed) {
  constexpr allowance large{2 * small.size, small.period};
  auto const less = limited_to<A>::config(small.size, small.period), more = limited_to<A>::config(large.size, 1s);
  manual_clock clock{start};
  limiter<A, std::uint64_t, manual_clock, Store> limit(more, {.max_keys = 100}, clock);
  ledger book(threads, keys);
  std::atomic<std::size_t> wrong{0};
  in_phases(seed, clock, [&](std::size_t thread, dice& random) {
    std::uint64_t const key = random.below(keys);
    if (random.below(8) == 0) {
      limit.reconfigure(random.below(2) == 0 ? less : more);
    } else if (auto const now = clock.now(); decision const d = limit.allow_at(now, key)) {
      if (d.limit != small.size && d.limit != large.size) ++wrong;
      book.enter(thread, key, now, 1);
    }
  });
  CHECK(wrong == 0);
  for (std::size_t key = 0; key < keys; ++key) CHECK(bound<A>::holds(book.of(key), large, readings::in_order));
}

template <class A>
void keyed(std::uint64_t seed) {
  INFO(A::name);
  with_keyed_stores<A>([&]<class Store>(char const* name) {
    INFO("over " << name);
    crowd<A, Store>(seed);
    drift<A, Store>(seed);
    ample<A, Store>(seed);
    if constexpr (requires(limiter<A, int>& l, typename A::config c) { l.reconfigure(c); }) change<A, Store>(seed);
  });
}

/// One state for all, plain or leased.
template <class A, class Store>
void unkeyed(std::uint64_t seed) {
  constexpr allowance wide{1'000, 1s};
  manual_clock clock{start};
  limiter<A, penstock::no_key, manual_clock, Store> limit(limited_to<A>::config(wide.size, wide.period), clock);
  ledger book(threads, 1);
  in_motion(seed, clock, 20, [&](std::size_t thread, dice& random) {
    std::uint64_t const c = 1 + random.below(3);
    auto const now = clock.now();
    if (limit.allow_at(now, cost{c})) book.enter(thread, 0, now, c);
  });
  INFO(A::name << ", unkeyed");
  CHECK(bound<A>::holds(book.of(0), wide, readings::lagging));
}

/// Places in a line: units that were promised are as far apart as units that are taken.
void line(std::uint64_t seed) {
  manual_clock clock{start};
  penstock::token_bucket<std::uint64_t, manual_clock> limit({.refill = {small.size, small.period}}, clock);
  ledger book(threads, keys);
  in_phases(seed, clock, [&](std::size_t thread, dice& random) {
    std::uint64_t const key = random.below(keys), c = 1 + random.below(3);
    auto const now = clock.now();
    decision const d =
        penstock::acquire(limit, key, cost{c}, now + nanoseconds(random.below(2'000'000'000)), [](nanoseconds) {});
    if (d) book.enter(thread, key, now + d.delay, c);
  });
  for (std::size_t key = 0; key < keys; ++key) {
    INFO("places in a line");
    CHECK(bound<penstock::algorithm::token_bucket>::holds(book.of(key), small, readings::in_order));
  }
}

/// Layers over different keys, algorithms and stores.
void stacked(std::uint64_t seed) {
  namespace algorithm = penstock::algorithm;
  constexpr allowance wide{40, 1s};
  manual_clock clock{start};
  limiter<algorithm::token_bucket, std::uint64_t, manual_clock> by_key({.refill = {20, 1s}}, {.max_keys = 3}, clock);
  limiter<algorithm::sliding_log, std::uint64_t, manual_clock> by_half({.limit = {wide.size, 1s}}, clock);
  limiter<algorithm::fixed_window, penstock::no_key, manual_clock> site({.limit = {2 * wide.size, 1s}}, clock);
  auto limits = penstock::stack(penstock::layer("key", by_key, [](std::uint64_t key) { return key; }),
                                penstock::layer("half", by_half, [](std::uint64_t key) { return key % 2; }),
                                penstock::layer("site", site));
  ledger keyed_book(threads, keys), half_book(threads, 2), site_book(threads, 1);
  in_phases(seed, clock, [&](std::size_t thread, dice& random) {
    std::uint64_t const key = random.below(keys), c = 1 + random.below(3);
    auto const now = clock.now();
    if (!limits.allow_at(now, key, cost{c})) return;
    keyed_book.enter(thread, key, now, c);
    half_book.enter(thread, key % 2, now, c);
    site_book.enter(thread, 0, now, c);
  });
  INFO("stacked");
  for (std::size_t key = 0; key < keys; ++key)
    CHECK(bound<algorithm::token_bucket>::holds(keyed_book.of(key), small, readings::in_order));
  for (std::size_t half = 0; half < 2; ++half)
    CHECK(bound<algorithm::sliding_log>::holds(half_book.of(half), wide, readings::in_order));
  CHECK(bound<algorithm::fixed_window>::holds(site_book.of(0), {2 * wide.size, 1s}, readings::in_order));
}

/// A table can be saved at any time, and what is saved is what is there.
void saved(std::uint64_t seed) {
  manual_clock clock{start};
  using bucket = penstock::token_bucket<std::uint64_t, manual_clock>;
  bucket limit({.refill = {20, 1s}}, {.max_keys = 8}, clock);
  std::atomic<std::size_t> wrong{0};
  in_phases(seed, clock, [&](std::size_t, dice& random) {
    if (random.below(64) != 0) return static_cast<void>(limit.allow(random.below(keys)).outcome);
    bucket copy({.refill = {20, 1s}}, {.max_keys = 8}, clock);
    copy.restore(limit.snapshot());
    if (copy.stats().keys > keys || !looks_right(copy, random, small)) ++wrong;
  });
  INFO("saved");
  CHECK(wrong == 0);
}

template <class... A>
void round(std::uint64_t seed) {
  INFO("PENSTOCK_SOAK_SEED=" << seed);
  (keyed<A>(seed), ...);
  (unkeyed<A, penstock::store::cell>(seed), ...);
  unkeyed<penstock::algorithm::token_bucket, penstock::store::leased_cell>(seed);
  unkeyed<penstock::algorithm::leaky_meter, penstock::store::leased_cell>(seed);
  line(seed);
  stacked(seed);
  saved(seed);
}

std::uint64_t number_from(char const* variable, std::uint64_t otherwise) {
  char const* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace
}  // namespace soak

TEST_CASE("whatever threads do at once, no key is above its bound and nothing is lost") {
  std::uint64_t const first = soak::number_from("PENSTOCK_SOAK_SEED", 1);
  auto const until =
      std::chrono::steady_clock::now() + std::chrono::minutes(soak::number_from("PENSTOCK_SOAK_MINUTES", 0));
  std::uint64_t seed = first;
  do {
    soak::round<EVERY_ALGORITHM>(seed);
    ++seed;
  } while (std::chrono::steady_clock::now() < until);
  std::printf("soak: seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(seed - 1));
}
