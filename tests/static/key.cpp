// key.hpp, while compiling: what is a key and what is not. (The message for what is not: compile_fail/not_a_key.cpp.)

#include <penstock/key.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shop {

enum class region : std::uint8_t { north, south };
enum old_region : int { old_north, old_south };

struct customer {};
std::string penstock_key(customer const&);
struct branch {};
std::pair<std::uint32_t, region> penstock_key(branch const&);
struct order {};
customer const& penstock_key(order const&);
struct visitor {};  // no penstock_key
struct basket {};
std::vector<int> penstock_key(basket const&);  // which is no key
struct badge {
  operator std::string_view() const;
};

}  // namespace shop

namespace {

using penstock::limit_key;

static_assert(limit_key<penstock::no_key>);
static_assert(limit_key<bool> && limit_key<char> && limit_key<std::int8_t> && limit_key<std::uint16_t> &&
              limit_key<int> && limit_key<std::uint64_t>);
static_assert(limit_key<shop::region> && limit_key<shop::old_region>);
static_assert(limit_key<std::string> && limit_key<std::string_view> && limit_key<char const*> &&
              limit_key<shop::badge>);
static_assert(limit_key<std::array<std::byte, 4>> && limit_key<std::array<std::byte, 16>>);
static_assert(limit_key<std::pair<std::string, int>> && limit_key<std::tuple<>> && limit_key<std::tuple<int>>);
static_assert(limit_key<std::tuple<std::string, std::uint32_t, shop::region, std::array<std::byte, 16>>>);
static_assert(limit_key<std::tuple<std::pair<int, int>, std::tuple<std::string>>>);
static_assert(limit_key<shop::customer> && limit_key<shop::branch> && limit_key<shop::order>);
static_assert(limit_key<std::pair<shop::customer, shop::branch>>);

static_assert(!limit_key<float> && !limit_key<double>);
static_assert(!limit_key<void*> && !limit_key<int*> && !limit_key<std::nullptr_t>);
static_assert(!limit_key<shop::visitor> && !limit_key<shop::basket>);
static_assert(!limit_key<std::vector<std::byte>> && !limit_key<std::array<char, 4>> && !limit_key<std::array<int, 4>>);
static_assert(!limit_key<std::map<int, int>> && !limit_key<std::optional<int>> && !limit_key<std::unique_ptr<int>>);
static_assert(!limit_key<std::chrono::seconds>);
static_assert(!limit_key<std::tuple<int, double>> && !limit_key<std::pair<shop::visitor, int>>);
static_assert(!limit_key<std::wstring> && !limit_key<std::u8string>);

// How a limiter takes them.
template <class K>
using argument = typename penstock::detail::argument_of<K>::type;
static_assert(std::is_same_v<argument<std::string>, std::string_view>);
static_assert(std::is_same_v<argument<std::string_view>, std::string_view>);
static_assert(std::is_same_v<argument<std::tuple<std::string, int>>, std::tuple<std::string_view, int> const&>);
static_assert(std::is_same_v<argument<std::pair<int, std::string>>, std::pair<int, std::string_view> const&>);
static_assert(std::is_same_v<argument<std::tuple<std::pair<std::string, int>, std::string>>,
                             std::tuple<std::pair<std::string_view, int>, std::string_view> const&>);
static_assert(std::is_same_v<argument<shop::customer>, shop::customer const&>);
static_assert(std::is_same_v<argument<shop::region>, shop::region const&>);

// An integer key takes every type that keeps its values apart, and no other.
template <class From, class Key>
constexpr bool taken = std::is_convertible_v<From, argument<Key>>;
static_assert(taken<std::uint32_t, std::uint32_t> && taken<std::uint16_t, std::uint32_t> &&
              taken<std::uint8_t, std::uint32_t>);
static_assert(taken<int, std::uint32_t> && taken<int, std::uint64_t>);  // literals: no two of them collide
static_assert(taken<std::uint32_t, std::uint64_t> && taken<std::uint32_t, std::int64_t> &&
              taken<std::int32_t, std::int64_t>);
static_assert(taken<std::size_t, std::uint64_t> && taken<bool, bool> && taken<char, char>);
static_assert(!taken<std::uint64_t, std::uint32_t> && !taken<std::int64_t, std::uint32_t> &&
              !taken<std::int64_t, std::int32_t>);
static_assert(!taken<int, std::uint16_t> && !taken<int, std::int8_t> && !taken<int, bool>);
static_assert(!taken<std::uint32_t, std::int32_t> && !taken<std::uint64_t, std::int64_t>);  // two values could be one
static_assert(!taken<double, std::uint64_t> && !taken<float, int>);
static_assert(!taken<char const*, std::uint64_t> && !taken<std::nullptr_t, std::uint64_t> &&
              !taken<shop::region, std::uint64_t>);
static_assert(!taken<int, std::string> && !taken<int, shop::region>);

// A permutation of words: with a secret that changes nothing it can be followed by hand.
static_assert(penstock::detail::mix(0, {0, 0, 1}) == 0);
static_assert(penstock::detail::mix(5, {5, 0, 1}) == 0);
static_assert(penstock::detail::mix(1, {0, 0, 1}) == (0x9e37'79b9'7f4a'7c15 ^ 0x9e37'79b9'7f4a'7c15 >> 29));

}  // namespace
