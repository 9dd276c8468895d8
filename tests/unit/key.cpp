// key.hpp: keys that differ have different fingerprints, and no call makes a copy of a text.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/key.hpp>
#include <penstock/limiters.hpp>

#include "allocations.hpp"
#include "random.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using namespace penstock;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {
namespace shop {

enum class region : std::uint8_t { north, south };

struct customer {
  std::string name;
  std::uint32_t branch;
};
std::pair<std::string_view, std::uint32_t> penstock_key(customer const& c) { return {c.name, c.branch}; }

struct account {
  std::uint64_t number;
};
constexpr std::uint64_t penstock_key(account a) { return a.number; }

struct order {  // a key by way of another one
  customer by;
};
customer const& penstock_key(order const& o) { return o.by; }

struct guest {};
std::string penstock_key(guest) { throw std::invalid_argument("a guest has no key"); }

}  // namespace shop
}  // namespace

namespace {

constexpr detail::hash_secret secret{0x0123'4567'89ab'cdef, 0xfedc'ba98'7654'3210, 0x9e37'79b9'7f4a'7c15};

template <class K>
fingerprint print(K const& key) {
  return detail::fingerprint_of(key, secret);
}

template <class K>
void all_differ(std::vector<K> const& keys) {
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      INFO("keys " << j << " and " << i);
      CHECK(print(keys[i]).tag != print(keys[j]).tag);
      CHECK(print(keys[i]).place != print(keys[j]).place);
    }
}

/// Undoes the steps of mix() one by one, so that mix() must be a bijection.
std::uint64_t unmixed(std::uint64_t x) {
  auto const inverse = [](std::uint64_t odd) {  // Newton's iteration: each step doubles the bits that are right
    std::uint64_t y = odd;
    for (int i = 0; i < 6; ++i) y *= 2 - odd * y;
    return y;
  };
  x ^= x >> 29 ^ x >> 58;
  x *= inverse(0x9e37'79b9'7f4a'7c15);
  x ^= x >> 32;
  x *= inverse(secret.multiplier);
  return x ^ secret.key0;
}

}  // namespace

TEST_CASE("the parts of a composite key do not run together") {
  using two = std::tuple<std::string, std::string>;
  all_differ<two>({{"a", "bc"},
                   {"ab", "c"},
                   {"abc", ""},
                   {"", "abc"},
                   {"a:b", "c"},
                   {"a", "b:c"},
                   {"", ""},
                   {"\0"s, ""},
                   {"", "\0"s},
                   {"\0"s, "\0"s},
                   {"\0\0"s, ""}});
  using three = std::tuple<std::string, std::string, std::string>;
  all_differ<three>(
      {{"a", "b", ""}, {"a", "", "b"}, {"", "a", "b"}, {"ab", "", ""}, {"", "ab", ""}, {"", "", "ab"}, {"", "", ""}});
  using mixed = std::tuple<std::string, std::uint64_t, std::string>;
  all_differ<mixed>({{"a", 1, "b"},
                     {"a", 2, "b"},
                     {"b", 1, "a"},
                     {"", 1, "ab"},
                     {"ab", 1, ""},
                     {"a", 0, "b"},
                     {"a", ~std::uint64_t{0}, "b"}});
  using nested = std::tuple<std::tuple<std::string, std::string>, std::string>;
  all_differ<nested>({{{"a", "b"}, "c"}, {{"a", ""}, "bc"}, {{"", "ab"}, "c"}, {{"ab", "c"}, ""}});
}

TEST_CASE("texts differ by every byte and by their length") {
  all_differ<std::string>({"", "\0"s, "\0\0"s, "a", "a\0"s, "\0a"s, "b", "ab", "ba", "abcdefg", "abcdefgh",
                           "abcdefgh\0"s, "abcdefghi", std::string(15, 'x'), std::string(16, 'x'),
                           std::string(300, 'x')});
}

TEST_CASE("integers of each width have a tag of their own: the tag is the key") {
  int wrong = 0;
  dice random(4);
  for (int i = 0; i < 100'000; ++i) {
    std::uint64_t const key = random.of_any_size();
    if (unmixed(detail::mix(key, secret)) != key) ++wrong;
  }
  CHECK(wrong == 0);

  std::vector<std::uint64_t> tags;
  for (int key = -500'000; key < 500'000; ++key) tags.push_back(print(key).tag);
  std::sort(tags.begin(), tags.end());
  CHECK(std::adjacent_find(tags.begin(), tags.end()) == tags.end());

  std::vector<std::uint64_t> bytes;
  for (int key = -128; key < 128; ++key) bytes.push_back(print(static_cast<std::int8_t>(key)).tag);
  std::sort(bytes.begin(), bytes.end());
  CHECK(std::adjacent_find(bytes.begin(), bytes.end()) == bytes.end());
  CHECK(print(false) != print(true));
  CHECK(print(std::numeric_limits<std::int64_t>::min()) != print(std::numeric_limits<std::int64_t>::max()));
}

TEST_CASE("without the secret nobody can tell where a key goes") {
  constexpr detail::hash_secret other{1, 2, 3};
  for (std::uint64_t key = 0; key < 100; ++key)
    CHECK(detail::fingerprint_of(key, secret) != detail::fingerprint_of(key, other));
  CHECK(detail::fingerprint_of("ann"sv, secret) != detail::fingerprint_of("ann"sv, other));
  CHECK((detail::hash_secret::process().multiplier & 1) == 1);
  CHECK(&detail::hash_secret::process() == &detail::hash_secret::process());
}

TEST_CASE("the secret multiplier matters, not only the seed") {
  auto changed = secret;
  changed.multiplier += 2;
  CHECK(detail::mix(1, secret) != detail::mix(1, changed));
  // A seed alone would keep this difference from one secret to the next.
  CHECK((detail::mix(1, secret) ^ detail::mix(2, secret)) != (detail::mix(1, changed) ^ detail::mix(2, changed)));
}

TEST_CASE("enums, bytes, pairs, tuples and own types are keys") {
  all_differ<shop::region>({shop::region::north, shop::region::south});
  all_differ<std::array<std::byte, 3>>({{std::byte{0}, std::byte{0}, std::byte{0}},
                                        {std::byte{1}, std::byte{0}, std::byte{0}},
                                        {std::byte{0}, std::byte{0}, std::byte{1}}});
  all_differ<std::pair<std::string, int>>({{"a", 1}, {"a", 2}, {"b", 1}, {"", 0}});
  all_differ<shop::customer>({{"ann", 1}, {"ann", 2}, {"bob", 1}, {"", 1}});
  all_differ<shop::account>({{1}, {2}, {~std::uint64_t{0}}});
  all_differ<std::tuple<shop::account, shop::region>>(
      {{{1}, shop::region::north}, {{1}, shop::region::south}, {{2}, shop::region::north}});
}

TEST_CASE("a key by way of another one is that other one") {
  shop::customer const ann{"ann", 1};
  CHECK(print(shop::order{ann}) == print(ann));
  CHECK(print(ann) == print(std::pair{"ann"sv, std::uint32_t{1}}));
  CHECK(print(shop::account{7}) == print(std::uint64_t{7}));
  CHECK(print(shop::region::south) == print(std::uint8_t{1}));
}

TEST_CASE("owning texts and looking at them are the same key") {
  CHECK(print("ann"s) == print("ann"sv));
  CHECK(print(std::tuple{"ann"s, 3}) == print(std::tuple{"ann"sv, 3}));
  CHECK(print(std::pair{"ann"s, "bob"s}) == print(std::pair{"ann"sv, "bob"sv}));
  CHECK(print(std::tuple{std::pair{"a"s, 1}, "b"s}) == print(std::tuple{std::pair{"a"sv, 1}, "b"sv}));
}

TEST_CASE("composite_key writes netstrings") {
  CHECK(composite_key() == "");
  CHECK(composite_key("") == "0:,");
  CHECK(composite_key("ip", "a:b", "c") == "2:ip,3:a:b,1:c,");
  CHECK(composite_key("a", "bc") != composite_key("ab", "c"));
  CHECK(composite_key("a:b", "c") != composite_key("a", "b:c"));
  CHECK(composite_key("a,1:b") != composite_key("a", "b"));
  CHECK(composite_key("", "a") != composite_key("a", ""));
  CHECK(composite_key("\0"sv) == "1:\0,"s);
  CHECK(composite_key("user"s, 42, -7, shop::region::south) == "4:user,2:42,2:-7,1:1,");
  CHECK(composite_key(std::numeric_limits<std::uint64_t>::max()) == "20:18446744073709551615,");
}

TEST_CASE("a limiter over texts takes texts of any kind as the same key, and allocates for none") {
  token_bucket<std::string, manual_clock> per_user({.refill = per_hour(1), .burst = 100});
  std::string const name = "a name that does not fit into the buffer of a string";
  std::string_view const view = name;
  char const* const chars = name.c_str();
  auto const taken = allocations_of([&] {
    CHECK(per_user.allow(name).remaining == 99);
    CHECK(per_user.allow(view).remaining == 98);
    CHECK(per_user.allow(chars).remaining == 97);
    CHECK(per_user.allow("a name that does not fit into the buffer of a string").remaining == 96);
  });
  static_cast<void>(taken);  // the checks themselves allocate: counted below without them
  std::uint64_t left = 0;
  auto const calls = allocations_of([&] {
    left += per_user.allow(name).remaining;
    left += per_user.allow(view).remaining;
    left += per_user.allow(chars).remaining;
    left += per_user.allow("a name that does not fit into the buffer of a string", cost{2}).remaining;
    left += per_user.allow_at({}, view, cost{1}).remaining;
    left += per_user.peek(name).remaining;
    left += per_user.peek_at({}, "another name, just as long, and not seen before").remaining;
    left += per_user.allow("another name, just as long, and not seen before").remaining;
    per_user.charge(name, cost{1});
    per_user.refund(view, cost{1});
    per_user.forget(chars);
  });
  CHECK(calls.made == 0);
  CHECK(left == 95 + 94 + 93 + 91 + 90 + 89 + 99 + 99);
}

TEST_CASE("a limiter over tuples looks at their texts") {
  using key = std::tuple<std::string, std::uint32_t>;
  token_bucket<key, manual_clock> per_route({.refill = per_hour(1), .burst = 100});
  key const owned{"/a/route/that/does/not/fit/into/the/buffer/of/a/string", 4};
  std::tuple<std::string_view, std::uint32_t> const seen{owned};
  std::uint64_t left = 0;
  auto const calls = allocations_of([&] {
    left += per_route.allow(owned).remaining;
    left += per_route.allow(seen).remaining;
    left += per_route.allow({"/a/route/that/does/not/fit/into/the/buffer/of/a/string", 4}).remaining;
    left += per_route.peek({"/a/route/that/does/not/fit/into/the/buffer/of/a/string", 5}).remaining;
  });
  CHECK(calls.made == 0);
  CHECK(left == 99 + 98 + 97 + 99);

  token_bucket<std::pair<std::string, std::string>, manual_clock> per_pair({.refill = per_hour(1), .burst = 100});
  left = 0;
  auto const more = allocations_of([&] {
    left += per_pair.allow({"a text that does not fit into the buffer", "another text that does not fit into it"})
                .remaining;
    left += per_pair.peek({"a text that does not fit into the buffer", ""}).remaining;
  });
  CHECK(more.made == 0);
  CHECK(left == 99 + 99);
}

TEST_CASE("what finding a key throws comes to the caller") {
  token_bucket<shop::guest, manual_clock> limit({.refill = per_hour(1)});
  CHECK_THROWS_AS(limit.allow(shop::guest{}), std::invalid_argument);
  CHECK_THROWS_AS(limit.peek(shop::guest{}), std::invalid_argument);
}

TEST_CASE("a limiter takes keys of an own type as they are") {
  token_bucket<shop::customer, manual_clock> per_customer({.refill = per_hour(1), .burst = 100});
  shop::customer const ann{"a name that does not fit into the buffer of a string", 1};
  shop::customer const elsewhere{ann.name, 2};
  std::uint64_t left = 0;
  auto const calls = allocations_of([&] {
    left += per_customer.allow(ann).remaining;
    left += per_customer.allow(ann).remaining;
    left += per_customer.allow(elsewhere).remaining;
  });
  CHECK(calls.made == 0);
  CHECK(left == 99 + 98 + 99);
}

TEST_CASE("a signed literal and an unsigned key are one key when their values are") {
  token_bucket<std::uint64_t, manual_clock> per_id({.refill = per_hour(1), .burst = 100});
  CHECK(per_id.allow(7).remaining == 99);
  CHECK(per_id.allow(7U).remaining == 98);
  CHECK(per_id.allow(std::uint64_t{7}).remaining == 97);
  CHECK(per_id.allow(std::uint8_t{7}).remaining == 96);
  CHECK(per_id.allow(8).remaining == 99);

  token_bucket<std::int32_t, manual_clock> per_number({.refill = per_hour(1), .burst = 100});
  CHECK(per_number.allow(-1).remaining == 99);
  CHECK(per_number.allow(std::int8_t{-1}).remaining == 98);
  CHECK(per_number.allow(std::uint16_t{65'535}).remaining == 99);
}
