// One call without a server: what is sent, what is sent again, what is counted, and what the local limiter hears of it.

#include "support/subject.hpp"

#include <penstock/penstock.hpp>
#include <penstock/redis.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

using namespace test;

namespace {

/// Answers as it is told, and keeps what was asked.
struct told_transport {
  std::function<redis::result<redis::reply>(redis::command const&, redis::deadline)> says;
  std::vector<std::string> asked;
  std::vector<std::size_t> sizes;

  redis::result<redis::reply> execute(redis::command const& c, redis::deadline until) {
    asked.emplace_back(c.words[0]);
    sizes.push_back(c.answer_size);
    return says(c, until);
  }
};
using bucket = redis::token_bucket<std::string, told_transport>;
bucket::config const hundred{.refill = "100/10 d"_rate};

auto failing(redis::errc why, redis::sent was) {
  return
      [=](redis::command const&, redis::deadline) -> redis::result<redis::reply> { return redis::io_error{why, was}; };
}
auto saying(std::string text) {
  return [=](redis::command const&, redis::deadline) -> redis::result<redis::reply> {
    return redis::reply{redis::reply::kind::error, {}, text};
  };
}

}  // namespace

TEST_CASE("a command is tried again only if its connection was refused or ended before anything was sent") {
  using redis::errc, redis::sent;
  struct row {
    errc why;
    sent was;
    std::size_t tries;
  };
  for (auto const& [why, was, tries] :
       {row{errc::refused, sent::no, 2}, row{errc::closed, sent::no, 2}, row{errc::closed, sent::unknown, 1},
        row{errc::timeout, sent::no, 1}, row{errc::timeout, sent::unknown, 1}, row{errc::pool_timeout, sent::no, 1},
        row{errc::misconfigured, sent::no, 1}, row{errc::unavailable, sent::no, 1},
        row{errc::bad_reply, sent::no, 1}}) {
    told_transport transport{failing(why, was), {}, {}};
    bucket limited(transport, "a", hundred, redis::fail_closed{told}, settings(1h));
    INFO(redis::make_error_code(why).message());
    check_degraded(limited.allow("k"), why);
    CHECK(transport.asked == std::vector<std::string>(tries, "EVALSHA"));
    CHECK(limited.stats().maybe_counted == (was == sent::unknown ? 1 : 0));
    CHECK(limited.stats().degraded == 1);
  }
}

TEST_CASE("no command is begun after the deadline") {
  told_transport transport;
  transport.says = [](redis::command const&, redis::deadline until) -> redis::result<redis::reply> {
    while (steady_clock::now() < until) {
    }
    return redis::reply{redis::reply::kind::error, {}, "NOSCRIPT No matching script."};
  };
  bucket limited(transport, "a", hundred, redis::fail_closed{told}, settings(1ms));
  check_degraded(limited.allow("k"), redis::errc::timeout);
  CHECK(transport.asked == std::vector<std::string>{"EVALSHA"});
  CHECK(limited.stats().maybe_counted == 0);
}

TEST_CASE("each command tells how large its answer is, and nothing else is an answer") {
  using namespace penstock::algorithm;
  using rules = all_of<sliding_counter, token_bucket, sliding_log>;
  told_transport transport{saying("LOADING"), {}, {}};
  redis::limiter<rules, std::string, told_transport> limited(
      transport, "a", {{.limit = "5/h"_rate}, {.refill = "5/h"_rate}, {.limit = "5/h"_rate}}, redis::fail_open{},
      settings());
  (void)limited.allow("k");
  CHECK(limited.charge("k", cost{1}));
  CHECK(limited.refund("k", cost{1}));
  CHECK(limited.forget("k"));
  auto const self = [](std::string_view who) { return who; };
  bucket other(transport, "b", hundred, redis::fail_open{}, settings());
  (void)redis::stack(penstock::layer("rules", limited, self), penstock::layer("other", other, self))
      .allow(std::string_view("k"));
  CHECK(transport.sizes == std::vector<std::size_t>{8 * 11, 8 * 11, 8 * 7, 0, 8 * 13});

  // A transport that does not look at sizes is no danger: what is too short or too long is not read.
  for (std::string const& text : {packed({5, 5}), packed({5, 5, 0, 0}), std::string()}) {
    told_transport careless;
    careless.says = [&](redis::command const&, redis::deadline) -> redis::result<redis::reply> {
      return redis::reply{redis::reply::kind::text, {}, text};
    };
    bucket asking(careless, "a", hundred, redis::fail_closed{told}, settings());
    check_degraded(asking.allow("k"), redis::errc::bad_reply);
    CHECK(asking.charge("k", cost{1}) == redis::errc::bad_reply);
  }
}

TEST_CASE("answers that cannot be understood open the breaker, of a stack too") {
  told_transport transport;
  transport.says = [](redis::command const&, redis::deadline) -> redis::result<redis::reply> {
    return redis::reply{redis::reply::kind::text, {}, packed({-5, 5, 0})};  // refused, and nothing is used
  };
  auto o = settings();
  o.breaker = {.failures_in_a_row = 3};
  bucket limited(transport, "a", hundred, redis::fail_closed{told}, o);
  auto stack = redis::stack(penstock::layer("one", limited, [](std::string_view who) { return who; }));
  for (int call = 0; call < 3; ++call) CHECK(stack.allow(std::string_view("k")).error == redis::errc::bad_reply);
  CHECK(stack.allow(std::string_view("k")).error == redis::errc::breaker_open);
  CHECK(limited.breaker_is_open());
  CHECK(limited.stats().degraded == 4);
  CHECK(limited.stats().maybe_counted == 3);
}

