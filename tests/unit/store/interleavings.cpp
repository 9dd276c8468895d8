// store/table.hpp and store/cell.hpp when calls overlap: another call in the midst of one, at every place in turn.
// (Threads that overlap by chance: concurrency/.)

#include <penstock/limiters.hpp>

#include "../between_instructions.hpp"
#include "one_table.hpp"
#include "support/catch.hpp"
#include "support/slow.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

using namespace penstock;
using namespace one_table;
using namespace std::chrono_literals;

namespace {

using bucket = algorithm::token_bucket;
using window = algorithm::fixed_window;
bucket const ten({.refill = per_second(1), .burst = 10});
window const ten_a_window({.limit = per(10, 10s)});
constexpr instant now{200s}, early = now - 3s, earlier = now - 60s;

bucket::state used(std::uint64_t units) {
  bucket::state s;
  ten.charge(s, now, cost{units});
  return s;
}

/// A table full of keys, of which only the first has recovered: the next newcomer takes its slot.
struct full_table {
  table_of<bucket> table{{.max_keys = 1}};
  bucket::state first;

  full_table() {
    charge(table, ten, 1, early, 3);
    first = seen(table, ten, 1, now);
    for (std::uint64_t number = 2; number <= 8; ++number) charge(table, ten, number, early, 5);  // used(2) by now
  }
  auto try_first(std::uint64_t units) {
    return table.attempt(table.locate(key(1)), [&](auto& s) { return ten.charge(s, now, cost{units}), units != 0; });
  }
  void come(std::uint64_t number) { charge(table, ten, number, now, 5); }
};

/// hold(at) runs what overlaps at one place, and says whether there was such a place. Every seventh is tried where they
/// are many: the time grows with their square.
void at_every_place(auto hold) {
  if constexpr (!between_instructions::possible) {
    WARN("the processor cannot be stepped here");
  } else {
    long places = 0;
    for (long at = 1; hold(at); at += support::slow ? 7 : 1) ++places;
    CHECK(places > 5);
  }
}

}  // namespace

TEST_CASE("a newcomer that takes the slot of a key in the midst of its call is not charged for it") {
  {
    full_table t;
    REQUIRE(t.table.stats(ten, now).capacity == 8);
    REQUIRE(t.try_first(1).what == attempt::changed);
  }
  bool taken_before = false, taken_after = false;
  at_every_place([&](long at) {
    full_table t;
    attempted<bucket::state> tried;
    bucket::state came;
    bool const overlapped = between_instructions::run(
        at, [&] { tried = t.try_first(1); },
        [&] {
          t.come(9);
          came = seen(t.table, ten, 9, now);
        });
    if (!overlapped) return false;
    // Who comes after the charge drops the key that was charged, and inherits it.
    bool const after = tried.what == attempt::changed;
    bool const right = came == used(after ? 6 : 5) && seen(t.table, ten, 9, now) == came;
    if (!right) FAIL("before instruction " << at);
    (after ? taken_after : taken_before) = true;
    return true;
  });
  CHECK(taken_before == between_instructions::possible);
  CHECK(taken_after == between_instructions::possible);
}

TEST_CASE("a look at a key whose slot is taken meanwhile does not see the newcomer") {
  at_every_place([](long at) {
    full_table t;
    bucket::state found;
    bool const overlapped =
        between_instructions::run(at, [&] { found = seen(t.table, ten, 1, now); }, [&] { t.come(9); });
    // Its own, or what it would start from now: the state of the key that would have to go.
    if (overlapped && found != t.first && found != used(2)) FAIL("before instruction " << at);
    return overlapped;
  });
}

TEST_CASE("while a slot changes hands, neither key is found in it but as it was before or is afterwards") {
  at_every_place([](long at) {
    full_table t;
    attempted<bucket::state> first, newcomer, charged;
    bool const overlapped = between_instructions::run(
        at, [&] { t.come(9); },
        [&] {
          first = t.try_first(0);
          newcomer = t.table.attempt(t.table.locate(key(9)), [](auto&) { return false; });
          charged = t.try_first(1);
        });
    if (!overlapped) return false;
    bool const right = (first.what == attempt::elsewhere || first.seen == t.first) &&
                       (newcomer.what == attempt::elsewhere || newcomer.seen == used(5));
    // A key that is charged while its slot is being given away is inherited, or was not charged.
    bool const kept = seen(t.table, ten, 9, now) == used(charged.what == attempt::changed ? 6 : 5);
    if (!right || !kept) FAIL("before instruction " << at);
    return true;
  });
}

