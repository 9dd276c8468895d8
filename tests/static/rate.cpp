// rate.hpp, while compiling: literals. (Those that must not compile: compile_fail/rate_literal_typo.cpp.)

#include <penstock/rate.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>

using namespace std::chrono_literals;

namespace {

using penstock::rate;
using namespace penstock::literals;

static_assert("100/min"_rate == penstock::per_minute(100));
static_assert("10 per 15 minutes"_rate == penstock::per(10, 15min));
static_assert("5/s"_rate == penstock::per_second(5));
static_assert("1/250ms"_rate == penstock::per(1, 250ms));
static_assert("1000 per day"_rate == penstock::per_day(1'000));
static_assert(" 7 / 2 h "_rate == penstock::per(7, 2h));
static_assert("60/min"_rate != "1/s"_rate);  // the exact pair: windows tell them apart

static_assert(penstock::parse_rate("3/hour") == penstock::per_hour(3));

static_assert(std::is_aggregate_v<rate>);
static_assert(std::regular<rate>);
static_assert(!std::is_convertible_v<std::uint64_t, rate>);
static_assert(rate{3, 1s}.count == 3 && rate{3, 1s}.period == 1'000'000'000ns);
static_assert(requires(std::chrono::nanoseconds period) {
  { penstock::per_second(1) }
  noexcept;
  { penstock::per(1, period) }
  noexcept;
});

}  // namespace
