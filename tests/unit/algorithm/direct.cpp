// An algorithm without a limiter: what no limiter asks of it, and a program that keeps its own states may.

#include <penstock/algorithm/all_of.hpp>
#include <penstock/algorithm/fixed_window.hpp>
#include <penstock/algorithm/leaky_meter.hpp>
#include <penstock/algorithm/leaky_queue.hpp>
#include <penstock/algorithm/sliding_counter.hpp>
#include <penstock/algorithm/sliding_log.hpp>
#include <penstock/algorithm/token_bucket.hpp>

#include "support/catch.hpp"

#include <chrono>

using namespace penstock;
using namespace std::chrono_literals;

TEMPLATE_TEST_CASE("charging nothing leaves a state as it is, fresh or used, and no newer", "[direct]",
                   algorithm::fixed_window, algorithm::sliding_log, algorithm::sliding_counter, algorithm::token_bucket,
                   algorithm::leaky_meter, algorithm::leaky_queue) {
  TestType const a{typename TestType::config{per(3, 10s)}};
  typename TestType::state s{};
  a.charge(s, instant{12s}, cost{0});
  CHECK(s == typename TestType::state{});

  a.charge(s, instant{12s}, cost{1});
  auto const used = s;
  a.charge(s, instant{12s}, cost{0});
  CHECK(s == used);
  a.charge(s, instant{14s}, cost{0});
  CHECK(a.describe(s, instant{14s}, cost{1}) == a.describe(used, instant{14s}, cost{1}));
  CHECK(a.fresh_at(s) == a.fresh_at(used));
}

TEST_CASE("several limits on one key are fresh when the last of them is") {
  using both = algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>;
  both const a(both::config{{.refill = per(3, 60s), .burst = 3}, {.limit = per(3, 10s)}});
  both::state s{};
  CHECK(a.fresh_at(s) <= instant{12s});
  a.charge(s, instant{12s}, cost{1});
  CHECK(a.fresh_at(s) == instant{32s});  // the bucket's unit comes back after the window's end at 20 s
}
