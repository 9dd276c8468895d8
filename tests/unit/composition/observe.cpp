// observe.hpp: seeing what a stack decides.

#include "subjects.hpp"

#include <penstock/observe.hpp>

#include <optional>
#include <sstream>

using namespace composition;

namespace {

struct request {
  std::string user = "ann";
  std::optional<std::string> api_key{};
  std::uint64_t bytes = 1;
};

struct notebook {
  std::vector<std::string> lines;
  void operator()(observation const& seen) {
    constexpr char const* outcomes[] = {"admitted", "limited", "never"};
    std::ostringstream line;
    line << seen.layer << ' ' << seen.name << ' ' << outcomes[static_cast<int>(seen.outcome)] << ' ' << seen.units.units
         << (seen.shadow ? " shadow" : "") << (seen.charged ? " charged" : "");
    lines.push_back(line.str());
  }
  std::vector<std::string> take() { return std::exchange(lines, {}); }
};

using lines = std::vector<std::string>;

}  // namespace

TEST_CASE("an observer is told of each layer that applies: its verdict, the cost, and whether it was charged") {
  bucket<std::string> per_user({.refill = per_minute(2)}), per_key({.refill = per_minute(1)}),
      tried({.refill = per_minute(1)});
  auto limits = stack(layer("user", per_user, &request::user), layer("key", per_key, &request::api_key),
                      layer("tried", tried, &request::user).shadow());
  notebook seen;
  auto watched = observed(limits, seen);
  CHECK(watched.allow_at(on(0s), request{}));
  CHECK(seen.take() == lines{"0 user admitted 1 charged", "2 tried admitted 1 shadow charged"});
  CHECK(watched.allow_at(on(0s), request{.api_key = "k"}));
  CHECK(seen.take() == lines{"0 user admitted 1 charged", "1 key admitted 1 charged", "2 tried limited 1 shadow"});
  auto const d = watched.allow_at(on(30s), request{.api_key = "k"});
  CHECK(d.limited_by() == "key");
  CHECK(seen.take() == lines{"0 user admitted 1", "1 key limited 1", "2 tried limited 1 shadow"});
  CHECK_FALSE(watched.allow_at(on(0s), request{}, cost{3}));
  CHECK(seen.take() == lines{"0 user never 3", "2 tried never 3 shadow"});
  CHECK_FALSE(watched.peek(request{.api_key = "k"}, cost{9}));  // a look is no call
  CHECK(seen.lines.empty());
}

TEST_CASE("a watched stack answers what the stack answers") {
  manual_clock clock{1s};
  bucket<std::string> per_user({.refill = per_minute(2)}, clock), twin({.refill = per_minute(2)}, clock);
  auto limits = stack(layer("user", per_user, &request::user)), unwatched = stack(layer("user", twin, &request::user));
  notebook seen;
  auto watched = observed(limits, seen);
  for (int i = 0; i < 4; ++i) {
    auto const one = watched.allow(request{}), other = unwatched.allow(request{});
    CHECK(one.outcome == other.outcome);
    CHECK(one.retry_after == other.retry_after);
    CHECK(one.remaining == other.remaining);
    CHECK(one.layers()[0].decision == other.layers()[0].decision);
    CHECK(watched.peek(request{}).retry_after == unwatched.peek(request{}).retry_after);
  }
  CHECK(seen.lines.size() == 4);
}