TEST_CASE("who reads a state of two words sees one that has been, whole") {
  window::state before, after;
  ten_a_window.charge(before, earlier, cost{3});
  ten_a_window.charge(after, now, cost{1});
  auto const whole = [&](auto make, auto read, auto write) {
    at_every_place([&](long at) {
      auto held = make();
      window::state found;
      bool const overlapped = between_instructions::run(at, [&] { found = read(*held); }, [&] { write(*held); });
      if (found != before && found != after) FAIL("before instruction " << at);
      return overlapped;
    });
  };
  using cell = store::cell::of<window, no_key>;
  auto const charge_cell = [](cell& c, instant at, std::uint64_t units) {
    c.change(ten_a_window, {}, at, [&](auto& s) { return ten_a_window.charge(s, at, cost{units}), true; });
  };
  whole(
      [&] {
        auto c = std::make_unique<cell>();
        charge_cell(*c, earlier, 3);
        return c;
      },
      [](cell& c) {
        window::state found;
        c.look(ten_a_window, {}, now, [&](auto const& s) { found = s; });
        return found;
      },
      [&](cell& c) { charge_cell(c, now, 1); });
  whole(
      [] {
        auto t = std::make_unique<table_of<window>>(store_options{.max_keys = 1});
        charge(*t, ten_a_window, 1, earlier, 3);
        return t;
      },
      [](table_of<window>& t) { return seen(t, ten_a_window, 1, now); },
      [](table_of<window>& t) { charge(t, ten_a_window, 1, now, 1); });
}

// ---- a step that makes another call itself, between what its store read and what it writes
// -------------------------------

TEST_CASE("a call that was overtaken begins again with what there is now") {
  auto const twice = [](auto& held, auto const& a, auto place, auto const& again) {
    int runs = 0;
    held.change(a, place, now, [&](auto& s) {
      if (++runs == 1) again();
      a.charge(s, now, cost{1});
      return runs < 5;  // else it would go on for ever
    });
    return runs;
  };
  auto const charge_one = [](auto const& a) { return [&](auto& s) { return a.charge(s, now, cost{1}), true; }; };
  SECTION("a cell of one word") {
    store::cell::of<bucket, no_key> cell;
    decltype(cell)::place const only;
    CHECK(twice(cell, ten, only, [&] { cell.change(ten, only, now, charge_one(ten)); }) == 2);
    cell.look(ten, only, now, [](auto const& s) { CHECK(s == used(2)); });
  }
  SECTION("a cell of two") {
    store::cell::of<window, no_key> cell;
    decltype(cell)::place const only;
    CHECK(twice(cell, ten_a_window, only, [&] { cell.change(ten_a_window, only, now, charge_one(ten_a_window)); }) ==
          2);
    cell.look(ten_a_window, only, now, [](auto const& s) { CHECK(s.count == 2); });
  }
  SECTION("a key held in a table") {
    table_of<bucket> words({.max_keys = 1});
    table_of<window> windows({.max_keys = 1});
    charge(words, ten, 1, now, 1);
    charge(windows, ten_a_window, 1, now, 1);
    CHECK(twice(words, ten, words.locate(key(1)), [&] { charge(words, ten, 1, now, 1); }) == 2);
    CHECK(twice(windows, ten_a_window, windows.locate(key(1)), [&] { charge(windows, ten_a_window, 1, now, 1); }) == 2);
    CHECK(seen(words, ten, 1, now) == used(3));
    CHECK(seen(windows, ten_a_window, 1, now).count == 3);
  }
  SECTION("newcomers that want one slot") {
    table_of<bucket> words({.max_keys = 1});
    table_of<window> windows({.max_keys = 1});
    CHECK(twice(words, ten, words.locate(key(1)), [&] { charge(words, ten, 2, now, 4); }) == 2);
    CHECK(twice(windows, ten_a_window, windows.locate(key(1)), [&] { charge(windows, ten_a_window, 2, now, 4); }) == 2);
    CHECK(seen(words, ten, 1, now) == used(1));
    CHECK(seen(words, ten, 2, now) == used(4));
    CHECK(seen(windows, ten_a_window, 1, now).count == 1);
    CHECK(seen(windows, ten_a_window, 2, now).count == 4);
  }
}
