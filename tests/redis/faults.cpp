// What goes wrong, and what it costs: the decision, the time, the count, the connection.

#include "support/fake_server.hpp"
#include "support/server.hpp"

#include <support/catch.hpp>

#include <penstock/penstock.hpp>

#include <atomic>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using namespace penstock::literals;
using penstock::cost;
using penstock::verdict;
using redis_limiter = penstock::redis::token_bucket<std::string>;
namespace redis = penstock::redis;
using std::chrono::steady_clock;

constexpr auto timeout = 40ms, slack = 60ms;  // other programs share the processors
constexpr auto told = 7s;                     // what the policy tells

redis::options settings(std::chrono::nanoseconds t = timeout) { return {.timeout = t, .deny_cache = 0, .breaker = {.failures_in_a_row = 1000, .window_calls = 1000}}; }

/// A limiter of 100 units over a pool of its own.
struct subject {
  explicit subject(redis::endpoint const& at, redis::pool_options const& pooled = {}, redis::options const& o = settings())
      : pool(at, pooled), limited(pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, o) {}

  /// Asks, and sees to it that the answer came in time.
  redis::remote_decision ask(std::string_view key = "k") {
    auto const begun = steady_clock::now();
    auto const d = limited.allow(key);
    took = steady_clock::now() - begun;
    CHECK(took < limit + slack);
    return d;
  }
  redis::hiredis_pool pool;
  redis_limiter limited;
  std::chrono::nanoseconds took{}, limit = timeout;
};

void check_degraded(redis::remote_decision const& d, redis::errc why) {
  CHECK(d.outcome == verdict::limited);
  CHECK(d.from == redis::origin::policy);
  CHECK(d.retry_after == told);
  CHECK(d.error == why);
}
void check_admitted(redis::remote_decision const& d, std::uint64_t remaining) {
  CHECK(d.error.message() == std::error_code{}.message());
  CHECK(d.outcome == verdict::admitted);
  CHECK(d.from == redis::origin::redis);
  CHECK(d.remaining == remaining);
}
std::uint64_t used(test::server const& s) {
  subject witness(s.at(), {}, settings(5s));
  return 100 - witness.limited.peek("k", cost{0}).remaining;
}

}  // namespace

TEST_CASE("killed in mid-call: the call ends at once, is not repeated, and its connection is closed") {
  test::server server;
  subject s(server.at(), {}, settings(2s));
  s.limit = 1s;
  check_admitted(s.ask(), 99);
  server.freeze();
  std::thread killer([&] {
    std::this_thread::sleep_for(50ms);
    server.stop();
  });
  check_degraded(s.ask(), redis::errc::closed);
  killer.join();
  CHECK(s.limited.stats().maybe_counted == 1);
  CHECK(s.pool.stats().open == 0);

  s.limit = 100ms;
  check_degraded(s.ask(), redis::errc::refused);  // nobody listens
  CHECK(s.limited.stats().maybe_counted == 1);

  server.restart();  // with nothing kept, no script either
  s.limit = 2s;
  check_admitted(s.ask(), 99);
  CHECK(s.limited.stats().script_loads == 2);
  CHECK(used(server) == 1);
}

TEST_CASE("a script cache that is flushed all the time costs a second try, and no count") {
  test::server server;
  subject s(server.at(), {}, settings(5s));
  s.limit = 5s;
  std::atomic<bool> done{false};
  std::thread flusher([&] {
    redis::hiredis_pool pool(server.at());
    while (!done) test::say(pool, {"SCRIPT", "FLUSH"});
  });
  int admitted = 0, no_script = 0;
  for (int i = 0; i < 60; ++i) {
    auto const d = s.ask();
    admitted += static_cast<bool>(d);
    no_script += d.error == redis::errc::no_script;
  }
  done = true;
  flusher.join();
  CHECK(admitted == 60);
  CHECK(no_script == 0);
  CHECK(used(server) == 60);
  CHECK(s.pool.stats().dropped == 0);
}

