// stack.hpp and layer.hpp: several limiters over different keys, one request.

#include "subjects.hpp"

#include <penstock/stack.hpp>
#include <penstock/tiered.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>

using namespace composition;

namespace {

struct request {
  std::string ip = "198.18.0.1", host = "example.org", user = "ann";
  std::optional<std::string> api_key{};
  std::uint64_t bytes = 1;
};

/// Hands everything to a limiter, and lets something happen between the look and the take.
template <class L>
class contested {
 public:
  using ticket = typename L::ticket;
  using time_point = typename L::time_point;

  contested(L& limiter, std::function<void()> meanwhile) : limiter_(limiter), meanwhile_(std::move(meanwhile)) {}
  decision peek(time_point now, auto const& key, cost c) const { return limiter_.peek(now, key, c); }
  ticket take(time_point now, auto const& key, cost c) {
    meanwhile_();
    return limiter_.take(now, key, c);
  }
  void undo(ticket&& t) { limiter_.undo(std::move(t)); }
  auto const& clock() const { return limiter_.clock(); }

 private:
  L& limiter_;
  std::function<void()> meanwhile_;
};

/// At most so many inside at once: a guard as a user would write it. Its ticket is a permit.
class at_once {
 public:
  using time_point = manual_clock::time_point;

  class ticket {
   public:
    decision answer;
    ticket() = default;
    ticket(ticket&& other) noexcept : answer(other.answer), guard_(std::exchange(other.guard_, nullptr)) {}
    ticket& operator=(ticket&& other) noexcept {
      std::swap(answer, other.answer);
      std::swap(guard_, other.guard_);
      return *this;
    }
    ~ticket() {
      if (guard_ != nullptr) --guard_->inside_;
    }

   private:
    friend at_once;
    at_once* guard_ = nullptr;
  };

  explicit at_once(std::uint64_t most, manual_clock clock = {}) : most_(most), clock_(std::move(clock)) {}
  std::uint64_t inside() const { return inside_; }

  decision peek(time_point, no_key, cost c) const {
    std::uint64_t const left = most_ - inside_;
    if (c.units > left) return {.outcome = verdict::limited, .limit = most_, .remaining = left, .retry_after = 1s};
    return {.limit = most_, .remaining = left - c.units};
  }
  ticket take(time_point now, no_key key, cost c) {
    ticket t;
    t.answer = peek(now, key, c);
    if (t.answer && c.units != 0) {
      ++inside_;
      t.guard_ = this;
    }
    return t;
  }
  void undo(ticket&& t) { ticket const leaving = std::move(t); }
  manual_clock const& clock() const { return clock_; }

 private:
  std::uint64_t most_;
  std::uint64_t inside_ = 0;
  manual_clock clock_;
};

/// A limit that lives elsewhere, where a look costs as much as a call.
class elsewhere {
 public:
  using time_point = manual_clock::time_point;
  [[maybe_unused]] static constexpr bool remote = true;
  struct ticket {
    decision answer;
  };
  std::uint64_t limit = 2, used = 0;
  int peeked = 0, taken = 0, undone = 0;

  decision peek(time_point, no_key, cost) {
    ++peeked;
    return {};
  }
  ticket take(time_point, no_key, cost c) {
    ++taken;
    if (used + c.units > limit) return {{.outcome = verdict::limited, .limit = limit, .retry_after = 7s}};
    used += c.units;
    return {{.limit = limit, .remaining = limit - used}};
  }
  void undo(ticket&&) {
    ++undone;
    --used;
  }
  manual_clock const& clock() const { return clock_; }

