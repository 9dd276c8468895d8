// limiter.hpp, while compiling: which calls there are, and which there are not.

#include <penstock/penstock.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace {

using namespace penstock;

using alone = token_bucket<>;
using by_name = token_bucket<std::string>;
using by_id = token_bucket<std::uint32_t>;
using by_route = token_bucket<std::tuple<std::string, int>>;

// The six names.
static_assert(
    std::is_same_v<alone, limiter<algorithm::token_bucket, no_key, std::chrono::steady_clock, default_store>>);
static_assert(std::is_same_v<leaky_meter<int>, limiter<algorithm::leaky_meter, int>>);
static_assert(std::is_same_v<leaky_queue<int>, limiter<algorithm::leaky_queue, int>>);
static_assert(std::is_same_v<fixed_window<int, manual_clock>, limiter<algorithm::fixed_window, int, manual_clock>>);
static_assert(std::is_same_v<sliding_counter<>, limiter<algorithm::sliding_counter>>);
static_assert(std::is_same_v<sliding_log<int, coarse_clock, store::unsynchronized>,
                             limiter<algorithm::sliding_log, int, coarse_clock, store::unsynchronized>>);

// A limiter stays where it is.
template <class L>
constexpr bool stays = !std::is_copy_constructible_v<L> && !std::is_move_constructible_v<L> &&
                       !std::is_copy_assignable_v<L> && !std::is_move_assignable_v<L>;
static_assert(stays<alone> && stays<by_name> && stays<sliding_log<int>> &&
              stays<token_bucket<int, manual_clock, store::unsynchronized>>);

// How it is made.
template <class L>
using config_of = typename L::config;
static_assert(std::is_constructible_v<alone, config_of<alone>>);
static_assert(std::is_constructible_v<alone, config_of<alone>, std::chrono::steady_clock>);
static_assert(!std::is_constructible_v<alone, config_of<alone>, store_options>);  // there is nothing to bound
static_assert(std::is_constructible_v<by_name, config_of<by_name>>);
static_assert(std::is_constructible_v<by_name, config_of<by_name>, store_options>);
static_assert(
    std::is_constructible_v<token_bucket<int, manual_clock>, config_of<by_name>, store_options, manual_clock>);
static_assert(std::is_constructible_v<token_bucket<int, manual_clock>, config_of<by_name>, manual_clock>);
static_assert(requires { token_bucket<int>({per_second(1)}, {}); });  // {} are the options, not the clock
static_assert(requires { token_bucket<int>({per_second(1)}, {.max_keys = 10}, {}); });
static_assert(requires { token_bucket<int, manual_clock>({per_second(1)}, {.max_keys = 10}); });
static_assert(requires(manual_clock const& clock) { token_bucket<int, manual_clock>({per_second(1)}, clock); });
static_assert(requires { token_bucket<int, manual_clock>({per_second(1)}, {}, manual_clock{}); });
static_assert(requires(store_options& options) { token_bucket<int, manual_clock>({per_second(1)}, options); });
static_assert(!std::is_default_constructible_v<alone>);
static_assert(!std::is_convertible_v<config_of<alone>, alone>);
static_assert(!std::is_constructible_v<alone, rate>);

// What it is asked.
template <class L, class... Arguments>
constexpr bool allows = requires(L& l, Arguments... arguments) {
  { l.allow(arguments...) } -> std::same_as<decision>;
};
template <class L, class... Arguments>
constexpr bool peeks = requires(L const& l, Arguments... arguments) {
  { l.peek(arguments...) } -> std::same_as<decision>;
};
template <class L, class... Arguments>
constexpr bool charges = requires(L& l, Arguments... arguments) {
  { l.charge(arguments...) } -> std::same_as<void>;
  { l.refund(arguments...) } -> std::same_as<void>;
};
template <class L, class... Arguments>
constexpr bool forgets = requires(L& l, Arguments... arguments) { l.forget(arguments...); };

static_assert(allows<alone> && allows<alone, cost> && peeks<alone> && peeks<alone, cost> && charges<alone, cost> &&
              forgets<alone>);
static_assert(!allows<alone, char const*> && !allows<alone, int> && !allows<alone, char const*, cost> &&
              !charges<alone> && !charges<alone, int>);

static_assert(allows<by_name, std::string> && allows<by_name, std::string_view> && allows<by_name, char const*> &&
              allows<by_name, std::string, cost>);
static_assert(peeks<by_name, std::string_view> && charges<by_name, std::string_view, cost> &&
              forgets<by_name, std::string_view>);
static_assert(!allows<by_name> && !allows<by_name, int> && !allows<by_name, std::string, int> &&
              !allows<by_name, cost>);
static_assert(!charges<by_name, std::string> && !peeks<by_name> && !forgets<by_name>);

static_assert(allows<by_id, std::uint32_t> && allows<by_id, std::uint16_t> && allows<by_id, int> &&
              allows<by_id, std::uint32_t, cost>);
static_assert(!allows<by_id, std::uint64_t> && !allows<by_id, std::int64_t> && !allows<by_id, double> &&
              !allows<by_id, char const*>);
static_assert(!peeks<by_id, std::uint64_t> && !charges<by_id, std::uint64_t, cost> && !forgets<by_id, std::uint64_t>);
static_assert(!allows<by_id, int, int>);  // the second is not a cost

static_assert(allows<by_route, std::tuple<std::string, int>> && allows<by_route, std::tuple<std::string_view, int>> &&
              allows<by_route, std::tuple<char const*, int>>);
static_assert(!allows<by_route, std::string> && !allows<by_route, std::tuple<std::string>>);

// The twins take a reading of that very clock.
template <class L, class... Arguments>
constexpr bool allows_at = requires(L& l, Arguments... arguments) {
  { l.allow_at(arguments...) } -> std::same_as<decision>;
  { l.peek_at(arguments...) } -> std::same_as<decision>;
};
using reading = std::chrono::steady_clock::time_point;
static_assert(allows_at<alone, reading> && allows_at<alone, reading, cost> &&
              allows_at<by_name, reading, char const*> && allows_at<by_name, reading, char const*, cost>);
static_assert(!allows_at<alone, std::chrono::system_clock::time_point> && !allows_at<alone, std::chrono::nanoseconds> &&
              !allows_at<by_name, reading>);
static_assert(std::is_same_v<alone::time_point, reading>);
static_assert(std::is_same_v<by_name::key_argument, std::string_view>);

// A constant limiter can be looked at, and no more.
static_assert(!allows<alone const> && !charges<alone const, cost> && !forgets<alone const>);
static_assert(requires(alone const& l) {
  { l.stats() } -> std::same_as<store_stats>;
});

}  // namespace