TEST_CASE("a server that sleeps: the call ends at its deadline, counted once or not at all, and the late reply reaches nobody") {
  test::server server({"--enable-debug-command", "yes"});
  subject s(server.at());
  s.limit = 2s;
  check_admitted(redis_limiter(s.pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, settings(2s)).allow("k"), 99);
  s.limit = timeout;
  std::thread sleeper([&] {
    redis::hiredis_pool pool(server.at());
    test::say(pool, {"DEBUG", "SLEEP", "0.3"});
  });
  std::this_thread::sleep_for(50ms);
  check_degraded(s.ask(), redis::errc::timeout);
  CHECK(s.took >= timeout);
  CHECK(s.pool.stats().open == 0);
  sleeper.join();
  CHECK(s.limited.stats().maybe_counted == 1);
  CHECK(used(server) == 2);  // it ran when the server woke, and it ran once
}

TEST_CASE("answers that say `not now` are not waited for, count nothing, and leave the connection as it is") {
  test::server server({"--busy-reply-threshold", "20", "--enable-debug-command", "yes"});
  subject s(server.at(), {}, settings(2s));
  s.limit = 2s;
  redis::hiredis_pool admin(server.at());
  check_admitted(s.ask(), 99);

  SECTION("BUSY: another script does not end") {
    std::thread busy([&] {
      redis::hiredis_pool pool(server.at());
      test::say(pool, {"EVAL", "while true do end", "0"}, 10s);
    });
    std::this_thread::sleep_for(100ms);
    check_degraded(s.ask(), redis::errc::unavailable);
    while (test::say(admin, {"SCRIPT", "KILL"}).is == redis::reply::kind::error) std::this_thread::sleep_for(5ms);
    busy.join();
  }
  SECTION("READONLY: it has become a replica") {
    test::say(admin, {"REPLICAOF", "127.0.0.1", "1"});
    check_degraded(s.ask(), redis::errc::unavailable);
    test::say(admin, {"REPLICAOF", "NO", "ONE"});
  }
  SECTION("MASTERDOWN: a replica without its master") {
    test::say(admin, {"CONFIG", "SET", "replica-serve-stale-data", "no"});
    test::say(admin, {"REPLICAOF", "127.0.0.1", "1"});
    check_degraded(s.ask(), redis::errc::unavailable);
    test::say(admin, {"REPLICAOF", "NO", "ONE"});
  }
  SECTION("OOM: no memory left, and nothing may be evicted") {
    test::say(admin, {"CONFIG", "SET", "maxmemory", "1"});
    check_degraded(s.ask(), redis::errc::unavailable);
    test::say(admin, {"CONFIG", "SET", "maxmemory", "0"});
  }
  SECTION("NOREPLICAS: too few replicas to write") {
    test::say(admin, {"CONFIG", "SET", "min-replicas-to-write", "1"});
    check_degraded(s.ask(), redis::errc::unavailable);
    test::say(admin, {"CONFIG", "SET", "min-replicas-to-write", "0"});
  }
  CHECK(s.limited.stats().maybe_counted == 0);
  CHECK(s.pool.stats().dropped == 0);
  CHECK(used(server) == 1);
}

TEST_CASE("LOADING: a server that reads its data answers, but does not serve") {
  test::server server({"--dbfilename", "dump.rdb", "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"});
  subject s(server.at(), {}, settings(2s));
  s.limit = 2s;
  redis::hiredis_pool admin(server.at());
  for (int i = 0; i < 500; ++i) test::say(admin, {"SET", "filler" + std::to_string(i), std::string(64, 'x')});
  check_admitted(s.ask(), 99);
  test::say(admin, {"SAVE"});
  server.stop();
  server.start();
  redis::remote_decision d = s.ask();  // over the old connection, which has ended
  CHECK(d.error == redis::errc::closed);
  for (auto const until = steady_clock::now() + 5s; d.error != redis::errc::unavailable && steady_clock::now() < until; d = s.ask()) std::this_thread::sleep_for(1ms);
  check_degraded(d, redis::errc::unavailable);
  CHECK(server.is_up(10s));
  CHECK(used(server) == 1);
}