 private:
  manual_clock clock_;
};

struct other_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<other_clock, duration>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  int* readings;
  time_point now() const { return time_point{std::chrono::milliseconds{1'000 * ++*readings}}; }
};

template <class Stack, class TimePoint>
concept can_be_told_the_time = requires(Stack& limits, TimePoint now) { limits.allow_at(now, 0); };
template <class L>
concept can_be_a_layer = requires(L&& limiter) { layer("site", std::forward<L>(limiter)); };
template <class L, class Projection>
concept can_be_a_layer_by = requires(L&& limiter, Projection key) { layer("user", std::forward<L>(limiter), key); };

std::uint64_t left(auto const& limiter, auto const& key, nanoseconds at = 0s) {
  return limiter.peek_at(on(at), key, cost{0}).remaining;
}

}  // namespace

// ---- all or nothing -------------------------------------------------------------------------------------------------

TEST_CASE("2 per ip and 10 per host: an ip at its limit takes nothing from the host, in either order") {
  bucket<std::string> per_ip({.refill = per_minute(2)}), per_host({.refill = per_minute(10)});
  auto const ip = layer("ip", per_ip, &request::ip);
  auto const host = layer("host", per_host, &request::host);
  auto const check = [&](auto limits) {
    for (int call = 1; call <= 102; ++call) {
      auto const d = limits.allow_at(on(0s), request{});
      CHECK(static_cast<bool>(d) == (call <= 2));
      CHECK(d.limited_by() == (call <= 2 ? "" : "ip"));
    }
    CHECK(left(per_host, "example.org") == 8);  // the host has counted 2
    CHECK(limits.allow_at(on(0s), request{.ip = "198.18.0.2"}));
    per_ip.forget("198.18.0.1");
    per_ip.forget("198.18.0.2");
    per_host.forget("example.org");
  };
  check(stack(ip, host));
  check(stack(host, ip));
}

TEST_CASE("a refused request leaves every layer as it was, and a layer's wait is the stack's, exactly") {
  bucket<std::string> per_user({.refill = per(5, 4s), .burst = 6});
  leaky_queue<std::string, manual_clock> per_key({.drain = per_second(1), .capacity = 7});
  limiter<algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>, std::string, manual_clock> per_host(
      {{.refill = per_second(3), .burst = 8}, {.limit = per(24, 10s)}});
  sliding_log<std::string, manual_clock> per_ip({.limit = per(6, 4s)});
  sliding_counter<no_key, manual_clock> site({.limit = per(25, 10s)});
  enum class plan { free, paid };
  using tiers = tiered<token_bucket, plan, std::string, manual_clock>;
  tiers per_plan(
      {{plan::free, {.refill = per_second(1), .burst = 8}}, {plan::paid, {.refill = per_second(2), .burst = 5}}});
  auto const plan_of = [](request const& r) { return r.user == "ann" ? plan::free : plan::paid; };

  auto limits =
      stack(layer("user", per_user, &request::user), layer("key", per_key, &request::api_key),
            layer("host", per_host, [](request const& r) { return std::string_view(r.host); }),
            layer("ip", per_ip, &request::ip), layer("site", site),
            layer("plan", per_plan, [&](request const& r) { return tiers::key_argument{plan_of(r), r.user}; }));

  dice random(5);
  nanoseconds now{};
  int admitted = 0, wrong = 0;
  std::vector<std::string> who_limits;
  for (int i = 0; i < 6'000; ++i) {
    now += random.up_to(600ms);
    auto const t = on(now);
    request r{.ip = "198.18.0." + std::to_string(random.below(2)), .user = random.below(2) == 0 ? "ann" : "bob"};
    if (random.below(2) == 0) r.api_key = "key";
    auto const each = [&](cost c) {
      return std::array{per_user.peek_at(t, r.user, c),
                        per_key.peek_at(t, r.api_key.value_or(""), c),
                        per_host.peek_at(t, r.host, c),
                        per_ip.peek_at(t, r.ip, c),
                        site.peek_at(t, c),
                        per_plan.peek_at(t, plan_of(r), r.user, c)};
    };
    cost const c{1 + random.below(4)};
    auto const before = each(cost{0}), asked = each(c);
    bool all = true;
    nanoseconds longest{};
    for (std::size_t layer = 0; layer < asked.size(); ++layer) {
      if (layer == 1 && !r.api_key) continue;
      all = all && asked[layer];
      longest = std::max(longest, asked[layer].retry_after);
    }
    auto const peeked = limits.peek_at(t, r, c);
    auto const d = limits.allow_at(t, r, c);
    auto const after = each(cost{0});
    if (static_cast<bool>(d) != all || static_cast<bool>(peeked) != all || d.retry_after != longest) ++wrong;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t layer = 0; layer < asked.size(); ++layer) {
      auto const& report = d.layers()[layer];
      if (report.skipped != (layer == 1 && !r.api_key) || report.decision != peeked.layers()[layer].decision) ++wrong;
      if (report.skipped) continue;
      least = std::min(least, after[layer].remaining);
      if (report.decision.remaining != after[layer].remaining) ++wrong;
      if (!all && after[layer] != before[layer]) ++wrong;
      if (report.decision != (all || !asked[layer] ? asked[layer] : before[layer])) ++wrong;
    }
    if (d.remaining != least) ++wrong;
    admitted += all;
    if (!all) {
      who_limits.emplace_back(d.limited_by());
      if (d.outcome == verdict::limited &&
          (limits.peek_at(t + d.retry_after - 1ns, r, c) || !limits.peek_at(t + d.retry_after, r, c)))
        ++wrong;
    }
  }
  CHECK(wrong == 0);
  CHECK(admitted > 1'000);
  std::sort(who_limits.begin(), who_limits.end());
  who_limits.erase(std::unique(who_limits.begin(), who_limits.end()), who_limits.end());
  CHECK(who_limits == std::vector<std::string>{"host", "ip", "key", "plan", "site", "user"});
}

TEST_CASE("the longest wait is told, whoever stands first; never is the longest") {
  bucket<> seconds({.refill = per_second(1), .burst = 5}), minutes({.refill = per_minute(1), .burst = 5}),
      small({.refill = per_second(1), .burst = 2});
  seconds.charge_at(on(0s), cost{5});
  minutes.charge_at(on(0s), cost{5});
  auto const check = [&](auto limits) {
    auto d = limits.allow_at(on(0s), 0);
    CHECK(d.outcome == verdict::limited);
    CHECK(d.limited_by() == "minutes");
    CHECK(d.retry_after == 1min);
    CHECK(d.remaining == 0);
    d = limits.allow_at(on(0s), 0, cost{3});
    CHECK(d.outcome == verdict::never);
    CHECK(d.limited_by() == "small");
    CHECK(d.retry_after == nanoseconds::max());
  };
  check(stack(layer("seconds", seconds), layer("minutes", minutes), layer("small", small)));
  check(stack(layer("small", small), layer("minutes", minutes), layer("seconds", seconds)));
  CHECK(small.peek_at(on(0s), cost{0}).remaining == 2);
}

TEST_CASE("cost zero asks every layer for the present and takes nothing") {
  bucket<> site({.refill = per_second(1), .burst = 5});
  bucket<std::string> per_user({.refill = per_second(1), .burst = 2});
  auto limits = stack(layer("user", per_user, &request::user).costs(&request::bytes), layer("site", site));
  per_user.charge_at(on(0s), "ann", cost{4});
  auto const d = limits.allow_at(on(0s), request{.bytes = 9}, cost{0});
  CHECK(d);
  CHECK(d.remaining == 0);
  CHECK(site.peek_at(on(0s), cost{0}).remaining == 5);
}

// ---- what a layer says of a request
// -----------------------------------------------------------------------------------

TEST_CASE("a layer may have a cost of its own") {
  bucket<std::string> requests({.refill = per_second(10), .burst = 10}),
      bytes({.refill = per_second(1'000), .burst = 1'000});
  std::string_view const user = "ann";
  auto limits =
      stack(layer("requests", requests, &request::user), layer("bytes", bytes, &request::user).costs(&request::bytes));
  CHECK(limits.allow_at(on(0s), request{.bytes = 900}));
  CHECK(left(requests, user) == 9);
  CHECK(left(bytes, user) == 100);
  auto const d = limits.allow_at(on(0s), request{.bytes = 101}, cost{2});
  CHECK(d.limited_by() == "bytes");
  CHECK(d.retry_after == 1ms);
  CHECK(left(requests, user) == 9);
  CHECK(limits.allow_at(on(0s), request{.bytes = 100}, cost{2}));  // two requests, however many bytes
  CHECK(left(requests, user) == 7);
  CHECK(limits.allow_at(on(0s), request{.bytes = 1'001}).outcome == verdict::never);

  auto as_cost = stack(layer("bytes", bytes, &request::user).costs([](request const& r) { return cost{r.bytes / 2}; }));
  CHECK(as_cost.allow_at(on(1s), request{.bytes = 20}));
  CHECK(left(bytes, user, 1s) == 990);
  CHECK(as_cost.allow_at(on(1s), request{.bytes = 1}));  // half of one is none
  CHECK(left(bytes, user, 1s) == 990);
}

TEST_CASE("a layer whose key is absent is skipped") {
  bucket<std::string> per_key({.refill = per_minute(1)}), per_ip({.refill = per_minute(10)});
  auto const check = [&](auto limits) {
    for (int i = 0; i < 3; ++i) {
      auto const d = limits.allow_at(on(0s), request{});
      CHECK(d);
      CHECK(d.layers()[0].skipped);
      CHECK(d.remaining == static_cast<std::uint64_t>(9 - i));  // of the layers that apply
    }
    CHECK(per_key.stats().keys == 0);
    CHECK(limits.allow_at(on(0s), request{.api_key = "k"}));
    auto const d = limits.allow_at(on(0s), request{.api_key = "k"});
    CHECK(d.limited_by() == "key");
    CHECK_FALSE(d.layers()[0].skipped);
    per_key.forget("k");
    per_ip.forget("198.18.0.1");
  };
  check(stack(layer("key", per_key, &request::api_key), layer("ip", per_ip, &request::ip)));
  auto const computed = [](request const& r) {
    return r.api_key ? std::optional<std::string_view>(*r.api_key) : std::nullopt;
  };
  check(stack(layer("key", per_key, computed), layer("ip", per_ip, &request::ip)));

  // When no layer applies, nothing limits.
  auto only = stack(layer("key", per_key, &request::api_key));
  auto const d = only.allow_at(on(0s), request{});
  CHECK(d);
  CHECK(d.remaining == std::numeric_limits<std::uint64_t>::max());
  CHECK(only.allow_at(on(0s), request{.api_key = "k"}).remaining == 0);
}

TEST_CASE("a layer in shadow decides, counts and is reported, and never refuses") {
  bucket<std::string> tried({.refill = per_minute(2)}), real({.refill = per_minute(5)});
  auto limits = stack(layer("tried", tried, &request::user).shadow(), layer("real", real, &request::user));
  for (int call = 1; call <= 5; ++call) {
    auto const d = limits.allow_at(on(0s), request{});
    CHECK(d);
    CHECK(d.retry_after == 0ns);
    CHECK(d.limited_by().empty());
    CHECK(d.remaining == static_cast<std::uint64_t>(5 - call));  // of the layers that can refuse
    layer_report const& shadow = d.layers()[0];
    CHECK(shadow.shadow);
    CHECK_FALSE(shadow.refuses());
    CHECK(static_cast<bool>(shadow.decision) == (call <= 2));
    CHECK_FALSE(d.layers()[1].shadow);
  }
  auto const d = limits.allow_at(on(0s), request{});
  CHECK(d.limited_by() == "real");
  CHECK(d.retry_after == 12s);                                   // not the 30 s of the shadow
  CHECK(tried.peek_at(on(30s), "ann", cost{0}).remaining == 1);  // and it has counted two, not six

  // Alone in a stack, and with a cost of its own, in either order of the words.
  auto alone = stack(layer("a", tried, &request::user).shadow().costs(&request::bytes));
  auto other = stack(layer("a", tried, &request::user).costs(&request::bytes).shadow());
  CHECK(alone.allow_at(on(0s), request{.bytes = 100}).layers()[0].decision.outcome == verdict::never);
  CHECK(other.allow_at(on(0s), request{.bytes = 100}));
}

TEST_CASE("projections are called once for each request, with what they return kept alive") {
  bucket<std::string> per_user({.refill = per_minute(1)});
  int calls = 0;
  auto limits =
      stack(layer("user", per_user, [&](int user) { return ++calls, std::string(40, static_cast<char>('a' + user)); }));
  CHECK(limits.allow_at(on(0s), 1));
  CHECK(calls == 1);
  CHECK_FALSE(limits.allow_at(on(0s), 1));
  CHECK(calls == 2);
  CHECK(limits.allow_at(on(0s), 2));
}

// ---- what a stack says
// -------------------------------------------------------------------------------------------------

TEST_CASE("every layer's answer is given in order, as a name and a decision") {
  bucket<std::string> per_user({.refill = per_minute(2)});
  bucket<> site({.refill = per_minute(100)});
  auto limits = stack(layer("user", per_user, &request::user), layer("site", site));
  std::vector<std::string> names;
  std::vector<std::uint64_t> remaining;
  auto const d = limits.allow_at(on(0s), request{});
  for (auto const& [name, answer] : d.layers()) {
    names.emplace_back(name);
    remaining.push_back(answer.remaining);
  }
  CHECK(names == std::vector<std::string>{"user", "site"});
  CHECK(remaining == std::vector<std::uint64_t>{1, 99});
  CHECK(d.remaining == 1);
  for (auto const& [name, answer] : limits.allow_at(on(0s), request{}).layers())
    CHECK(answer.limit >= 2);  // of a temporary too
  limits.for_each_layer([&](auto const& layer) { names.emplace_back(layer.name()); });
  CHECK(names.size() == 4);
}

TEST_CASE("layers have names of their own") {
  bucket<> a({.refill = per_minute(1)}), b({.refill = per_minute(1)});
  CHECK(complaint_of([&] { stack(layer("a", a), layer("b", b)); }) == "none");
  CHECK(contains(complaint_of([&] { stack(layer("site", a), layer("b", a), layer("site", b)); }), "\"site\" twice"));
  // The stack keeps the names.
  std::string name = "a name that is longer than what a string keeps inside itself";
  auto limits = stack(layer(name, a));
  CHECK(limits.allow_at(on(0s), 0));
  std::string const same = std::exchange(name, "gone");
  CHECK(limits.allow_at(on(0s), 0).limited_by() == same);
}

TEST_CASE("layers of one clock are asked at one reading; clocks of different types may stand together") {
  int readings = 0;
  manual_clock clock{5s};
  bucket<> first({.refill = per_minute(2)}, clock);
  token_bucket<no_key, other_clock> second({.refill = per_minute(3)}, other_clock{&readings}),
      third({.refill = per_minute(4)}, other_clock{&readings});
  readings = 0;
  auto limits = stack(layer("first", first), layer("second", second), layer("third", third));
  static_assert(!can_be_told_the_time<decltype(limits), manual_clock::time_point>, "there is no one time to tell");
  CHECK(limits.allow(0));
  CHECK(readings == 1);
  CHECK(limits.peek(0).remaining == 0);
  CHECK(readings == 2);
  CHECK(limits.allow(0));
  auto const d = limits.allow(0);
  CHECK(d.limited_by() == "first");
  CHECK(d.retry_after == 30s);
  clock.advance(30s);
  CHECK(limits.allow(0));
  CHECK(readings == 5);
}

TEST_CASE("a stack reads its limiters' clock") {
  manual_clock clock{1h};
  bucket<std::string> per_user({.refill = per_minute(1)}, clock);
  window<> site({.limit = per_minute(10)}, clock);
  auto limits = stack(layer("user", per_user, &request::user), layer("site", site));
  CHECK(limits.peek(request{}));
  CHECK(limits.allow(request{}));
  CHECK(limits.allow(request{}).retry_after == 1min);
  CHECK(limits.peek(request{}).limited_by() == "user");
  clock.advance(1min - 1ns);
  CHECK_FALSE(limits.allow(request{}));
  clock.advance(1ns);
  CHECK(limits.allow(request{}));
}

// ---- a race that is lost
// -------------------------------------------------------------------------------------------------

TEST_CASE("when a layer is overtaken, those before it are given back what was taken, exactly") {
  for_each_algorithm([]<class A>(std::type_identity<A>) {
    bool always_refused = true, always_restored = true;
    // Used before, at a later reading too; and by a clock that lags behind the last one.
    for (nanoseconds const now : {nanoseconds{12s}, nanoseconds{8s}, nanoseconds{14s}})
      for (std::uint64_t const units : {1U, 3U, 4U}) {
        by_name<A> first({ten}), untouched({ten});
        by_name<algorithm::token_bucket> second({ten}), last({ten}), contested_one({ten});
        for (auto* l : {&first, &untouched}) {
          CHECK(l->allow_at(on(3s), "ann", cost{4}));
          CHECK(l->allow_at(on(12s), "ann", cost{2}));
        }
        auto const same = [](int) { return "ann"; };
        contested third(contested_one, [&] { contested_one.charge_at(on(now), "ann", cost{10}); });
        auto limits = stack(layer("first", first, same), layer("second", second, same), layer("third", third, same),
                            layer("last", last, same));
        CHECK(limits.peek_at(on(now), 0, cost{units}));
        auto const d = limits.allow_at(on(now), 0, cost{units});
        always_refused = always_refused && !d && d.limited_by() == "third" && d.retry_after == units * 1s;
        always_restored = always_restored && alike(first, untouched, "ann", now) && second.stats().keys == 0 &&
                          last.stats().keys == 0;
        // Everyone reports the present.
        always_restored = always_restored && d.layers()[0].decision == untouched.peek_at(on(now), "ann", cost{0});
        always_restored =
            always_restored && d.layers()[1].decision.remaining == 10 && d.layers()[3].decision.remaining == 10;
        CHECK(d.remaining == 0);
      }
    CHECK(always_refused);
    CHECK(always_restored);
  });
}

TEST_CASE("what others took meanwhile from a layer that is given back stays taken") {
  bucket<std::string> first({.refill = per_minute(10)}), second({.refill = per_minute(10)});
  auto const same = [](int) { return "ann"; };
  contested overtaken(second, [&] {
    CHECK(first.allow_at(on(0s), "ann", cost{3}));
    second.charge_at(on(0s), "ann", cost{10});
  });
  auto limits = stack(layer("first", first, same), layer("second", overtaken, same));
  CHECK_FALSE(limits.allow_at(on(0s), 0, cost{5}));
  CHECK(left(first, "ann") == 7);
}

TEST_CASE("a layer in shadow that is overtaken refuses nothing") {
  bucket<std::string> first({.refill = per_minute(10)}), second({.refill = per_minute(10)});
  auto const same = [](int) { return "ann"; };
  contested overtaken(second, [&] { second.charge_at(on(0s), "ann", cost{10}); });
  auto limits = stack(layer("first", first, same), layer("second", overtaken, same).shadow());
  auto const d = limits.allow_at(on(0s), 0);
  CHECK(d);
  CHECK_FALSE(d.layers()[1].decision);
  CHECK(left(first, "ann") == 9);
}

// ---- guards and far places
// ------------------------------------------------------------------------------------------------

TEST_CASE("a guard's permit is held by the decision, and given back when it dies") {
  at_once guard(2);
  bucket<> site({.refill = per_minute(3)});
  auto limits = stack(layer("inside", guard), layer("site", site));
  using answer = decltype(limits)::decision_type;
  static_assert(!std::is_copy_constructible_v<answer> && std::is_move_constructible_v<answer>);
  static_assert(std::is_constructible_v<bool, answer&> && std::is_constructible_v<bool, answer const&>);
  static_assert(!std::is_constructible_v<bool, answer>, "a temporary would give the permit back at once");
  {
    auto const first = limits.allow_at(on(0s), 0);
    CHECK(first);
    if (auto d = limits.allow_at(on(0s), 0)) {
      CHECK(guard.inside() == 2);
      auto const refused = limits.allow_at(on(0s), 0);
      CHECK(refused.limited_by() == "inside");
      CHECK(guard.inside() == 2);
      auto const moved = std::move(d);
      CHECK(guard.inside() == 2);
    } else {
      FAIL("two may be inside");
    }
    CHECK(guard.inside() == 1);
    CHECK(site.peek_at(on(0s), cost{0}).remaining == 1);  // what is counted stays counted
    auto const looked = limits.peek_at(on(0s), 0);
    CHECK(looked);
    CHECK(guard.inside() == 1);
  }
  CHECK(guard.inside() == 0);
}

TEST_CASE("a permit is given back when a later layer is overtaken") {
  at_once guard(2);
  bucket<> site({.refill = per_minute(3)});
  contested overtaken(site, [&] { site.charge_at(on(0s), cost{3}); });
  auto limits = stack(layer("inside", guard), layer("site", overtaken));
  auto const d = limits.allow_at(on(0s), 0);
  CHECK(d.limited_by() == "site");
  CHECK(guard.inside() == 0);
}

TEST_CASE("a stack of plain limiters may be tested in passing") {
  bucket<> site({.refill = per_minute(1)});
  auto limits = stack(layer("site", site));
  static_assert(std::is_constructible_v<bool, decltype(limits)::decision_type>);
  static_assert(std::is_copy_constructible_v<decltype(limits)::decision_type>);
  static_assert(!std::is_convertible_v<decltype(limits)::decision_type, bool>);
  if (!limits.allow_at(on(0s), 0)) FAIL("one is there");
}

TEST_CASE("a limit that lives elsewhere is asked last, once, and only for what passed the others") {
  bucket<std::string> per_user({.refill = per_minute(3)});
  elsewhere far;
  auto limits = stack(layer("user", per_user, &request::user), layer("far", far));
  CHECK(limits.peek_at(on(0s), request{}));
  CHECK(limits.peek_at(on(0s), request{}).layers()[1].skipped);
  CHECK(far.taken == 0);
  auto d = limits.allow_at(on(0s), request{});
  CHECK(d);
  CHECK(d.layers()[1].decision.remaining == 1);
  CHECK(limits.allow_at(on(0s), request{}));
  CHECK(far.taken == 2);

  d = limits.allow_at(on(0s), request{});  // it refuses: the user is given back
  CHECK(d.limited_by() == "far");
  CHECK(d.retry_after == 7s);
  CHECK(left(per_user, "ann") == 1);
  per_user.charge_at(on(0s), "ann", cost{1});
  CHECK(limits.allow_at(on(0s), request{}).limited_by() == "user");  // it is not asked
  CHECK(far.taken == 3);
  CHECK(far.undone == 0);
  CHECK(far.peeked == 0);
}

TEST_CASE("of two limits elsewhere, what the first took is given back when the second refuses") {
  elsewhere near_one, far;
  near_one.limit = 5;
  far.limit = 1;
  auto limits = stack(layer("near", near_one), layer("far", far));
  CHECK(limits.allow_at(on(0s), 0));
  CHECK(limits.allow_at(on(0s), 0).limited_by() == "far");
  CHECK(near_one.used == 1);
  CHECK(near_one.undone == 1);
  CHECK(near_one.peeked + far.peeked == 0);
}

TEST_CASE("a layer refers to its limiter, and takes no temporary") {
  static_assert(layer_source<bucket<>> && layer_source<at_once> && layer_source<elsewhere>);
  static_assert(!layer_source<int>);
  static_assert(can_be_a_layer<bucket<>&> && !can_be_a_layer<bucket<>>);
  static_assert(can_be_a_layer_by<bucket<std::string>&, std::string request::*> &&
                !can_be_a_layer_by<bucket<std::string>, std::string request::*>);
}

TEST_CASE("a stack locks nobody out when the clock is set back, or the configuration changes") {
  for_each_algorithm([]<class A>(std::type_identity<A>) {
    manual_clock clock{1'000'000s};
    by_name<A> limit({ten}, clock);
    auto limits = stack(layer("only", limit, &request::user));
    CHECK(limits.allow(request{}, cost{10}));
    clock.set(1000s);
    CHECK_FALSE(limits.allow(request{}));  // notes it
    clock.advance(20s);                    // of law 6, all that it takes a counter to be fresh
    CHECK(limits.allow(request{}, cost{10}));
  });
  manual_clock clock{1000s};
  bucket<std::string> limit({.refill = per_hour(60), .burst = 60}, clock);
  auto limits = stack(layer("only", limit, &request::user));
  CHECK(limits.allow(request{}, cost{60}));
  limit.reconfigure({.refill = per_second(1), .burst = 1});
  CHECK(limits.allow(request{}).retry_after == 1s);
  clock.advance(1s);
  CHECK(limits.allow(request{}));

  enum class plan { slow, fast };
  tiered<token_bucket, plan, std::string, manual_clock> tiers(
      {{plan::slow, {.refill = per_hour(60), .burst = 60}}, {plan::fast, {.refill = per_second(1), .burst = 1}}},
      clock);
  plan of_user = plan::slow;
  auto by_plan = stack(layer("tiers", tiers, [&](request const& r) { return tiers.on(of_user, r.user); }));
  CHECK(by_plan.allow(request{}, cost{60}));
  of_user = plan::fast;
  CHECK(by_plan.allow(request{}).retry_after == 1s);
  clock.advance(1s);
  CHECK(by_plan.allow(request{}));
}

TEST_CASE("a layer that cannot give back says so, and no more is given back for it") {
  struct stubborn : bucket<std::string> {
    using bucket<std::string>::bucket;
    void undo(ticket&&) { throw std::runtime_error("not now"); }
  };
  stubborn first({.refill = per_second(1), .burst = 5});
  bucket<std::string> last({.refill = per_second(1), .burst = 5});
  contested overtaken(last, [&] { last.charge("ann", cost{5}); });
  auto limits = stack(layer("first", first, &request::user), layer("last", overtaken, &request::user));
  CHECK_THROWS_AS(static_cast<void>(limits.allow(request{})), std::runtime_error);
}
