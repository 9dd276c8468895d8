// What a call leaves behind that finds no memory: everything as it was.

#include "subjects.hpp"

#include <penstock/stack.hpp>

#include "unit/allocations.hpp"

#include <cstddef>

using namespace composition;

namespace {

/// call() with each of its allocations failing in turn; after each failure unchanged() is asked. How many failed.
std::size_t each_allocation_fails(auto call, auto unchanged) {
  std::size_t nth = 0;
  for (; throws_at_allocation(nth, call); ++nth) {
    INFO("allocation " << nth);
    unchanged();
  }
  return nth;
}

}  // namespace

TEST_CASE("a stack in which a layer finds no memory has taken from none") {
  bucket<std::string> first({.refill = per_hour(1), .burst = 5});
  sliding_log<std::string, manual_clock> second({.limit = per_hour(5)});
  auto const self = [](std::string const& who) { return std::string_view(who); };
  auto limits = stack(layer("first", first, self), layer("second", second, self));
  std::string const ann = "ann";
  CHECK(each_allocation_fails([&] { (void)limits.allow(ann); },
                              [&] {
                                CHECK(first.peek("ann", cost{0}).remaining == 5);
                                CHECK(second.peek("ann", cost{0}).remaining == 5);
                              }) > 0);
  CHECK(first.peek("ann", cost{0}).remaining == 4);
}

TEST_CASE("rules of which one finds no memory have counted nothing") {
  using algorithm::all_of, algorithm::sliding_log, algorithm::token_bucket;
  limiter<all_of<token_bucket, sliding_log>, no_key, manual_clock> one(
      {{.refill = per_hour(1), .burst = 5}, {.limit = per_hour(5)}});
  CHECK(each_allocation_fails([&] { (void)one.allow(); }, [&] { CHECK(one.peek(cost{0}).remaining == 5); }) > 0);
  CHECK(one.peek(cost{0}).remaining == 4);
  limiter<all_of<sliding_log, token_bucket, sliding_log>, no_key, manual_clock> two(
      {{.limit = per_hour(5)}, {.refill = per_hour(1), .burst = 5}, {.limit = per_day(5)}});
  CHECK(each_allocation_fails([&] { (void)two.allow(); }, [&] { CHECK(two.peek(cost{0}).remaining == 5); }) > 1);
  CHECK(two.peek(cost{0}).remaining == 4);
}