TEST_CASE("a wrong or missing password is told as a misconfiguration, not as an outage") {
  test::server server({"--requirepass", "right"});
  auto at = server.at();
  {
    subject without(at, {}, settings(2s));
    without.limit = 2s;
    for (int i = 0; i < 10; ++i) check_degraded(without.ask(), redis::errc::misconfigured);
    CHECK_FALSE(without.limited.breaker_is_open());
    CHECK(without.limited.stats().misconfigured == 10);
  }
  at.password = "wrong";
  subject wrong(at, {}, settings(2s));
  wrong.limit = 2s;
  check_degraded(wrong.ask(), redis::errc::misconfigured);
  CHECK(wrong.pool.stats().open == 0);
  at.password = "right";
  at.database = 3;
  subject right(at, {}, settings(2s));
  right.limit = 2s;
  check_admitted(right.ask(), 99);
}

TEST_CASE("a key that holds something else is an error of that key alone, and is left as it is") {
  auto& server = test::shared_server();
  subject s(server.at(), {}, settings(5s));
  s.limit = 5s;
  std::string const key = redis::key_of("odd", "f");
  SECTION("WRONGTYPE") {
    test::say(s.pool, {"LPUSH", key, "1"});
    check_degraded(s.ask("odd"), redis::errc::bad_state);
    CHECK(test::say(s.pool, {"TYPE", key}).text == "list");
  }
  SECTION("garbage") {
    for (std::string_view const garbage : {"garbage", "", "-5", "1e5", "nan", "1 2 3 4", "0x10", "12\n"}) {
      INFO(garbage);
      test::say(s.pool, {"SET", key, garbage});
      check_degraded(s.ask("odd"), redis::errc::bad_state);
      CHECK(test::say(s.pool, {"GET", key}).text == garbage);
    }
  }
  CHECK_FALSE(s.limited.breaker_is_open());
  CHECK(s.ask("even").outcome == verdict::admitted);
  CHECK_FALSE(s.limited.forget("odd"));
  CHECK(s.ask("odd").outcome == verdict::admitted);
  CHECK(s.pool.stats().dropped == 0);
  s.limited.forget("odd");
  s.limited.forget("even");
}

TEST_CASE("an idle connection that the server closed") {
  test::server server;
  redis::hiredis_pool admin(server.at());
  SECTION("is noticed before use, when it was idle for long") {
    subject s(server.at(), {.check_after = 0s}, settings(2s));
    s.limit = 2s;
    check_admitted(s.ask(), 99);
    test::say(admin, {"CLIENT", "KILL", "TYPE", "normal"});
    check_admitted(s.ask(), 98);
    CHECK(s.pool.stats().dropped == 1);
  }
  SECTION("costs one degraded answer otherwise, because the command might have run") {
    subject s(server.at(), {}, settings(2s));
    s.limit = 2s;
    check_admitted(s.ask(), 99);
    test::say(admin, {"CLIENT", "KILL", "TYPE", "normal"});
    check_degraded(s.ask(), redis::errc::closed);
    CHECK(s.pool.stats().open == 0);
    check_admitted(s.ask(), 98);
  }
}

TEST_CASE("nobody listens: refused at once, and tried again within the deadline at most once") {
  std::uint16_t const nobody = test::free_port();
  subject s({.host = "127.0.0.1", .port = nobody});
  check_degraded(s.ask(), redis::errc::refused);
  CHECK(s.limited.stats().maybe_counted == 0);
  CHECK(s.pool.stats().made == 2);
  CHECK(s.pool.stats().open == 0);
}

TEST_CASE("a server that accepts and hangs: until the deadline, no longer") {
  test::fake_server fake([](auto& visit, int) {
    while (visit.hear()) {
    }
  });
  subject s({.host = "127.0.0.1", .port = fake.port()}, {.size = 1});
  check_degraded(s.ask(), redis::errc::timeout);
  CHECK(s.took >= timeout);
  CHECK(s.pool.stats().open == 0);

  redis::remote_decision d;
  std::thread first([&] { d = s.limited.allow("k"); });
  while (s.pool.stats().open == 0) std::this_thread::yield();
  check_degraded(redis_limiter(s.pool, "f", {.refill = "1/s"_rate}, redis::fail_closed{told}, settings(5ms)).allow("k"), redis::errc::pool_timeout);
  first.join();
  check_degraded(d, redis::errc::timeout);
}

