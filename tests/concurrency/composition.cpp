// Stacks, live changes, leases and waiting with threads that run freely. Bounded by counts, not by time.

#include <penstock/penstock.hpp>

#include "support/catch.hpp"
#include "unit/random.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

template <class Key = no_key>
using bucket = token_bucket<Key, manual_clock>;
template <class Key = no_key>
using window = fixed_window<Key, manual_clock>;

constexpr int threads = 8;

void in_threads(auto work) {
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(work, i);
  for (std::thread& t : running) t.join();
}

struct request {
  int user;
  int tenant;
};

template <class A>
using by_number = limiter<A, int, manual_clock>;

}  // namespace

TEST_CASE("with eight threads no layer of a stack admits above its limit, and what is refused is given back") {
  manual_clock clock{1h};
  bucket<int> per_user({.refill = per_minute(40)}, clock);
  window<int> per_tenant({.limit = per_minute(90)}, clock);
  sliding_log<int, manual_clock> per_pair({.limit = per_minute(35)}, clock);
  limiter<algorithm::all_of<algorithm::leaky_meter, algorithm::sliding_counter>, no_key, manual_clock> site(
      {{.drain = per_minute(250)}, {.limit = per_minute(260)}}, clock);
  auto limits = stack(layer("user", per_user, &request::user), layer("tenant", per_tenant, &request::tenant),
                      layer("pair", per_pair, [](request r) { return r.user * 10 + r.tenant; }), layer("site", site));
  constexpr int users = 8, tenants = 4;
  std::array<std::array<std::atomic<std::uint64_t>, tenants>, users> admitted{};
  in_threads([&](int thread) {
    dice random(static_cast<std::uint64_t>(thread));
    for (int call = 0; call < 2'000; ++call) {
      request const r{static_cast<int>(random.below(users)), static_cast<int>(random.below(tenants))};
      if (limits.allow(r)) ++admitted[static_cast<std::size_t>(r.user)][static_cast<std::size_t>(r.tenant)];
    }
  });
  std::uint64_t total = 0;
  std::array<std::uint64_t, tenants> of_tenant{};
  for (int user = 0; user < users; ++user) {
    std::uint64_t of_user = 0;
    for (int tenant = 0; tenant < tenants; ++tenant) {
      std::uint64_t const n = admitted[static_cast<std::size_t>(user)][static_cast<std::size_t>(tenant)];
      of_user += n;
      of_tenant[static_cast<std::size_t>(tenant)] += n;
      CHECK(n <= 35);
      CHECK(per_pair.peek(user * 10 + tenant, cost{0}).remaining == 35 - n);
    }
    total += of_user;
    CHECK(of_user <= 40);
    CHECK(per_user.peek(user, cost{0}).remaining == 40 - of_user);  // to the unit, though many races were lost
  }
  for (int tenant = 0; tenant < tenants; ++tenant) {
    CHECK(of_tenant[static_cast<std::size_t>(tenant)] <= 90);
    CHECK(per_tenant.peek(tenant, cost{0}).remaining == 90 - of_tenant[static_cast<std::size_t>(tenant)]);
  }
  CHECK(total <= 250);
  CHECK(site.peek(cost{0}).remaining == 250 - total);
}

TEST_CASE("when nobody is refused nothing is lost, whatever the layers") {
  manual_clock clock{1h};
  std::uint64_t const calls = 1'000;
  bucket<int> per_user({.refill = per_hour(calls * threads)}, clock);
  sliding_counter<int, manual_clock> per_tenant({.limit = per_hour(calls * threads)}, clock);
  window<> site({.limit = per_hour(calls * threads)}, clock);
  auto limits = stack(layer("user", per_user, &request::user), layer("tenant", per_tenant, &request::tenant),
                      layer("site", site));
  std::atomic<std::uint64_t> refused{0};
  in_threads([&](int) {
    for (std::uint64_t call = 0; call < calls; ++call)
      if (!limits.allow(request{1, 2})) ++refused;
  });
  CHECK(refused == 0);
  CHECK(per_user.peek(1, cost{0}).remaining == 0);
  CHECK(per_tenant.peek(2, cost{0}).remaining == 0);
  CHECK(site.peek(cost{0}).remaining == 0);
}

