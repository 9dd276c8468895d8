// clock.hpp and clock/*.hpp, while compiling. (The message for what is no clock: compile_fail/not_a_clock.cpp.)

#include <penstock/clock.hpp>
#include <penstock/clock/coarse_clock.hpp>
#include <penstock/clock/manual_clock.hpp>
#include <penstock/clock/tsc_clock.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace {

using penstock::clock_source;

static_assert(clock_source<std::chrono::steady_clock>);
static_assert(clock_source<std::chrono::system_clock>);
static_assert(clock_source<std::chrono::high_resolution_clock>);
static_assert(clock_source<penstock::manual_clock> && clock_source<penstock::coarse_clock> &&
              clock_source<penstock::tsc_clock>);

struct with_state {
  using time_point = std::chrono::time_point<with_state, std::chrono::milliseconds>;
  time_point now() const { return start; }
  time_point start;
};
static_assert(clock_source<with_state>);

struct asked_only_when_mutable {
  using time_point = std::chrono::steady_clock::time_point;
  time_point now();
};
struct says_a_duration {
  using time_point = std::chrono::nanoseconds;
  time_point now() const;
};
struct says_an_integer {
  using time_point = std::int64_t;
  time_point now() const;
};
struct says_another_time {
  using time_point = std::chrono::steady_clock::time_point;
  std::chrono::system_clock::time_point now() const;
};
struct says_nothing {
  using time_point = std::chrono::steady_clock::time_point;
};
struct stays_where_it_is {
  using time_point = std::chrono::steady_clock::time_point;
  stays_where_it_is(stays_where_it_is const&) = delete;
  time_point now() const;
};
static_assert(!clock_source<asked_only_when_mutable> && !clock_source<says_a_duration> &&
              !clock_source<says_an_integer>);
static_assert(!clock_source<says_another_time> && !clock_source<says_nothing> && !clock_source<stays_where_it_is>);
static_assert(!clock_source<std::chrono::seconds> && !clock_source<int>);

// They count nanoseconds along lines of their own.
template <class C>
constexpr bool counts_nanoseconds =
    std::is_same_v<typename C::duration, std::chrono::nanoseconds>&& std::is_same_v<typename C::time_point::clock, C>;
static_assert(counts_nanoseconds<penstock::manual_clock> && counts_nanoseconds<penstock::coarse_clock> &&
              counts_nanoseconds<penstock::tsc_clock>);
static_assert(penstock::coarse_clock::is_steady && penstock::tsc_clock::is_steady &&
              !penstock::manual_clock::is_steady);
static_assert(noexcept(penstock::coarse_clock::now()) && noexcept(penstock::tsc_clock::now()));
static_assert(std::is_empty_v<penstock::coarse_clock> &&
              std::is_empty_v<penstock::tsc_clock>);  // they cost a limiter no byte

// A number is not taken for a clock.
static_assert(!std::is_convertible_v<std::chrono::nanoseconds, penstock::manual_clock>);

}  // namespace