TEST_CASE("a server that drips: one absolute deadline, not one for each byte") {
  test::fake_server fake([](auto& visit, int) {
    if (!visit.hear()) return;
    for (char const byte : std::string_view("*4\r\n:1\r\n:1\r\n:1\r\n:0\r\n")) {
      if (visit.stopped()) return;
      visit.say({&byte, 1});
      visit.pause(40ms);
    }
  });
  subject s({.host = "127.0.0.1", .port = fake.port()}, {}, settings(150ms));
  s.limit = 150ms;
  check_degraded(s.ask(), redis::errc::timeout);
  CHECK(s.took >= 150ms);
  CHECK(s.pool.stats().open == 0);
}

TEST_CASE("an integer cut short is not read as a smaller one") {
  test::fake_server fake([](auto& visit, int) {
    if (visit.hear()) visit.say("*4\r\n:1\r\n:176");
  });
  subject s({.host = "127.0.0.1", .port = fake.port()}, {}, settings(1s));
  s.limit = 1s;
  check_degraded(s.ask(), redis::errc::closed);
  CHECK(s.took < 1s);
  CHECK(s.limited.stats().maybe_counted == 1);
  CHECK(s.pool.stats().open == 0);
}

TEST_CASE("answers that are none: the connection is closed on them") {
  for (std::string_view const nonsense : {"HTTP/1.1 400 Bad Request\r\n\r\n", "+OK\r\n", ":1\r\n", "*4\r\n:1\r\n:5\r\n:5\r\n:0\r\n:9\r\n", "*4\r\n:1\r\n$1\r\nx\r\n:0\r\n:0\r\n", "*3\r\n:1\r\n:5\r\n:5\r\n", "*4\r\n:0\r\n:5\r\n:5\r\n:0\r\n", "$-1\r\n"}) {
    INFO(nonsense);
    test::fake_server fake([&](auto& visit, int) {
      while (visit.hear()) visit.say(nonsense);
    });
    subject s({.host = "127.0.0.1", .port = fake.port()}, {}, settings(1s));
    s.limit = 1s;
    check_degraded(s.ask(), redis::errc::bad_reply);
  }
}

TEST_CASE("an answer that comes late is never taken for that of the next call") {
  test::fake_server fake([](auto& visit, int number) {
    if (!visit.hear()) return;
    if (number == 0) {
      visit.pause(80ms);
      visit.say("*4\r\n:1\r\n:1764000000000000\r\n:1764000000000000\r\n:0\r\n");  // admitted
    } else {
      visit.say("-LOADING\r\n");
    }
    while (visit.hear()) {
    }
  });
  subject s({.host = "127.0.0.1", .port = fake.port()});
  check_degraded(s.ask(), redis::errc::timeout);
  std::this_thread::sleep_for(100ms);
  check_degraded(s.ask(), redis::errc::unavailable);
  CHECK(fake.visitors() == 2);
}

TEST_CASE("the breaker: after five failures nobody waits, a probe finds the server back, and the local share decides meanwhile") {
  test::server server;
  redis::hiredis_pool pool(server.at());
  redis::options o{.timeout = 500ms, .deny_cache = 0, .breaker = {.first_pause = 30ms, .longest_pause = 60ms}};
  redis_limiter limited(pool, "f", {.refill = "100/10 d"_rate}, redis::local{0.25}, o);
  for (int i = 0; i < 10; ++i) CHECK(limited.allow("k").from == redis::origin::redis);
  server.stop();
  for (int i = 0; i < 5; ++i) CHECK(limited.allow("k").from == redis::origin::local);
  CHECK(limited.breaker_is_open());
  auto const begun = steady_clock::now();
  int admitted = 0;
  for (int i = 0; i < 50; ++i) {
    auto const d = limited.allow("k");
    CHECK(d.from == redis::origin::local);
    CHECK(d.error);
    admitted += static_cast<bool>(d);
  }
  CHECK(steady_clock::now() - begun < 100ms);
  CHECK(admitted == 10);  // a quarter of 100, of which 10 + 5 are spent: kept warm
  server.restart();
  auto const until = steady_clock::now() + 3s;
  while (limited.breaker_is_open() && steady_clock::now() < until) {
    std::this_thread::sleep_for(5ms);
    (void)limited.allow("k");
  }
  CHECK_FALSE(limited.breaker_is_open());
  CHECK(limited.allow("k").from == redis::origin::redis);
  CHECK(limited.stats().breaker_opened >= 1);
}
