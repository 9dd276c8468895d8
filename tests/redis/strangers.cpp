// Nobody, or somebody else, listens at the port: servers that hang, drip, cut short, talk nonsense, answer late.

#include "support/fake_server.hpp"
#include "support/subject.hpp"

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

TEST_CASE("answers that are none: the connection is closed on them") {
  constexpr double half = 0.5, huge = 1e300, none = std::numeric_limits<double>::quiet_NaN();
  for (std::string const& nonsense :
       {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("+OK\r\n"), std::string(":1\r\n"),
        std::string("*3\r\n:5\r\n:5\r\n:0\r\n"), std::string("*2\r\n:1\r\n$1\r\nx\r\n"), std::string("$-1\r\n"),
        std::string("$0\r\n\r\n"), std::string("$7\r\n1234567\r\n"), answer({5, 5, 0}) + ":9\r\n", answer({5, 5}),
        answer({5, 5, 0, 0}), answer({-5, 5, 0}), answer({half, 5, 0}), answer({5, huge, 0}), answer({5, 5, none})}) {
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
