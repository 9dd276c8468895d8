// What goes wrong on a real server, and what it costs: the decision, the time, the count, the connection.

#include "support/subject.hpp"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

using namespace test;

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

TEST_CASE(
    "a server that sleeps: the call ends at its deadline, counted once or not at all, and the late reply reaches "
    "nobody") {
  test::server server({"--enable-debug-command", "yes"});
  subject s(server.at());
  s.limit = 2s;
  check_admitted(
      redis_limiter(s.pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, settings(2s)).allow("k"), 99);
  s.limit = timeout;
  std::thread sleeper([&] {
    redis::hiredis_pool pool(server.at());
    test::say(pool, {"DEBUG", "SLEEP", "0.3"});
  });
  std::this_thread::sleep_for(50ms);
  check_degraded(s.ask(), redis::errc::timeout);
  s.check_waited();
  CHECK(s.pool.stats().open == 0);
  sleeper.join();
  CHECK(s.limited.stats().maybe_counted == 1);
  CHECK(used(server) == 2);  // it ran when the server woke, and it ran once
}

TEST_CASE("a frozen server: each call ends at its deadline and costs a connection, and is counted once or not at all") {
  test::server server;
  subject s(server.at());
  s.limit = 2s;
  check_admitted(
      redis_limiter(s.pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, settings(2s)).allow("k"), 99);
  s.limit = timeout;
  server.freeze();  // the system still accepts for it
  for (std::uint64_t call = 1; call <= 5; ++call) {
    check_degraded(s.ask(), redis::errc::timeout);
    s.check_waited();
    CHECK(s.limited.stats().maybe_counted == call);
    CHECK(s.pool.stats().open == 0);
    CHECK(s.pool.stats().dropped == call);
  }
  server.thaw();
  auto const counted = used(server);
  CHECK(counted >= 1);
  CHECK(counted <= 6);
  check_admitted(
      redis_limiter(s.pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, settings(2s)).allow("k"),
      99 - counted);
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
  SECTION("MISCONF: it could not save, and so writes nothing more") {
    std::filesystem::create_directory(server.folder() + "/dump.rdb");  // in the way of the file
    test::say(admin, {"CONFIG", "SET", "save", "3600 1"});
    test::say(admin, {"BGSAVE"});
    auto const failed = [&] {
      return test::say(admin, {"INFO", "persistence"}).text.find("rdb_last_bgsave_status:err") != std::string::npos;
    };
    for (auto const until = steady_clock::now() + 5s; !failed() && steady_clock::now() < until;)
      std::this_thread::sleep_for(5ms);
    REQUIRE(failed());
    check_degraded(s.ask(), redis::errc::unavailable);
    test::say(admin, {"CONFIG", "SET", "save", ""});
  }
  CHECK(s.limited.stats().maybe_counted == 0);
  CHECK(s.pool.stats().dropped == 0);
  CHECK(used(server) == 1);
}

TEST_CASE("LOADING: a server that reads its data answers, but does not serve") {
  test::server server(
      {"--dbfilename", "dump.rdb", "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"});
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
  for (auto const until = steady_clock::now() + 5s; d.error != redis::errc::unavailable && steady_clock::now() < until;
       d = s.ask())
    std::this_thread::sleep_for(1ms);
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

namespace {

/// Whatever can be asked of a limiter; the first error.
template <class A>
std::error_code everything_asked(redis::hiredis_pool& pool, typename A::config const& config) {
  redis::limiter<A, std::string, redis::hiredis_pool> limited(pool, "f", config, redis::fail_closed{told},
                                                              settings(2s));
  std::error_code first;
  auto const note = [&](std::error_code e) { first = first ? first : e; };
  for (int i = 0; i < 3; ++i) note(limited.allow("user", cost{2}).error);
  note(limited.peek("user").error);
  limited.charge("user", cost{2});
  limited.refund("user", cost{1});
  note(limited.allow("user").error);
  note(limited.forget("user"));
  CHECK((limited.stats().degraded == 0) == !first);
  return first;
}

}  // namespace

TEST_CASE("a user with the permissions that docs/redis.md names may all that the script does; with fewer it is told") {
  test::server server;
  redis::hiredis_pool admin(server.at());
  auto at = server.at();
  at.user = "limiter", at.password = "secret";
  std::vector<std::string_view> permitted{"ACL",          "SETUSER",  "limiter",  "on",      ">secret",
                                          "~penstock1:*", "+evalsha", "+eval",    "+time",   "+get",
                                          "+psetex",      "+del",     "+llen",    "+lindex", "+ltrim",
                                          "+rpush",       "+lrem",    "+pexpire", "+select", "+asking"};
  REQUIRE(test::say(admin, permitted).text == "OK");
  at.database = 3;
  redis::hiredis_pool pool(at);
  using namespace penstock::algorithm;
  CHECK_FALSE(everything_asked<token_bucket>(pool, {.refill = "7/h"_rate, .burst = 5}));
  CHECK_FALSE(everything_asked<leaky_queue>(pool, {.drain = "5/h"_rate, .capacity = 5}));
  CHECK_FALSE(everything_asked<fixed_window>(pool, {.limit = "5/h"_rate}));
  CHECK_FALSE(everything_asked<sliding_counter>(pool, {.limit = "5/h"_rate}));
  CHECK_FALSE(everything_asked<sliding_log>(pool, {.limit = "3/100ms"_rate}));
  std::string_view const get[] = {"GET", "penstock1:{k}f"};
  auto const ask_for = [&] { return pool.execute_asking({get, get[1]}, steady_clock::now() + 2s)->text; };
  CHECK(ask_for() == "ERR This instance has cluster support disabled");  // ASKING was answered so, and GET not sent
  REQUIRE(test::say(admin, {"ACL", "SETUSER", "limiter", "-asking", "-select"}).text == "OK");
  CHECK(redis::classify(ask_for()) == redis::errc::misconfigured);
  CHECK(ask_for().starts_with("NOPERM"));
  CHECK(redis::hiredis_pool(at).execute({get, get[1]}, steady_clock::now() + 2s).error().code ==
        redis::errc::misconfigured);
  REQUIRE(test::say(admin, {"ACL", "SETUSER", "limiter", "-psetex"}).text == "OK");
  CHECK(everything_asked<token_bucket>(pool, {.refill = "7/h"_rate, .burst = 5}) == redis::errc::misconfigured);
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

TEST_CASE(
    "the breaker: after five failures nobody waits, a probe finds the server back, and the local share decides "
    "meanwhile") {
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
