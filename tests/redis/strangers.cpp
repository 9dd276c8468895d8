// Nobody, or somebody else, listens at the port: servers that hang, drip, cut short, talk nonsense, answer late.

#include "support/fake_server.hpp"
#include "support/subject.hpp"

#include <atomic>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

using namespace test;

TEST_CASE("nobody listens: refused at once, and tried again within the deadline at most once") {
  std::uint16_t const nobody = test::free_port();
  subject s({.host = "127.0.0.1", .port = nobody});
  check_degraded(s.ask(), redis::errc::refused);
  CHECK(s.limited.stats().maybe_counted == 0);
  CHECK(s.pool.stats().made == 2);
  CHECK(s.pool.stats().open == 0);
}

TEST_CASE("a server that never answers: each call sleeps until its deadline, then costs a connection") {
  test::fake_server fake([](auto& visit, int) {
    while (visit.hear()) {
    }
  });
  subject s({.host = "127.0.0.1", .port = fake.port()}, {}, settings(5ms));
  s.limit = 5ms;
  std::chrono::nanoseconds least_work = 1h;
  for (std::uint64_t call = 1; call <= 20; ++call) {
    check_degraded(s.ask(), redis::errc::timeout);
    s.check_waited();
    least_work = std::min(least_work, s.work);
    CHECK(s.limited.stats().maybe_counted == call);
    CHECK(s.pool.stats().open == 0);
    CHECK(s.pool.stats().dropped == call);
  }
  CHECK(least_work < 5ms);  // of twenty, the one that others held up least: all that a call adds to its deadline
}

TEST_CASE("a server that accepts and hangs: until the deadline, no longer") {
  test::fake_server fake([](auto& visit, int) {
    while (visit.hear()) {
    }
  });
  subject s({.host = "127.0.0.1", .port = fake.port()}, {.size = 1});
  check_degraded(s.ask(), redis::errc::timeout);
  s.check_waited();
  CHECK(s.pool.stats().open == 0);

  redis::remote_decision d;
  std::thread first([&] { d = s.limited.allow("k"); });
  while (s.pool.stats().open == 0) std::this_thread::yield();
  check_degraded(redis_limiter(s.pool, "f", {.refill = "1/s"_rate}, redis::fail_closed{told}, settings(5ms)).allow("k"),
                 redis::errc::pool_timeout);
  first.join();
  check_degraded(d, redis::errc::timeout);
}

