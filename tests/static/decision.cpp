// decision.hpp, cost.hpp and config_error.hpp, while compiling. (That a decision may not be dropped unread, nor a bare
// number stand for a cost: compile_fail/.)

#include <penstock/config_error.hpp>
#include <penstock/cost.hpp>
#include <penstock/decision.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace {

using namespace penstock;

// A decision is a plain value, and one that says nothing admits: zero is `admitted`.
static_assert(std::is_aggregate_v<decision>);
static_assert(std::is_trivially_copyable_v<decision>);
static_assert(std::regular<decision>);
static_assert(decision{}.outcome == verdict::admitted);
static_assert(sizeof(verdict) == 1);
static_assert(sizeof(decision) <= 56);

static_assert(static_cast<bool>(decision{.outcome = verdict::admitted}));
static_assert(!static_cast<bool>(decision{.outcome = verdict::limited}));
static_assert(!static_cast<bool>(decision{.outcome = verdict::never}));
static_assert(!std::is_convertible_v<decision, bool>);  // only where a condition is asked for
static_assert(!std::is_convertible_v<decision, int>);

static_assert(std::is_same_v<decltype(decision::retry_after), std::chrono::nanoseconds>);
static_assert(std::is_same_v<decltype(decision::remaining), std::uint64_t>);

// A cost is never a bare number.
static_assert(!std::is_convertible_v<int, cost>);
static_assert(!std::is_convertible_v<std::uint64_t, cost>);
static_assert(!std::is_convertible_v<cost, std::uint64_t>);
static_assert(std::is_aggregate_v<cost> && sizeof(cost) == 8);
static_assert(cost{2} < cost{3} && cost{3} == cost{3} && cost{std::numeric_limits<std::uint64_t>::max()} > cost{3});

static_assert(std::is_base_of_v<std::invalid_argument, config_error>);

}  // namespace
