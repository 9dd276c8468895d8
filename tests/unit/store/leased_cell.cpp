// store/leased_cell.hpp: threads lease a few units at a time. Here they step in turn, so that every run is the same.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/store/leased_cell.hpp>

#include "support/catch.hpp"
#include "unit/random.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace penstock;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {

using hot_bucket = token_bucket<no_key, manual_clock, store::leased_cell>;
using plain_bucket = token_bucket<no_key, manual_clock>;

/// A thread that does one thing at a time, when it is told to.
class worker {
 public:
  worker() : thread_([this] { work(); }) {}
  ~worker() {
    run({});
    thread_.join();
  }
  /// Returns when it is done; without a step, the thread ends.
  void run(std::function<void()> step) {
    std::unique_lock lock(mutex_);
    step_ = std::move(step);
    pending_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !pending_; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (bool more = true; more;) {
      changed_.wait(lock, [this] { return pending_; });
      more = static_cast<bool>(step_);
      if (more) step_();
      pending_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> step_;
  bool pending_ = false;
  std::thread thread_;  // last: it uses the others
};

void on_another_thread(auto step) { std::thread(step).join(); }

/// How many calls of one unit are admitted until one is refused.
std::uint64_t all_of_it(auto& limit) {
  std::uint64_t admitted = 0;
  while (limit.allow()) ++admitted;
  return admitted;
}

}  // namespace

TEST_CASE("a thread alone gets exactly what a plain cell gives, whatever the size") {
  for (std::uint64_t const size : {1U, 2U, 31U, 63U, 64U, 100U, 127U, 2'048U, 5'000U}) {
    INFO(size);
    hot_bucket limit({.refill = per_second(1'000), .burst = size});
    CHECK(all_of_it(limit) == size);
    decision const d = limit.allow();
    CHECK(d.outcome == verdict::limited);
    CHECK(d.retry_after == 1ms);
    CHECK(d.remaining == 0);
  }
}

TEST_CASE("threads that call until they are refused get exactly the limit, on a standing clock") {
  for (std::size_t const threads : {2U, 3U, 8U}) {
    hot_bucket limit({.refill = per_second(1'000), .burst = 3'000});
    std::vector<std::unique_ptr<worker>> all;
    for (std::size_t i = 0; i < threads; ++i) all.push_back(std::make_unique<worker>());
    std::uint64_t admitted = 0;
    dice random(20);
    for (int turn = 0; turn < 10'000; ++turn)
      all[random.below(threads)]->run([&] { admitted += limit.allow() ? 1 : 0; });
    for (auto& one : all) one->run([&] { admitted += all_of_it(limit); });
    CHECK(admitted == 3'000);
    for (auto& one : all) one->run([&] { admitted += limit.allow() ? 1 : 0; });
    CHECK(admitted == 3'000);
  }
}

TEST_CASE("after an idle time a thread's burst is one allowance, not its lease besides") {
  for (nanoseconds const idle : {nanoseconds{1ms}, nanoseconds{16ms}, nanoseconds{31ms}, nanoseconds{31900us},
                                 nanoseconds{32ms - 1ns}, nanoseconds{32ms}, nanoseconds{1h}}) {
    INFO("idle for " << idle.count() << " ns");
    manual_clock clock{100s};
    hot_bucket limit({.refill = per_second(1'000), .burst = 2'048}, clock);
    plain_bucket plain({.refill = per_second(1'000), .burst = 2'048}, clock);
    CHECK(limit.allow());
    CHECK(plain.allow());
    clock.advance(idle);
    CHECK(all_of_it(limit) <= all_of_it(plain));
  }
}

TEST_CASE("a lease that is given back late gives back no more than it still holds") {
  manual_clock clock{100s};
  hot_bucket limit({.refill = per_second(1'000), .burst = 2'048}, clock);
  std::uint64_t in_one_instant = 0;
  {
    worker early;
    early.run([&] { CHECK(limit.allow()); });
    clock.advance(20ms);
    in_one_instant += all_of_it(limit);
  }  // the thread ends, its lease is given back
  in_one_instant += all_of_it(limit);
  CHECK(in_one_instant <= 2'048);
}

TEST_CASE("the bound holds in every interval, however threads and time take turns") {
  // What a plain bucket admits is what lies within the bound in every interval; so it must admit the same calls.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    dice random(seed);
    std::uint64_t const size = std::array<std::uint64_t, 3>{64, 640, 2'048}[random.below(3)];
    auto const config = algorithm::token_bucket::config{.refill = per_second(1'000), .burst = size};
    manual_clock clock{100s};
    hot_bucket limit(config, clock);
    plain_bucket plain(config, clock);
    std::vector<std::unique_ptr<worker>> all;
    for (int i = 0; i < 3; ++i) all.push_back(std::make_unique<worker>());
    std::uint64_t above = 0, admitted = 0;
    for (int turn = 0; turn < 1'500; ++turn) {
      std::size_t const who = random.below(all.size());
      if (random.below(3) == 0)
        clock.advance(random.up_to(random.below(10) == 0 ? nanoseconds{3s} : nanoseconds{30ms}));
      if (random.below(50) == 0) all[who] = std::make_unique<worker>();  // the one before it ends
      std::uint64_t calls = random.below(4) == 0 ? random.below(200) : random.below(4);
      all[who]->run([&] {
        for (; calls > 0; --calls) {
          cost const c{1 + random.below(2)};
          if (!limit.allow(c)) continue;
          ++admitted;
          if (!plain.allow(c)) ++above;
        }
      });
    }
    INFO("seed " << seed << ", size " << size);
    CHECK(above == 0);
    CHECK(admitted > 1'000);
  }
}

TEST_CASE("a thread that ends gives back what it has not spent") {
  hot_bucket limit({.refill = per_second(1'000), .burst = 2'048});
  for (int i = 0; i < 10; ++i) on_another_thread([&] { CHECK(limit.allow()); });
  CHECK(limit.peek(cost{0}).remaining == 2'038);
  CHECK(all_of_it(limit) == 2'038);
}

TEST_CASE("what a silent thread holds is at most a lease, and comes back by itself") {
  manual_clock clock{100s};
  hot_bucket limit({.refill = per_second(1'000), .burst = 2'048}, clock);
  worker silent;
  silent.run([&] { CHECK(limit.allow()); });
  std::uint64_t const others = all_of_it(limit);
  CHECK(others >= 2'048 - 32);
  CHECK(others <= 2'047);
  clock.advance(10s);
  CHECK(all_of_it(limit) == 2'048);
  silent.run([&] { CHECK_FALSE(limit.allow()); });
}

TEST_CASE("small allowances are not leased away: at most one sixty-fourth, and at least the call itself") {
  hot_bucket limit({.refill = per_second(1'000), .burst = 100});
  worker other;
  other.run([&] { CHECK(limit.allow()); });
  CHECK(all_of_it(limit) == 99);
  hot_bucket larger({.refill = per_second(1'000), .burst = 640});
  larger.charge(cost{200});  // a bucket that is nearly full is not leased from at all
  other.run([&] { CHECK(larger.allow()); });
  CHECK(all_of_it(larger) == 430);
}

// ---- more than one cell, and the ends of them
// -------------------------------------------------------------------------------

TEST_CASE("a cell may be gone before the thread that has a lease of it") {
  worker survivor;
  for (int i = 0; i < 10; ++i) {
    auto limit = std::make_unique<hot_bucket>(hot_bucket::config{.refill = per_second(1'000), .burst = 2'048});
    survivor.run([&] { CHECK(limit->allow()); });
    limit.reset();
    hot_bucket next({.refill = per_second(1'000), .burst = 2'048});
    survivor.run([&] { CHECK(all_of_it(next) == 2'048); });
  }
}

TEST_CASE("two cells at once are two limits") {
  hot_bucket one({.refill = per_second(1'000), .burst = 2'048}), other({.refill = per_second(1'000), .burst = 1'000});
  std::uint64_t of_one = 0, of_other = 0;
  worker first, second;
  for (int turn = 0; turn < 3'000; ++turn)
    (turn % 2 == 0 ? first : second).run([&] {
      of_one += one.allow() ? 1 : 0;
      of_other += other.allow() ? 1 : 0;
    });
  for (worker* const w : {&first, &second})
    w->run([&] {
      of_one += all_of_it(one);
      of_other += all_of_it(other);
    });
  CHECK(of_one == 2'048);
  CHECK(of_other == 1'000);
}

TEST_CASE("a thread with more cells than it has places for leases is exact all the same") {
  std::vector<std::unique_ptr<hot_bucket>> cells;
  for (int i = 0; i < 11; ++i)
    cells.push_back(std::make_unique<hot_bucket>(hot_bucket::config{.refill = per_second(1'000), .burst = 2'048}));
  std::vector<std::uint64_t> admitted(cells.size());
  dice random(21);
  for (int call = 0; call < 11 * 3'000; ++call) {
    std::size_t const which = random.below(cells.size());
    admitted[which] += cells[which]->allow() ? 1 : 0;
    if (call == 20'000) {
      cells[3] = std::make_unique<hot_bucket>(hot_bucket::config{.refill = per_second(1'000), .burst = 2'048});
      admitted[3] = 0;
    }
  }
  for (std::size_t i = 0; i < cells.size(); ++i) CHECK(admitted[i] + all_of_it(*cells[i]) == 2'048);
}

// ---- everything else a limiter can do
// ---------------------------------------------------------------------------------------

TEST_CASE("costs of any size are leased with care") {
  manual_clock clock{100s};
  hot_bucket limit({.refill = per_second(1'000), .burst = 2'048}, clock);
  CHECK(limit.allow(cost{2'049}).outcome == verdict::never);
  CHECK(limit.allow(cost{0}).remaining == 2'048);
  CHECK(limit.allow(cost{1'000}));
  CHECK(limit.allow(cost{5}));
  CHECK(limit.allow(cost{1'043}));
  decision const d = limit.allow(cost{7});
  CHECK(d.outcome == verdict::limited);
  CHECK(d.retry_after == 7ms);
  clock.advance(7ms);
  CHECK(limit.allow(cost{7}));
  CHECK_FALSE(limit.allow());
}

TEST_CASE("a decision shows what is left as this thread knows it, and peek what is shared") {
  hot_bucket limit({.refill = per_second(1'000), .burst = 2'048});
  for (std::uint64_t i = 1; i <= 100; ++i) {
    decision const d = limit.allow();
    CHECK(d.limit == 2'048);
    CHECK(d.remaining == 2'048 - i);
    CHECK(d.reset_after == std::chrono::milliseconds{i});
    CHECK(limit.peek(cost{0}).remaining <= 2'048 - i);
    CHECK(limit.peek(cost{0}).remaining >= 2'048 - i - 31);
  }
}

TEST_CASE("charges, refunds, forgetting and waiting go to the shared state") {
  manual_clock clock{100s};
  hot_bucket limit({.refill = per_second(1'000), .burst = 2'048}, clock);
  limit.charge(cost{2'040});
  CHECK(all_of_it(limit) == 8);
  limit.charge(cost{10});
  CHECK(limit.allow().retry_after == 11ms);
  limit.refund(cost{15});
  CHECK(all_of_it(limit) == 5);
  CHECK(limit.allow_within(1s).delay == 1ms);
  limit.forget();
  CHECK(all_of_it(limit) == 2'048);
}

TEST_CASE("a new configuration ends the leases of the old one") {
  manual_clock clock{100s};
  hot_bucket limit({.refill = per_second(1'000), .burst = 2'048}, clock);
  CHECK(limit.allow());
  limit.reconfigure({.refill = per_second(10), .burst = 20});
  std::uint64_t const admitted = all_of_it(limit);
  CHECK(admitted <= 20);
  CHECK(admitted >= 19);
  CHECK(limit.allow().limit == 20);
}

TEST_CASE("a lease of the configuration before is not given back into the one in force") {
  manual_clock clock{0s};
  hot_bucket limit({.refill = per_second(1), .burst = 2'048}, clock);
  auto first = std::make_unique<worker>();
  worker second;
  first->run([&] {
    CHECK(limit.allow(cost{40}));
    CHECK(limit.allow());
  });
  clock.set(1s);
  limit.reconfigure({.refill = per_second(1'000), .burst = 2'048});
  second.run([&] { static_cast<void>(limit.allow()); });
  clock.set(3s);
  std::uint64_t admitted = 0;
  second.run([&] { admitted += limit.allow(cost{2'000}) ? 2'000 : 0; });
  first.reset();  // its thread ends
  second.run([&] { admitted += limit.allow(cost{2'048}) ? 2'048 : 0; });
  CHECK(admitted <= 2'048);
}

TEST_CASE("when a bucket may be full is asked in the units that leases were taken in") {
  manual_clock clock{0s};
  hot_bucket limit({.refill = per_second(1), .burst = 2'048}, clock);
  auto first = std::make_unique<worker>();
  first->run([&] {
    CHECK(limit.allow(cost{40}));
    CHECK(limit.allow());  // a lease: 31 units of a second each
  });
  limit.reconfigure({.refill = per_second(1'000), .burst = 1'000'000});
  clock.set(60s);  // full by now, but for that lease
  CHECK(limit.allow(cost{980'000}));
  first.reset();
  CHECK_FALSE(limit.allow(cost{20'001}));
}

TEST_CASE("a clock that lags behind a lease, or is set back, mints nothing") {
  manual_clock clock{100s};
  hot_bucket limit({.refill = per_second(1'000), .burst = 2'048}, clock);
  CHECK(limit.allow());
  clock.advance(-1s);
  std::uint64_t admitted = 1 + all_of_it(limit);
  CHECK(admitted <= 2'048);
  clock.set(100s);
  CHECK(admitted + all_of_it(limit) <= 2'048);
}

TEST_CASE("only what adds up can be leased, and only without a key") {
  token_bucket<no_key, manual_clock, store::leased_cell> bucket({.refill = per_second(1'000), .burst = 2'048});
  leaky_meter<no_key, manual_clock, store::leased_cell> meter({.drain = per_second(1'000), .capacity = 2'048});
  CHECK(all_of_it(bucket) == 2'048);
  CHECK(all_of_it(meter) == 2'048);
}
