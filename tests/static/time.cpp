// time.hpp, while compiling.

#include <penstock/time.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

struct clock {};
template <class D>
constexpr instant read(D since_epoch) {
  return to_instant(std::chrono::time_point<clock, D>{since_epoch});
}

// An instant is a point on a line of its own: the readings of two clocks do not mix by accident.
static_assert(!std::is_convertible_v<std::chrono::steady_clock::time_point, instant>);
static_assert(!std::is_convertible_v<std::int64_t, instant>);
static_assert(std::is_same_v<decltype(instant{} - instant{}), duration>);
static_assert(sizeof(instant) == 8);

static_assert(requires(std::chrono::steady_clock::time_point reading) {
  { to_instant(reading) }
  noexcept;
});
static_assert(read(5ns) == instant{5ns});
static_assert(read(5h) == instant{5h});
static_assert(read(std::chrono::nanoseconds::max()) == latest);
static_assert(read(std::chrono::nanoseconds::min()) == earliest);
static_assert(read(std::chrono::hours::max()) == latest);
static_assert(read(std::chrono::hours::min()) == earliest);
static_assert(read(std::chrono::duration<double>{0.25}) == instant{250ms});

static_assert(longest_period == std::chrono::days{36'525});
static_assert(detail::floor_divide(-7, 2) == -4 && detail::floor_divide(7, 2) == 3 &&
              detail::floor_divide(-8, 2) == -4);
static_assert(detail::ceil_divide(7U, 2U) == 4 && detail::ceil_divide(8U, 2U) == 4);
static_assert(detail::multiply(1ULL << 63, 6) == detail::wide{3, 0});
static_assert(detail::divide({3, 0}, 6) == 1ULL << 63);

}  // namespace
