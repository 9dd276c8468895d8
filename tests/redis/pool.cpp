// The pool alone, over connections that do what a test tells them: who gets one, which are looked at, what is never
// lost.

#include <support/catch.hpp>

#include <penstock/redis/pool.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace redis = penstock::redis;
using std::chrono::steady_clock;

/// How the connections of a test behave.
struct behaviour {
  std::function<void()> on_begin = [] {};
  bool pending = false, overdue = false, comes_through = false, throws = false;
  std::atomic<bool> has_input = false, breaks = false;
  std::atomic<bool> gate = true;  ///< while it is shut, nothing is answered to "hold"
  std::string_view answer_to_first = "OK";
  std::atomic<int> looked_at = 0;
  std::mutex mutex;
  std::vector<std::string> sent;
};

struct connection {
  behaviour& b;
  bool broken = false, pending = b.pending;

  static std::unique_ptr<connection> begin(behaviour* b, redis::deadline) {
    b->on_begin();
    return std::unique_ptr<connection>(new connection{*b});
  }
  std::optional<redis::io_error> establish(redis::deadline) {
    if (pending) return redis::io_error{redis::errc::timeout, redis::sent::no};
    return {};
  }
  bool is_broken() const { return broken; }
  bool is_pending() const { return pending; }
  bool is_overdue(redis::deadline) const { return b.overdue; }
  bool came_through(redis::deadline) {
    ++b.looked_at;
    if (b.throws) throw std::bad_alloc();
    pending = pending && !b.comes_through;
    return !pending;
  }
  bool has_input() const {
    ++b.looked_at;
    return b.has_input;
  }
  redis::result<redis::reply> round_trip(std::span<std::string_view const> words, std::size_t size, redis::deadline) {
    {
      std::lock_guard const guard(b.mutex);
      b.sent.emplace_back(words[0]);
      if (size != 0) b.sent.back() += " " + std::to_string(size);
    }
    if (words[0] == "throw") throw std::bad_alloc();
    while (words[0] == "hold" && !b.gate) std::this_thread::yield();
    if (b.breaks) {
      broken = true;
      return redis::io_error{redis::errc::closed, redis::sent::unknown};
    }
    if (words[0] == "first" && b.answer_to_first != "OK")
      return redis::reply{redis::reply::kind::error, {}, std::string(b.answer_to_first)};
    return redis::reply{redis::reply::kind::text, {}, "OK"};
  }
};

struct subject : behaviour {
  explicit subject(redis::pool_options const& o = {}) : pool(this, o) {}

  redis::result<redis::reply> run(std::string_view word, redis::deadline until = steady_clock::now() + 1h,
                                  std::size_t size = 0) {
    return pool.run({}, {{&word, 1}, {}, size}, until);
  }
  std::thread start(std::string_view word) {
    return std::thread([this, word] { note(run(word)); });
  }
  void note(redis::result<redis::reply> const& answer) { failures += !answer; }
  void wait_until(std::function<bool(redis::pool_stats const&)> const& holds) {
    while (!holds(pool.stats())) std::this_thread::yield();
  }
  redis::detail::pool<connection, behaviour*> pool;
  std::atomic<int> failures = 0;
};

}  // namespace

TEST_CASE("who waits for a connection is served in the order of coming, and newcomers do not overtake") {
  subject s({.size = 1});
  s.gate = false;
  std::thread holder([&] {
    (void)s.run("hold");
    (void)s.run("newcomer");  // asks again at once, when those that wait have hardly woken
  });
  s.wait_until([](auto const& now) { return now.open == 1 && now.idle == 0; });
  std::vector<std::thread> waiting;
  std::array<std::string_view, 3> const names{"a", "b", "c"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    waiting.push_back(s.start(names[i]));
    s.wait_until([&](auto const& now) { return now.waiting == i + 1; });
  }
  s.gate = true;
  holder.join();
  for (auto& t : waiting) t.join();
  CHECK(s.sent == std::vector<std::string>{"hold", "a", "b", "c", "newcomer"});
  CHECK(s.failures == 0);
  CHECK(s.pool.stats().idle == 1);
}

TEST_CASE("who has waited in vain is no longer waiting, and takes nothing along") {
  subject s({.size = 1});
  s.gate = false;
  std::thread holder = s.start("hold");
  s.wait_until([](auto const& now) { return now.open == 1 && now.idle == 0; });
  for (int call = 0; call < 3; ++call) {
    auto const late = s.run("late", steady_clock::now() + 1ms);
    REQUIRE_FALSE(late);
    CHECK(late.error().code == redis::errc::pool_timeout);
    CHECK(late.error().was == redis::sent::no);
  }
  CHECK(s.pool.stats().waiting == 0);
  s.gate = true;
  holder.join();
  CHECK(s.run("next"));
  CHECK(s.pool.stats().made == 1);
}

