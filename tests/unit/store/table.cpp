// store/table.hpp: who makes room for whom, and what is kept of it. (Calls that overlap: interleavings.cpp.)

#include <penstock/limiters.hpp>

#include "one_table.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>

using namespace penstock;
using namespace one_table;
using namespace std::chrono_literals;

namespace {

using bucket = algorithm::token_bucket;

bucket const ten({.refill = per_second(1), .burst = 10});
constexpr instant now{200s};
constexpr std::uint64_t slots = 8;

bucket::state used(std::uint64_t units, instant at = now) {
  bucket::state s;
  ten.charge(s, at, cost{units});
  return s;
}

/// Keys 1 to 8, each with `units` used, but for the first, which has `units_of_first`.
void fill(table_of<bucket>& table, std::uint64_t units, std::uint64_t units_of_first, instant at = now) {
  REQUIRE(table.stats(ten, at).capacity == slots);
  for (std::uint64_t number = 1; number <= slots; ++number)
    charge(table, ten, number, at, number == 1 ? units_of_first : units);
  REQUIRE(table.stats(ten, at).keys == slots);
}

}  // namespace

TEST_CASE("nobody is dropped while there is room") {
  table_of<bucket> table({.max_keys = 1});
  for (std::uint64_t number = 1; number <= slots; ++number) {
    charge(table, ten, number, now, number);
    for (std::uint64_t held = 1; held <= number; ++held) CHECK(seen(table, ten, held, now) == used(held));
  }
  CHECK(table.stats(ten, now).evictions == 0);
}

TEST_CASE("the key with the most room left is dropped, and newcomers begin with what it had used") {
  table_of<bucket> table({.max_keys = 1});
  fill(table, 5, 3);
  CHECK(seen(table, ten, 9, now) == used(3));
  charge(table, ten, 9, now, 4);
  CHECK(table.stats(ten, now).evictions == 1);
  CHECK(seen(table, ten, 9, now) == used(7));
  for (std::uint64_t number = 2; number <= slots; ++number) CHECK(seen(table, ten, number, now) == used(5));
  // It comes back to the strictest that was dropped: now that of the key which goes for its sake.
  CHECK(seen(table, ten, 1, now) == used(5));
}

TEST_CASE("a newcomer begins with what was dropped also where there is room again, until that has recovered") {
  table_of<bucket> table({.max_keys = 1});
  fill(table, 5, 5);
  charge(table, ten, 9, now, 1);  // instead of one with 5
  table.amend(ten, table.locate(key(9)), [](auto& s) { return s = {}, true; });
  CHECK(seen(table, ten, 10, now) == used(5));
  CHECK(seen(table, ten, 10, now + 5s - 1ns) == used(5));
  CHECK(seen(table, ten, 10, now + 5s) == bucket::state{});
}

TEST_CASE("what recovered before it was dropped binds no one at this reading, but those that lag behind it") {
  table_of<bucket> table({.max_keys = 1});
  fill(table, 10, 2);
  for (std::uint64_t newcomer = 9; newcomer <= 10; ++newcomer) {  // the second finds a floor that has recovered, too
    instant const at = now + (newcomer == 9 ? 2s : 4s);
    charge(table, ten, newcomer, at, newcomer == 9 ? 2 : 10);
    CHECK(table.stats(ten, at).evictions == 0);
    CHECK(seen(table, ten, newcomer, at) == used(newcomer == 9 ? 2 : 10, at));
  }
  table.amend(ten, table.locate(key(2)), [](auto& s) { return s = {}, true; });  // so that there is room
  CHECK(seen(table, ten, 11, now + 4s) == bucket::state{});
  CHECK(seen(table, ten, 11, now + 3s) == used(4));
}

TEST_CASE("a floor that binds is not mixed with what has recovered") {
  table_of<bucket> table({.max_keys = 1});
  fill(table, 9, 3);
  charge(table, ten, 9, now, 1);  // instead of the first: newcomers begin with 3
  table.amend(ten, table.locate(key(9)), [](auto& s) { return s = used(2), true; });
  charge(table, ten, 10, now + 2s, 1);  // into a slot that has recovered just now
  CHECK(seen(table, ten, 10, now + 2s) == used(4));
  table.amend(ten, table.locate(key(2)), [](auto& s) { return s = {}, true; });
  CHECK(seen(table, ten, 11, now + 2s) == used(3));
}

TEST_CASE("a call that is refused takes no slot and drops nobody") {
  table_of<bucket> table({.max_keys = 1});
  fill(table, 5, 3);
  auto const refused = [](auto&) { return false; };
  CHECK_FALSE(table.change(ten, table.locate(key(9)), now, refused));
  CHECK(table.stats(ten, now).evictions == 0);
  CHECK(seen(table, ten, 1, now) == used(3));
}

TEST_CASE("where the policy is to refuse, a newcomer is told when there is room, and a charge finds it") {
  table_of<bucket> table({.max_keys = 1, .full = when_full::refuse});
  fill(table, 5, 3);
  bool ran = false;
  auto const none = table.change(ten, table.locate(key(9)), now, [&](auto&) { return ran = true; });
  REQUIRE(none);
  CHECK_FALSE(ran);
  CHECK(none->at == now + 3s);
  CHECK(none->start == bucket::state{});
  CHECK(table.stats(ten, now).newcomers_refused == 1);
  CHECK(seen(table, ten, 1, now) == used(3));
  table.insist(ten, table.locate(key(9)), now, [&](auto& s) { return ten.charge(s, now, cost{1}), true; });
  CHECK(seen(table, ten, 9, now) == used(4));
  CHECK(table.stats(ten, now).evictions == 1);
}