TEST_CASE("a server that drips: one absolute deadline, not one for each byte") {
  test::fake_server fake([](auto& visit, int) {
    if (!visit.hear()) return;
    for (char const byte : answer({1, 1, 0})) {
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

TEST_CASE("an answer cut short is not read as another") {
  auto const cut = GENERATE(std::string(":176"), std::string("$24"), answer({1, 1, 0}).substr(0, 21),
                            answer({1, 1, 0}).substr(0, 30));
  test::fake_server fake([&](auto& visit, int) {
    if (visit.hear()) visit.say(cut);
  });
  subject s({.host = "127.0.0.1", .port = fake.port()}, {}, settings(1s));
  s.limit = 1s;
  check_degraded(s.ask(), redis::errc::closed);
  CHECK(s.took < 1s);
  CHECK(s.limited.stats().maybe_counted == 1);
  CHECK(s.pool.stats().open == 0);
}

TEST_CASE("answers that are none: the connection is closed on those of another kind or size, and the breaker opens") {
  constexpr double half = 0.5, huge = 1e300, none = std::numeric_limits<double>::quiet_NaN();
  auto const wrong_size = {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"),
                           std::string("+OK\r\n"),
                           std::string(":1\r\n"),
                           std::string("*3\r\n:5\r\n:5\r\n:0\r\n"),
                           std::string("*2\r\n:1\r\n$1\r\nx\r\n"),
                           std::string("$-1\r\n"),
                           std::string("$0\r\n\r\n"),
                           std::string("$7\r\n1234567\r\n"),
                           answer({5, 5, 0}) + ":9\r\n",
                           answer({5, 5}),
                           answer({5, 5, 0, 0})};
  auto const no_numbers = {answer({-5, 5, 0}), answer({half, 5, 0}), answer({5, huge, 0}), answer({5, 5, none})};
  auto const check = [](std::string const& nonsense, bool closed) {
    INFO(nonsense);
    test::fake_server fake([&](auto& visit, int) {
      while (visit.hear()) visit.say(nonsense);
    });
    auto o = settings(1s);
    o.breaker = {.failures_in_a_row = 3};
    subject s({.host = "127.0.0.1", .port = fake.port()}, {}, o);
    s.limit = 1s;
    for (std::uint64_t call = 1; call <= 3; ++call) {
      check_degraded(s.ask(), redis::errc::bad_reply);
      CHECK(s.limited.stats().maybe_counted == call);
      CHECK(s.pool.stats().open == (closed ? 0 : 1));
    }
    check_degraded(s.ask(), redis::errc::breaker_open);
  };
  for (auto const& nonsense : wrong_size) check(nonsense, true);
  for (auto const& nonsense : no_numbers) check(nonsense, false);
}

namespace {

/// Greeted by AUTH and SELECT in one go, which it answers when it may.
struct greeted_server {
  explicit greeted_server(int silent_visits = 0)
      : fake([this, silent_visits](auto& visit, int number) {
          if (!visit.hear()) return;
          greeting = visit.heard();
          greeted = true;
          while (!visit.stopped() && (number < silent_visits || !may_answer)) visit.pause(1ms);
          if (visit.stopped()) return;
          visit.say("+OK\r\n+OK\r\n");
          answered = true;
          while (visit.hear()) visit.say(answer({1764e12, 1764e12, 0}));
        }) {}
  redis::endpoint at() const {
    return {.host = "127.0.0.1", .port = fake.port(), .user = "u", .password = "p", .database = 3};
  }
  static void wait_for(std::atomic<bool> const& flag) {
    while (!flag) std::this_thread::yield();
  }
  std::string greeting;  ///< good when greeted
  std::atomic<bool> greeted{false}, may_answer{false}, answered{false};
  test::fake_server fake;
};

/// A limiter over the same pool that has time.
redis_limiter patient(redis::hiredis_pool& pool) {
  return redis_limiter(pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, settings(5s));
}

}  // namespace

TEST_CASE("a greeting goes on when the call's deadline comes first, and is said in one go") {
  greeted_server server;
  subject s(server.at(), {.connect_timeout = 1h});
  for (int call = 0; call < 2; ++call) {
    check_degraded(s.ask(), redis::errc::timeout);
    s.check_waited();
    CHECK(s.pool.stats().idle == 1);
  }
  server.wait_for(server.greeted);
  CHECK(server.greeting == "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n");
  server.may_answer = true;
  server.wait_for(server.answered);
  check_admitted(patient(s.pool).allow("k"), 99);
  CHECK(s.pool.stats().made == 1);
  CHECK(s.limited.stats().maybe_counted == 0);  // nobody had been asked
}

TEST_CASE("a connection whose time is over: if the network has brought it further it is used, else another is made") {
  int const silent = GENERATE(0, 1);
  greeted_server server(silent);
  subject s(server.at(), {.connect_timeout = 60ms});
  check_degraded(s.ask(), redis::errc::timeout);
  for (auto const over = steady_clock::now() + 60ms; steady_clock::now() < over;) std::this_thread::yield();
  server.may_answer = true;
  if (silent == 0) server.wait_for(server.answered);
  check_admitted(patient(s.pool).allow("k"), 99);
  CHECK(s.pool.stats().made == (silent == 0 ? 1 : 2));
  CHECK(s.pool.stats().dropped == (silent == 0 ? 0 : 1));
}

TEST_CASE("a greeting that is refused, or ends, is told at once; no command was sent") {
  struct row {
    std::string_view answer;
    redis::errc why;
    int visits;  ///< what ended before anything was sent is tried again
  };
  for (auto const& [says, why, visits] :
       {row{"-WRONGPASS invalid\r\n-NOAUTH first\r\n", redis::errc::misconfigured, 1},
        row{"+OK\r\n-ERR DB index is out of range\r\n", redis::errc::misconfigured, 1},
        row{"+OK\r\n", redis::errc::closed, 2}, row{"", redis::errc::closed, 2},
        row{"+OK\r\n+OK\r\n+OK\r\n", redis::errc::bad_reply, 1}}) {
    INFO(says);
    std::atomic<bool> asked{false};
    test::fake_server fake([&, greeting = says](auto& visit, int) {
      if (!visit.hear()) return;
      visit.say(greeting);
      if (visit.heard().find("EVAL") != std::string::npos) asked = true;
    });
    subject s({.host = "127.0.0.1", .port = fake.port(), .password = "p", .database = 3}, {}, settings(1s));
    s.limit = 1s;
    check_degraded(s.ask(), why);
    CHECK(fake.visitors() == visits);
    CHECK(s.pool.stats().open == 0);
    CHECK(s.limited.stats().maybe_counted == 0);
    CHECK_FALSE(asked);
  }
}

TEST_CASE("an answer that comes late is never taken for that of the next call") {
  test::fake_server fake([](auto& visit, int number) {
    if (!visit.hear()) return;
    if (number == 0) {
      visit.pause(80ms);
      visit.say(answer({1764e12, 1764e12, 0}));  // admitted
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