TEST_CASE("a layer's own cost is the one that is told and counted") {
  bucket<std::string> per_user({.refill = per_minute(10)}), bytes({.refill = per_minute(1'000)});
  auto limits =
      stack(layer("user", per_user, &request::user), layer("bytes", bytes, &request::user).costs(&request::bytes));
  notebook seen;
  auto watched = observed(limits, seen);
  CHECK(watched.allow_at(on(0s), request{.bytes = 300}, cost{2}));
  CHECK(seen.take() == lines{"0 user admitted 2 charged", "1 bytes admitted 300 charged"});
  counters counted(limits);
  auto counting = observed(limits, counted);
  CHECK(counting.allow_at(on(0s), request{.bytes = 500}));
  CHECK(contains(counted.prometheus(), "penstock_units_total{layer=\"user\"} 1\n"));
  CHECK(contains(counted.prometheus(), "penstock_units_total{layer=\"bytes\"} 500\n"));
}

TEST_CASE("the counters print Prometheus' text format") {
  manual_clock clock;
  bucket<std::string> per_user({.refill = per_minute(2)}, {.max_keys = 1'000}, clock),
      tried({.refill = per_minute(1)}, {.max_keys = 1'000}, clock);
  bucket<> site({.refill = per_minute(3)}, clock);
  auto limits = stack(layer("user", per_user, &request::user), layer("site", site),
                      layer("tried", tried, &request::user).shadow());
  counters seen(limits);
  auto watched = observed(limits, seen);
  for (int i = 0; i < 3; ++i) static_cast<void>(watched.allow(request{}).outcome);  // the third is refused by user
  for (int i = 0; i < 2; ++i) static_cast<void>(watched.allow(request{.user = "bob"}).outcome);  // the second by site

  auto const capacity = [](auto const& limit) { return std::to_string(limit.stats().capacity); };
  std::string const expected =
      R"(# HELP penstock_decisions_total Decisions by layer. spared: the layer would have admitted, another refused.
# TYPE penstock_decisions_total counter
penstock_decisions_total{layer="user",verdict="admitted"} 3
penstock_decisions_total{layer="user",verdict="refused"} 1
penstock_decisions_total{layer="user",verdict="shadow_refused"} 0
penstock_decisions_total{layer="user",verdict="spared"} 1
penstock_decisions_total{layer="site",verdict="admitted"} 3
penstock_decisions_total{layer="site",verdict="refused"} 1
penstock_decisions_total{layer="site",verdict="shadow_refused"} 0
penstock_decisions_total{layer="site",verdict="spared"} 1
penstock_decisions_total{layer="tried",verdict="admitted"} 2
penstock_decisions_total{layer="tried",verdict="refused"} 0
penstock_decisions_total{layer="tried",verdict="shadow_refused"} 3
penstock_decisions_total{layer="tried",verdict="spared"} 0
# HELP penstock_units_total Units charged by layer.
# TYPE penstock_units_total counter
penstock_units_total{layer="user"} 3
penstock_units_total{layer="site"} 3
penstock_units_total{layer="tried"} 2
# HELP penstock_keys Keys that are not fresh.
# TYPE penstock_keys gauge
penstock_keys{layer="user"} 2
penstock_keys{layer="site"} 1
penstock_keys{layer="tried"} 2
# HELP penstock_key_capacity Keys that could be held.
# TYPE penstock_key_capacity gauge
penstock_key_capacity{layer="user"} )" +
      capacity(per_user) + R"(
penstock_key_capacity{layer="site"} 1
penstock_key_capacity{layer="tried"} )" +
      capacity(tried) + R"(
# HELP penstock_evictions_total Live keys dropped for want of room.
# TYPE penstock_evictions_total counter
penstock_evictions_total{layer="user"} 0
penstock_evictions_total{layer="site"} 0
penstock_evictions_total{layer="tried"} 0
# HELP penstock_newcomers_refused_total Calls refused for want of room.
# TYPE penstock_newcomers_refused_total counter
penstock_newcomers_refused_total{layer="user"} 0
penstock_newcomers_refused_total{layer="site"} 0
penstock_newcomers_refused_total{layer="tried"} 0
)";
  CHECK(seen.prometheus() == expected);
}

TEST_CASE("a layer may have any name: what the format cannot carry is escaped") {
  bucket<> site({.refill = per_minute(3)});
  auto limits = stack(layer("a \"quoted\" \\ name\nof two lines", site));
  counters seen(limits);
  CHECK(observed(limits, seen).allow_at(on(0s), 0));
  CHECK(contains(seen.prometheus(), R"(penstock_units_total{layer="a \"quoted\" \\ name\nof two lines"} 1)"
                                    "\n"));
}

TEST_CASE("evictions, and newcomers who find no room, are counted") {
  bucket<int> small({.refill = per_minute(3)}, {.max_keys = 4}),
      refusing({.refill = per_minute(3)}, {.max_keys = 4, .full = when_full::refuse});
  auto limits = stack(layer("small", small, std::identity{}), layer("refusing", refusing, std::identity{}).shadow());
  counters seen(limits);
  auto watched = observed(limits, seen);
  for (int user = 0; user < 100; ++user) static_cast<void>(watched.allow_at(on(0s), user).outcome);
  CHECK(small.stats().evictions > 0);
  CHECK(refusing.stats().newcomers_refused > 0);
  CHECK(contains(seen.prometheus(),
                 "penstock_evictions_total{layer=\"small\"} " + std::to_string(small.stats().evictions) + "\n"));
  CHECK(contains(seen.prometheus(), "penstock_newcomers_refused_total{layer=\"refusing\"} " +
                                        std::to_string(refusing.stats().newcomers_refused) + "\n"));
}

TEST_CASE("an observer is any callable of one observation") {
  bucket<> site({.refill = per_minute(3)});
  auto limits = stack(layer("site", site));
  std::uint64_t units = 0;
  auto const add = [&](observation const& seen) { units += seen.units.units; };
  auto watched = observed(limits, add);
  CHECK(watched.allow_at(on(0s), 0, cost{2}));
  CHECK(units == 2);
  static_assert(observer<notebook> && observer<counters> && observer<decltype(add)>);
  static_assert(!observer<int>);
}
