// The same answers as in process: random vectors, times in whole microseconds, through both.

#include "support/server.hpp"
#include "support/standing_clock.hpp"

#include <support/catch.hpp>

#include <penstock/penstock.hpp>

#include <cstdint>
#include <random>
#include <string>

namespace {

using namespace std::chrono_literals;
using penstock::cost;
using penstock::decision;
namespace algorithm = penstock::algorithm;
namespace redis = penstock::redis;
using wall = std::chrono::system_clock::time_point;

using clocked = test::standing_clock<redis::hiredis_pool>;
redis::options const patient{.timeout = 5s, .deny_cache = 0};

std::int64_t microseconds_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}
wall at(std::int64_t us) { return wall{std::chrono::microseconds{us}}; }

std::string shown(decision const& d) {
  auto const n = [](auto wait) { return std::to_string(wait.count()); };
  return std::to_string(static_cast<int>(d.outcome)) + " rule " + std::to_string(d.rule) + " of " +
         std::to_string(d.limit) + " left " + std::to_string(d.remaining) + " retry " + n(d.retry_after) + " reset " +
         n(d.reset_after) + " next " + n(d.next_after) + " delay " + n(d.delay);
}

/// Steps of about `stride`, now and then a leap ahead or a reading behind; costs up to `most`.
template <class A>
void compare(typename A::config const& config, std::int64_t stride, std::uint64_t most, int steps, unsigned seed) {
  clocked transport(test::shared_pool());
  redis::limiter<A, std::string, clocked> remote(transport, test::fresh_id("golden"), config, redis::fail_closed{1h},
                                                 patient);
  using one =
      penstock::limiter<A, penstock::no_key, std::chrono::system_clock>;  // one for each key: no store comes in between
  one locals[3] = {one(config), one(config), one(config)};
  std::mt19937 random(seed);
  auto const below = [&](std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random); };
  std::int64_t now = microseconds_now();
  std::int64_t const full_use = A(config).full_use().count() / 1000;
  std::string const keys[] = {"a", "b", ""};
  int admitted = 0, limited = 0, never = 0;
  std::int64_t wait = 0;  // that the last refusal told
  for (int step = 0; step < steps; ++step) {
    if (step % 150 == 149)
      now -= static_cast<std::int64_t>(
          below(static_cast<std::uint64_t>(5 * full_use + 150'000'000)));  // the clock is set back
    switch (below(20)) {
      case 0:
        now += 20 * stride;
        break;
      case 1:
        now -= static_cast<std::int64_t>(below(static_cast<std::uint64_t>(2 * stride)));
        break;
      case 2:
        break;
      case 3:
        now += wait;
        break;  // exactly when it will be admitted
      case 4:
        now += std::max<std::int64_t>(wait - 1, 0);
        break;
      default:
        now += static_cast<std::int64_t>(below(static_cast<std::uint64_t>(stride)));
    }
    transport.now = now;
    std::size_t const which = below(3);
    auto const& key = keys[which];
    auto& local = locals[which];
    cost const c{below(30) == 0 ? most + 1000 : below(4) == 0 ? below(most + 2) : 1};
    std::string what;
    decision ours, theirs;
    std::error_code error;
    switch (below(12)) {
      case 0: {
        what = "charge";
        error = remote.charge(key, c);
        local.charge_at(at(now), c);
        auto const d = remote.peek(key, cost{0});
        ours = d;
        theirs = local.peek_at(at(now), cost{0});
        break;
      }
      case 1: {
        what = "take and undo";
        auto ticket = remote.take({}, key, c);
        auto own = local.take(at(now), {}, c);
        error = ticket.answer.error;
        remote.undo(std::move(ticket));
        local.undo(std::move(own));
        ours = remote.peek(key, cost{0});
        theirs = local.peek_at(at(now), cost{0});
        break;
      }
      case 2: {
        what = "refund";
        error = remote.refund(key, c);
        local.refund_at(at(now), c);
        ours = remote.peek(key);
        theirs = local.peek_at(at(now));
        break;
      }
      case 3: {
        what = "peek";
        auto const d = remote.peek(key, c);
        error = d.error;
        ours = d;
        theirs = local.peek_at(at(now), c);
        break;
      }
      default: {
        what = "allow";
        auto const d = remote.allow(key, c);
        error = d.error;
        ours = d;
        theirs = local.allow_at(at(now), c);
        admitted += ours.outcome == penstock::verdict::admitted;
        limited += ours.outcome == penstock::verdict::limited;
        never += ours.outcome == penstock::verdict::never;
        if (ours.outcome == penstock::verdict::limited)
          wait = ceil<std::chrono::microseconds>(ours.retry_after).count();
      }
    }
    INFO(A::name << " step " << step << ": " << what << " " << c.units << " of \"" << key << "\" at " << now);
    REQUIRE(error.message() == std::error_code{}.message());
    REQUIRE(shown(ours) == shown(theirs));
  }
  CHECK(admitted > steps / 20);
  CHECK(limited > steps / 50);
  CHECK(never > 0);
}

constexpr int steps = 1200;

}  // namespace