TEST_CASE("a connection that cannot be made leaves its place, to those that wait too") {
  subject s({.size = 1});
  s.on_begin = [] { throw std::bad_alloc(); };
  for (int call = 0; call < 3; ++call) CHECK_THROWS_AS(s.run("x"), std::bad_alloc);
  CHECK(s.pool.stats().open == 0);
  s.on_begin = [] {};
  s.gate = false;
  s.breaks = true;
  std::thread holder([&] { (void)s.run("hold"); });
  s.wait_until([&](auto const&) {
    std::lock_guard const guard(s.mutex);
    return !s.sent.empty();  // its connection is made
  });
  std::atomic<int> thrown = 0, made = 0;
  s.on_begin = [&] {
    if (made++ == 0) throw std::bad_alloc();
    s.breaks = false;
  };
  std::vector<std::thread> waiting;
  for (std::size_t i = 0; i < 2; ++i) {
    waiting.emplace_back([&] {
      try {
        s.note(s.run("waiter"));
      } catch (std::bad_alloc const&) {
        ++thrown;
      }
    });
    s.wait_until([&](auto const& now) { return now.waiting == i + 1; });
  }
  s.gate = true;
  holder.join();
  for (auto& t : waiting) t.join();
  CHECK(thrown == 1);
  CHECK(s.failures == 0);
  CHECK(s.pool.stats().open == 1);
  CHECK(s.pool.stats().idle == 1);
}

TEST_CASE("a connection on which a call was left is closed: the answer may still come") {
  subject s;
  CHECK_THROWS_AS(s.run("throw"), std::bad_alloc);
  CHECK(s.pool.stats().open == 0);
  CHECK(s.run("x"));
  CHECK(s.pool.stats().made == 2);
}

TEST_CASE("a connection whose time to be made is over is looked at once, and costs no call") {
  subject s;
  s.pending = true;
  CHECK_FALSE(s.run("x"));  // goes on being made
  CHECK(s.pool.stats().idle == 1);
  CHECK(s.looked_at == 0);
  s.overdue = true;
  SECTION("it has come through: it is used") {
    s.comes_through = true;
    CHECK(s.run("y"));
    CHECK(s.pool.stats().made == 1);
  }
  SECTION("the look at it throws: it is dropped, and leaves its place") {
    s.throws = true;
    CHECK_THROWS_AS(s.run("x"), std::bad_alloc);
    CHECK(s.pool.stats().open == 0);
    s.pending = s.throws = false;
    CHECK(s.run("y"));
  }
  SECTION("it has not: it is dropped, and another made") {
    s.pending = false;
    CHECK(s.run("y"));
    CHECK(s.pool.stats().made == 2);
    CHECK(s.pool.stats().dropped == 1);
  }
  CHECK(s.looked_at == 1);
  CHECK(s.sent == std::vector<std::string>{"y"});
}

TEST_CASE("when one connection ends, those that were idle then are looked at before use, and later ones are not") {
  subject s({.size = 2});
  s.gate = false;
  std::thread other = s.start("hold");
  s.wait_until([](auto const& now) { return now.open == 1; });
  CHECK(s.run("x"));
  s.gate = true;
  other.join();
  REQUIRE(s.pool.stats().idle == 2);
  CHECK(s.run("x"));
  CHECK(s.looked_at == 0);
  s.breaks = true;
  CHECK_FALSE(s.run("x"));
  s.breaks = false;
  s.has_input = true;  // the end
  CHECK(s.run("x"));
  CHECK(s.looked_at == 1);
  CHECK(s.pool.stats().dropped == 2);
  CHECK(s.pool.stats().made == 3);
  CHECK(s.run("x"));
  CHECK(s.looked_at == 1);
}

TEST_CASE("nothing is sent after the deadline, and the connection is none the worse") {
  subject s;
  CHECK(s.run("x"));
  auto const late = s.run("y", steady_clock::now());
  REQUIRE_FALSE(late);
  CHECK(late.error().code == redis::errc::timeout);
  CHECK(late.error().was == redis::sent::no);
  CHECK(s.sent == std::vector<std::string>{"x"});
  CHECK(s.pool.stats().idle == 1);
}

TEST_CASE("an error in answer to what goes before a command is told, and the command is not sent") {
  subject s;
  std::string_view const first = "first", word = "x";
  auto const ask = [&] { return s.pool.run({&first, 1}, {{&word, 1}, {}, 24}, steady_clock::now() + 1h); };
  CHECK(ask()->text == "OK");
  CHECK(s.sent == std::vector<std::string>{"first", "x 24"});
  s.answer_to_first = "NOPERM";
  CHECK(ask()->says("NOPERM"));
  CHECK(s.sent.back() == "first");
}

TEST_CASE("pools refuse sizes and times that cannot be, in a sentence") {
  auto const sentence = [](redis::pool_options const& o) -> std::string {
    try {
      subject{o};
    } catch (penstock::config_error const& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK(sentence({.size = 0}) == "redis::pool_options.size is 0; allowed: from 1 to 10000");
  CHECK_THAT(sentence({.size = 10'001}), Catch::Matchers::Contains("size is 10001"));
  CHECK_THAT(sentence({.connect_timeout = 0ns}), Catch::Matchers::Contains("connect_timeout is 0 ns"));
  CHECK_THAT(sentence({.check_after = -1ns}), Catch::Matchers::Contains("check_after is -1 ns"));
  CHECK(sentence({.size = 10'000, .connect_timeout = 1ns, .check_after = 0ns}) == "accepted");
}
