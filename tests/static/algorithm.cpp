// algorithm.hpp and algorithm/*.hpp, while compiling: the six are algorithms, their states are as small as promised,
// and they count in constant expressions. (The message for what is none: compile_fail/not_an_algorithm.cpp.)

#include <penstock/limiters.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>

using namespace std::chrono_literals;

namespace {

using namespace penstock;
using std::chrono::nanoseconds;

// ---- the concept ----------------------------------------------------------------------------------------------------

static_assert(limiting_algorithm<algorithm::token_bucket> && limiting_algorithm<algorithm::leaky_meter> &&
              limiting_algorithm<algorithm::leaky_queue>);
static_assert(limiting_algorithm<algorithm::fixed_window> && limiting_algorithm<algorithm::sliding_counter> &&
              limiting_algorithm<algorithm::sliding_log>);

struct least {  // all that is asked for, and no more
  struct config {};
  struct state {};
  explicit least(config const&, instant);
  bool admits(state const&, instant, cost) const;
  void charge(state&, instant, cost) const;
  void refund(state&, instant, cost) const;
  decision describe(state const&, instant, cost) const;
  instant fresh_at(state const&) const;
  state join(state const&, state const&) const;
};
static_assert(limiting_algorithm<least>);

struct without_a_refund {
  struct config {};
  struct state {};
  explicit without_a_refund(config const&, instant);
  bool admits(state const&, instant, cost) const;
  void charge(state&, instant, cost) const;
  decision describe(state const&, instant, cost) const;
  instant fresh_at(state const&) const;
  state join(state const&, state const&) const;
};
struct admits_an_int : least {
  using least::least;
  int admits(state const&, instant, cost) const;
};
struct changes_itself : least {
  using least::least;
  void charge(state&, instant, cost);
};
struct needs_more_than_a_configuration : least {
  needs_more_than_a_configuration(config const&, instant, int);
};
struct has_no_fresh_state : least {
  using least::least;
  struct state {
    explicit state(int);
  };
};
static_assert(!limiting_algorithm<without_a_refund> && !limiting_algorithm<admits_an_int> &&
              !limiting_algorithm<changes_itself>);
static_assert(!limiting_algorithm<needs_more_than_a_configuration> && !limiting_algorithm<has_no_fresh_state>);
static_assert(!limiting_algorithm<algorithm::token_bucket::config> && !limiting_algorithm<int>);

// ---- states and configurations
// ----------------------------------------------------------------------------------------

static_assert(sizeof(algorithm::token_bucket::state) == 8 && sizeof(algorithm::leaky_meter::state) == 8);
static_assert(sizeof(algorithm::leaky_queue::state) == 16 && sizeof(algorithm::fixed_window::state) == 16 &&
              sizeof(algorithm::sliding_counter::state) == 16);
static_assert(std::is_trivially_copyable_v<algorithm::token_bucket::state> &&
              std::is_trivially_copyable_v<algorithm::leaky_queue::state>);
static_assert(std::is_trivially_copyable_v<algorithm::fixed_window::state> &&
              std::is_trivially_copyable_v<algorithm::sliding_counter::state>);
static_assert(std::is_nothrow_move_constructible_v<algorithm::sliding_log::state>);

template <class A>
constexpr bool plain_configuration =
    std::is_aggregate_v<typename A::config>&& std::is_trivially_copyable_v<typename A::config>;
static_assert(plain_configuration<algorithm::token_bucket> && plain_configuration<algorithm::leaky_meter> &&
              plain_configuration<algorithm::leaky_queue>);
static_assert(plain_configuration<algorithm::fixed_window> && plain_configuration<algorithm::sliding_counter> &&
              plain_configuration<algorithm::sliding_log>);
static_assert(algorithm::token_bucket::config{.refill = per_second(5)}.burst == 5);
static_assert(algorithm::leaky_meter::config{.drain = per_second(5)}.capacity == 5);
static_assert(algorithm::leaky_queue::config{.drain = per_second(5)}.capacity == 5);
static_assert(algorithm::fixed_window::config{.limit = per_second(5)}.starts == window_start::aligned);
static_assert(!std::is_convertible_v<algorithm::token_bucket::config, algorithm::token_bucket>);

// All const, all noexcept (but the log's charge, which may need memory).
template <class A>
constexpr bool never_throws = requires(A const& a, typename A::state& s, typename A::state const& seen, instant now,
                                       cost c) {
  { a.admits(seen, now, c) }
  noexcept;
  { a.describe(seen, now, c) }
  noexcept;
  { a.refund(s, now, c) }
  noexcept;
  { a.fresh_at(seen) }
  noexcept;
};
static_assert(never_throws<algorithm::token_bucket> && never_throws<algorithm::leaky_meter> &&
              never_throws<algorithm::leaky_queue>);
static_assert(never_throws<algorithm::fixed_window> && never_throws<algorithm::sliding_counter> &&
              never_throws<algorithm::sliding_log>);

// ---- they count while compiling
// -----------------------------------------------------------------------------------------

template <class A>
struct asked {
  constexpr explicit asked(typename A::config const& c) : algorithm(c) {}
  constexpr decision allow(nanoseconds at, std::uint64_t units = 1) {
    decision const d = algorithm.describe(state, instant{at}, cost{units});
    if (algorithm.admits(state, instant{at}, cost{units}) != bool(d)) throw "the verdict is the same whoever is asked";
    if (d) algorithm.charge(state, instant{at}, cost{units});
    return d;
  }
  A algorithm;
  typename A::state state{};
};

constexpr bool bucket_three_at_one_and_a_half_a_second() {
  asked<algorithm::token_bucket> limit({.refill = per(3, 2s), .burst = 3});
  return limit.allow(0s) && limit.allow(0s, 3).retry_after == 666'666'667ns && !limit.allow(666'666'666ns, 3) &&
         limit.allow(666'666'667ns, 3);
}
static_assert(bucket_three_at_one_and_a_half_a_second());

constexpr bool meter_fills() {
  asked<algorithm::leaky_meter> limit({.drain = per_second(2), .capacity = 3});
  return limit.allow(0s, 3).remaining == 0 && limit.allow(0s).retry_after == 500ms && limit.allow(500ms) &&
         limit.allow(500ms, 4).outcome == verdict::never;
}
static_assert(meter_fills());

constexpr bool queue_of_six() {
  asked<algorithm::leaky_queue> limit({.drain = per_second(2), .capacity = 6});
  for (nanoseconds delay = 500ms; delay <= 3s; delay += 500ms)
    if (limit.allow(0s).delay != delay) return false;
  return limit.allow(0s).outcome == verdict::limited;
}
static_assert(queue_of_six());

constexpr bool window_boundary() {
  asked<algorithm::fixed_window> limit({.limit = per(3, 10s)});
  return limit.allow(8s) && limit.allow(9s) && limit.allow(9s) && limit.allow(9'500ms).retry_after == 500ms &&
         limit.allow(10s) && limit.allow(11s, 2) && limit.allow(13s).retry_after == 7s;
}
static_assert(window_boundary());

constexpr bool window_by_first_request() {
  asked<algorithm::fixed_window> limit({.limit = per(1, 10s), .starts = window_start::first_request});
  return limit.allow(7s) && limit.allow(16s).retry_after == 1s && limit.allow(17s).reset_after == 10s;
}
static_assert(window_by_first_request());

constexpr bool log_expiry() {
  asked<algorithm::sliding_log> limit({.limit = per(2, 10s)});
  return limit.allow(0s) && limit.allow(1s) && limit.allow(5s).retry_after == 5s &&
         limit.allow(9'999'999'999ns).retry_after == 1ns && limit.allow(10s);
}
static_assert(log_expiry());

constexpr bool counter_estimate() {
  asked<algorithm::sliding_counter> limit({.limit = per(100, 60s)});
  return limit.allow(0s, 80) && limit.allow(110s, 30) && limit.allow(60s + 15s, 0).remaining == 10;
}
static_assert(counter_estimate());

constexpr bool counter_of_one() {
  asked<algorithm::sliding_counter> limit({.limit = per(1, 10s)});
  return limit.allow(0s) && !limit.allow(9'900ms) && limit.allow(20s);
}
static_assert(counter_of_one());

static_assert(refill_within(per(100, 10s), 40) == per(60, 10s));
static_assert(algorithm::token_bucket({.refill = per_second(3)}).true_rate() == per(3, 1s));
static_assert(algorithm::token_bucket({.refill = per_hour(99)}).true_rate() == per(11, 400s));

}  // namespace