TEST_CASE("bucket, meter and queue answer as in process, also where the interval is no whole number of microseconds") {
  compare<algorithm::token_bucket>({.refill = penstock::per_second(10), .burst = 20}, 100'000, 20, steps, 1);
  compare<algorithm::token_bucket>({.refill = penstock::per_second(3), .burst = 3}, 333'334, 3, steps, 2);
  compare<algorithm::token_bucket>({.refill = penstock::per_second(7), .burst = 1}, 150'000, 1, steps, 3);
  compare<algorithm::token_bucket>({.refill = penstock::per_second(12'345), .burst = 400}, 100, 400, steps, 4);
  compare<algorithm::token_bucket>({.refill = penstock::per(1, std::chrono::hours{24 * 30}), .burst = 2},
                                   1'000'000'000'000, 2, steps, 5);
  compare<algorithm::leaky_meter>({.drain = penstock::per_minute(99), .capacity = 13}, 600'000, 13, steps, 6);
  compare<algorithm::leaky_queue>({.drain = penstock::per_second(13), .capacity = 5}, 70'000, 5, steps, 7);
}

TEST_CASE("windows answer as in process") {
  compare<algorithm::fixed_window>({.limit = penstock::per_minute(30)}, 2'000'000, 30, steps, 11);
  compare<algorithm::fixed_window>({.limit = penstock::per_second(7), .starts = penstock::window_start::first_request},
                                   100'000, 7, steps, 12);
  compare<algorithm::fixed_window>({.limit = penstock::per_day(10)}, 3'600'000'000, 10, steps, 13);
  compare<algorithm::sliding_counter>({.limit = penstock::per_minute(30)}, 2'000'000, 30, steps, 14);
  compare<algorithm::sliding_counter>({.limit = penstock::per(1'000'000'000, std::chrono::hours{24 * 365})},
                                      80'000'000'000, 1'000'000'000, steps, 15);
  compare<algorithm::sliding_log>({.limit = penstock::per_second(20)}, 60'000, 20, steps, 16);
  compare<algorithm::sliding_log>({.limit = penstock::per_minute(3)}, 15'000'000, 3, steps, 17);
}

TEST_CASE("several rules on one key answer as in process") {
  using two = algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>;
  compare<two>({{.refill = penstock::per_second(10), .burst = 5}, {.limit = penstock::per_minute(100)}}, 150'000, 5,
               steps, 21);
  using three = algorithm::all_of<algorithm::leaky_queue, algorithm::sliding_counter, algorithm::sliding_log>;
  compare<three>({{.drain = penstock::per_second(7), .capacity = 9},
                  {.limit = penstock::per_second(8)},
                  {.limit = penstock::per_minute(60)}},
                 150'000, 9, steps, 22);
}

TEST_CASE("stacks answer as in process, also after the clock was set back") {
  struct request {
    std::string user;
    std::uint64_t size;
  };
  clocked transport(test::shared_pool());
  auto const policy = redis::fail_closed{1h};
  redis::token_bucket<std::string, clocked> bucket(transport, test::fresh_id("stack"),
                                                   {.refill = penstock::per_second(7), .burst = 9}, policy, patient);
  redis::fixed_window<std::string, clocked> window(transport, test::fresh_id("stack"),
                                                   {.limit = penstock::per_minute(60)}, policy, patient);
  redis::sliding_log<std::string, clocked> bytes(transport, test::fresh_id("stack"), {.limit = penstock::per(40, 10s)},
                                                 policy, patient);
  using clock = std::chrono::system_clock;
  penstock::token_bucket<std::string, clock> own_bucket({.refill = penstock::per_second(7), .burst = 9});
  penstock::fixed_window<std::string, clock> own_window({.limit = penstock::per_minute(60)});
  penstock::sliding_log<std::string, clock> own_bytes({.limit = penstock::per(40, 10s)});
  auto const join = [](auto stack, auto& b, auto& w, auto& l) {
    return stack(penstock::layer("bucket", b, &request::user), penstock::layer("window", w, &request::user),
                 penstock::layer("bytes", l, &request::user).costs(&request::size));
  };
  auto remote = join([](auto... layers) { return redis::stack(layers...); }, bucket, window, bytes);
  auto local = join([](auto... layers) { return penstock::stack(layers...); }, own_bucket, own_window, own_bytes);

  std::mt19937 random(31);
  std::int64_t now = microseconds_now();
  int admitted = 0, refused = 0;
  for (int step = 0; step < 3 * steps; ++step) {
    now += std::uniform_int_distribution<std::int64_t>(0, 150'000)(random);
    if (random() % 50 == 0) now += 20'000'000;
    transport.now = now;
    request const r{random() % 2 ? "a" : "b", random() % 6};
    cost const c{random() % 8 == 0 ? random() % 11 : 1};
    bool const peek = random() % 10 == 0;
    auto const ours = peek ? remote.peek(r, c) : remote.allow(r, c);
    auto const theirs = peek ? local.peek_at(at(now), r, c) : local.allow_at(at(now), r, c);
    INFO("step " << step << (peek ? ": peek " : ": allow ") << c.units << " of " << r.user << ", size " << r.size);
    REQUIRE_FALSE(ours.error);
    REQUIRE(ours.outcome == theirs.outcome);
    REQUIRE(ours.remaining == theirs.remaining);
    REQUIRE(ours.retry_after == theirs.retry_after);
    REQUIRE(ours.limited_by() == theirs.limited_by());
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(shown(ours.layers()[i].decision) == shown(theirs.layers()[i].decision));
    ++(ours ? admitted : refused);
  }
  CHECK(admitted > steps / 2);
  CHECK(refused > steps / 2);

  now -= 3'600'000'000;  // nobody is locked out longer than the tolerance and two windows
  transport.now = now;
  REQUIRE_FALSE(remote.allow(request{"a", 1}));
  transport.now = now + 2 * 60'000'000 + 60'000'000;
  CHECK(remote.allow(request{"a", 1}));
}