TEST_CASE(
    "four threads flip between two configurations while four ask: nobody sees a mixture, nor a moment without a "
    "limit") {
  manual_clock clock{1h};
  bucket<int> limit({.refill = per_second(10), .burst = 10}, clock);
  algorithm::token_bucket::config const small{.refill = per_second(10), .burst = 10},
      large{.refill = per_second(1'000), .burst = 1'000};
  std::atomic<std::uint64_t> admitted{0}, mixed{0};
  in_threads([&](int thread) {
    for (int i = 0; i < 3'000; ++i) {
      if (thread % 2 == 0) {
        limit.reconfigure(i % 2 == 0 ? large : small);
        continue;
      }
      // Full use is a second under both, and the clock stands: so ten units of the small one are the thousand of the
      // large.
      decision const d = limit.allow(7, cost{static_cast<std::uint64_t>(1 + i % 12)});
      bool const by_small = d.limit == 10, by_large = d.limit == 1'000;
      auto const unit = by_small ? 100ms : 1ms;
      bool whole = by_small || by_large;
      whole = whole && d.remaining <= d.limit && d.reset_after <= 1s && d.next_after <= unit;
      whole = whole && (d.outcome == verdict::never) == (by_small && i % 12 + 1 > 10);
      whole = whole && (d.outcome != verdict::limited || d.retry_after <= (1 + i % 12) * unit);
      whole = whole && (1s - d.reset_after) / unit == static_cast<std::int64_t>(d.remaining);
      if (!whole) ++mixed;
      if (d) admitted += 1 + static_cast<std::uint64_t>(i % 12);
    }
  });
  CHECK(mixed == 0);
  CHECK(admitted <= 1'000);
  CHECK(admitted >= 10);
  CHECK(limit.peek(7, cost{0}).reset_after <= 1s);
}

TEST_CASE("leases that are dropped or settled by many threads leave what was used, to the unit") {
  auto const check = []<class A>(std::type_identity<A>, typename A::config const& config) {
    INFO(A::name);
    manual_clock clock{1h};
    by_number<A> limit(config, clock);
    std::atomic<std::uint64_t> used{0};
    in_threads([&](int thread) {
      dice random(static_cast<std::uint64_t>(thread));
      for (int call = 0; call < 2'000; ++call) {
        auto lease = reserve(limit, 5, cost{1 + random.below(10)});
        if (!lease || random.below(2) == 0) continue;
        lease.commit(cost{1});
        ++used;
      }
    });
    CHECK(limit.peek(5, cost{0}).remaining == 20'000 - used);
  };
  check(std::type_identity<algorithm::token_bucket>{}, {.refill = per_hour(20'000)});
  check(std::type_identity<algorithm::fixed_window>{}, {.limit = per_hour(20'000)});
  check(std::type_identity<algorithm::sliding_log>{}, {.limit = per_hour(20'000)});
  check(std::type_identity<algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>>{},
        {{.refill = per_hour(20'000)}, {.limit = per_hour(30'000)}});
}

TEST_CASE("places in a line are due one interval apart, each promised once, however many threads queue") {
  manual_clock clock{1h};
  bucket<> limit({.refill = per_second(1'000), .burst = 1'000}, clock);
  CHECK(limit.allow(cost{1'000}));
  std::array<std::vector<std::int64_t>, threads> due;
  in_threads([&](int thread) {
    for (int call = 0; call < 1'000; ++call) {
      decision const d = acquire(limit, cost{1}, clock.now() + 1h, [](std::chrono::nanoseconds) {});
      if (d) due[static_cast<std::size_t>(thread)].push_back(d.delay / 1ms);
    }
  });
  std::vector<int> promised(1'000 * threads + 1);
  for (auto const& mine : due) {
    CHECK(std::is_sorted(mine.begin(), mine.end()));  // a thread's own calls are served in their order
    for (std::int64_t const at : mine) ++promised[static_cast<std::size_t>(at)];
  }
  CHECK(promised[0] == 0);
  CHECK(std::count(promised.begin() + 1, promised.end(), 1) == 1'000 * threads);
}

TEST_CASE("keys on changing plans stay within the plan that gives most") {
  enum class plan { free, basic };
  manual_clock clock{1h};
  tiered<token_bucket, plan, int, manual_clock> limit(
      {{plan::free, {per_minute(100)}}, {plan::basic, {per_minute(1'000)}}}, clock);
  std::atomic<std::uint64_t> admitted{0};
  in_threads([&](int thread) {
    for (int call = 0; call < 3'000; ++call)
      if (limit.allow(call % 4 == thread % 4 ? plan::free : plan::basic, 1)) ++admitted;
  });
  CHECK(admitted <= 1'000);
  CHECK_FALSE(limit.allow(plan::basic, 1));
}

TEST_CASE("a table is listed, saved and batched while others use it") {
  manual_clock clock{1h};
  bucket<int> limit({.refill = per_hour(1'000)}, {.max_keys = 2'000}, clock);
  std::atomic<std::uint64_t> wrong{0};
  in_threads([&](int thread) {
    for (int i = 0; i < 200; ++i) {
      if (thread == 0) {
        limit.for_each([&](int key, decision const& d) {
          if (key < -500 || key >= 500 || d.limit != 1'000) ++wrong;
        });
      } else if (thread == 1) {
        bucket<int> copy({.refill = per_hour(1'000)}, {.max_keys = 2'000}, clock);
        copy.restore(limit.snapshot());
        if (copy.stats().keys > 1'000) ++wrong;
      } else {
        std::vector<int> keys;
        for (int k = 0; k < 20; ++k) keys.push_back((i * 20 + k + thread * 37) % 1'000 - 500);
        std::vector<decision> answers(keys.size());
        limit.allow_each(keys, answers);
        for (decision const& d : answers)
          if (!d) ++wrong;
      }
    }
  });
  CHECK(wrong == 0);
  CHECK(limit.stats().keys == 1'000);
  std::uint64_t used = 0;
  limit.for_each([&](int, decision const& d) { used += 1'000 - d.remaining; });
  CHECK(used == 6 * 200 * 20);
}

TEST_CASE("an observer's counters add up") {
  manual_clock clock{1h};
  bucket<int> per_user({.refill = per_hour(100)}, clock);
  auto limits = stack(layer("user", per_user, [](int user) { return user; }));
  counters seen(limits);
  auto watched = observed(limits, seen);
  in_threads([&](int) {
    for (int call = 0; call < 500; ++call) static_cast<void>(watched.allow(call % 3).outcome);
  });
  std::string const text = seen.prometheus();
  CHECK(text.find("{layer=\"user\",verdict=\"admitted\"} 300\n") != std::string::npos);
  CHECK(text.find("{layer=\"user\",verdict=\"refused\"} 3700\n") != std::string::npos);
}