TEST_CASE("the counters tell what may have been counted, and what was not settled") {
  told_transport transport{failing(redis::errc::timeout, redis::sent::unknown), {}, {}};
  bucket limited(transport, "a", hundred, redis::fail_open{}, settings());
  (void)limited.peek("k");
  CHECK(limited.forget("k") == redis::errc::timeout);
  CHECK(limited.refund("k", cost{1}) == redis::errc::timeout);
  CHECK(limited.stats().maybe_counted == 0);
  CHECK(limited.stats().unsettled == 1);
  CHECK(limited.charge("k", cost{1}) == redis::errc::timeout);
  (void)limited.allow("k");
  CHECK(limited.stats().maybe_counted == 2);
  CHECK(limited.stats().unsettled == 2);
  CHECK(limited.stats().degraded == 2);
  transport.says = saying("NOPERM");
  CHECK(limited.charge("k", cost{1}) == redis::errc::misconfigured);
  CHECK(limited.forget("k") == redis::errc::misconfigured);
  CHECK(limited.stats().misconfigured == 2);
  CHECK(limited.stats().unsettled == 3);
}

TEST_CASE("forget opens the breaker as other calls do, and is not sent while it is open") {
  told_transport transport{failing(redis::errc::timeout, redis::sent::unknown), {}, {}};
  bucket limited(transport, "a", hundred, redis::fail_open{}, {});
  for (int call = 0; call < 5; ++call) CHECK(limited.forget("k") == redis::errc::timeout);
  CHECK(limited.breaker_is_open());
  CHECK(limited.forget("k") == redis::errc::breaker_open);
  CHECK(transport.asked.size() == 5);
}

namespace {

/// An aligned window whose clock can be set back, and which may admit what it was just about to refuse.
struct shifted_window : penstock::algorithm::fixed_window {
  using base = penstock::algorithm::fixed_window;
  using base::base, base::state;
  static inline std::chrono::nanoseconds shift{};
  static inline int refusals = 1'000'000;  ///< after so many it admits all

  bool admits(state const& s, penstock::instant now, cost c) const {
    return base::admits(s, now + shift, c) || --refusals < 0;
  }
  void charge(state& s, penstock::instant now, cost c) const { base::charge(s, now + shift, c); }
  using base::refund;
  penstock::decision describe(state const& s, penstock::instant now, cost c) const {
    return base::describe(s, now + shift, c);
  }
  penstock::decision describe(state const& s, penstock::instant now, cost c, bool admitted) const {
    return base::describe(s, now + shift, c, admitted);
  }
  bool admit(state& s, penstock::instant now, cost c) const {
    if (!admits(s, now, c)) return false;
    charge(s, now, c);
    return true;
  }
  bool reanchor(state& s, penstock::instant now) const { return base::reanchor(s, now + shift); }
  bool is_fresh(state const& s, penstock::instant now) const { return base::fresh_at(s) <= now + shift; }
  bool is_forgettable(state const& s, penstock::instant now) const { return is_fresh(s, now); }
  receipt charged_at(state const& s, penstock::instant now, cost c) const {
    return base::charged_at(s, now + shift, c);
  }
};

}  // namespace

template <>
class penstock::redis::detail::encoding<shifted_window>
    : public penstock::redis::detail::encoding<penstock::algorithm::fixed_window> {
 public:
  encoding(penstock::algorithm::fixed_window::config const& c, penstock::instant origin)
      : encoding<penstock::algorithm::fixed_window>(c, origin), shifted_(c) {}
  shifted_window const& algorithm() const noexcept { return shifted_; }

 private:
  shifted_window shifted_;
};

TEST_CASE("a degraded stack tells a local limiter that its clock was set back, so that it is anchored anew") {
  told_transport transport{failing(redis::errc::timeout, redis::sent::unknown), {}, {}};
  redis::limiter<shifted_window, std::string, told_transport> window(transport, "w", {.limit = "3/h"_rate},
                                                                     redis::local{1}, settings());
  bucket other(transport, "b", hundred, redis::local{1}, settings());
  auto const self = [](std::string_view who) { return who; };
  auto stack = redis::stack(penstock::layer("other", other, self), penstock::layer("window", window, self));
  auto const ask = [&] { return stack.allow(std::string_view("k")); };
  shifted_window::shift = {};
  for (int call = 0; call < 3; ++call) CHECK(ask());
  CHECK(ask().limited_by() == "window");
  shifted_window::shift = -5h;
  CHECK(ask().limited_by() == "window");  // as if fully used now
  shifted_window::shift = -4h;
  CHECK(ask());
  CHECK(other.degraded_peek("k", cost{0}, {}).remaining == 96);  // who admitted is not charged when another refuses
}

TEST_CASE("what a local limiter admits of a degraded stack that another look refused is given back") {
  told_transport transport{failing(redis::errc::timeout, redis::sent::unknown), {}, {}};
  redis::limiter<shifted_window, std::string, told_transport> window(transport, "w", {.limit = "3/h"_rate},
                                                                     redis::local{1}, settings());
  auto stack = redis::stack(penstock::layer("window", window, [](std::string_view who) { return who; }));
  shifted_window::shift = {};
  for (int call = 0; call < 3; ++call) CHECK(stack.allow(std::string_view("k")));
  shifted_window::refusals = 1;
  CHECK(stack.allow(std::string_view("k")).outcome == verdict::limited);
  CHECK(shifted_window::refusals < 0);  // it did
  shifted_window::refusals = 1'000'000;
  (void)window.refund("k", cost{3});
  CHECK(window.degraded_peek("k", cost{0}, {}).remaining == 3);
}
