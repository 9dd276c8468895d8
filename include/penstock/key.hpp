#pragma once
// The concept of a key, and how keys become fingerprints.
//
// A store never sees a key, only its fingerprint: 128 bits of which one half (the tag) is compared and the other (the
// place) says where to look. Integers and enums go through a secret bijection, so their tag *is* the key. Texts and
// composite keys are hashed by SipHash-1-3 under a key drawn once per process: nobody outside can search for two that
// collide, and by chance two of a million do so with a probability below 2^-88.

#include <penstock/siphash.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace penstock::inline v0_1 {

/// The key of a limiter that has one state for everybody.
struct no_key {};

struct fingerprint {
  std::uint64_t tag{}, place{};
  friend constexpr bool operator==(fingerprint, fingerprint) = default;
};

namespace detail {

template <class T>
concept integer_key = (std::integral<T> || std::is_enum_v<T>) && sizeof(T) <= 8;
template <class T>
concept text_key = std::convertible_to<T const&, std::string_view> && !std::same_as<T, std::nullptr_t>;

template <class T>
inline constexpr bool is_bytes = false;
template <std::size_t N>
inline constexpr bool is_bytes<std::array<std::byte, N>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

template <class T>
concept adl_key = requires(T const& t) { penstock_key(t); };

template <class T>
consteval bool is_key();

template <class T, std::size_t... I>
consteval bool are_keys(std::index_sequence<I...>) {
  return (is_key<std::tuple_element_t<I, T>>() && ...);
}

template <class T>
consteval bool is_key() {
  if constexpr (adl_key<T>)
    return is_key<std::remove_cvref_t<decltype(penstock_key(std::declval<T const&>()))>>();
  else if constexpr (is_tuple<T>)
    return are_keys<T>(std::make_index_sequence<std::tuple_size_v<T>>{});
  else
    return integer_key<T> || text_key<T> || is_bytes<T>;
}

}  // namespace detail

/// What a limiter can be keyed by: integers and enums of up to 64 bits, texts, std::array<std::byte, N>, pairs and
/// tuples of keys, and any type for which penstock_key(t), found by ADL, returns one of those.
template <class K>
concept limit_key = std::same_as<K, no_key> || detail::is_key<K>();

namespace detail {

/// Drawn once per process.
struct hash_secret {
  std::uint64_t key0, key1, multiplier;

  static hash_secret const& process() {
    static hash_secret const drawn = [] {
      std::random_device device;
      auto const word = [&] { return std::uint64_t{device()} << 32 | device(); };
      return hash_secret{word(), word(), word() | 1};
    }();
    return drawn;
  }
};

template <class K>
constexpr std::uint64_t integer_of(K key) noexcept {
  if constexpr (std::is_enum_v<K>)
    return static_cast<std::uint64_t>(static_cast<std::underlying_type_t<K>>(key));
  else
    return static_cast<std::uint64_t>(key);
}

/// A secret permutation of the 64-bit words: each step can be undone, so different keys have different tags.
constexpr std::uint64_t mix(std::uint64_t x, hash_secret const& secret) noexcept {
  x ^= secret.key0;
  x *= secret.multiplier;
  x ^= x >> 32;
  x *= 0x9e37'79b9'7f4a'7c15;  // odd: 2^64 / golden ratio
  return x ^ x >> 29;
}

/// The integer whose mix is x.
constexpr std::uint64_t unmix(std::uint64_t x, hash_secret const& secret) noexcept {
  auto const inverse =
      [](std::uint64_t odd) {  // Newton: each step doubles the bits that are right; odd itself has three
        std::uint64_t y = odd;
        for (int i = 0; i < 5; ++i) y *= 2 - odd * y;
        return y;
      };
  x ^= x >> 29 ^ x >> 58;
  x *= inverse(0x9e37'79b9'7f4a'7c15);
  x ^= x >> 32;
  return x * inverse(secret.multiplier) ^ secret.key0;
}

/// Feeds a part of a composite key: integers as a word, texts and bytes with their length in front.
template <class K>
void feed(siphash<>& hash, K const& key) {
  if constexpr (adl_key<K>) {
    feed<std::remove_cvref_t<decltype(penstock_key(key))>>(hash, penstock_key(key));
  } else if constexpr (is_tuple<K>) {
    hash.word(std::tuple_size_v<K>);
    std::apply([&](auto const&... part) { (feed(hash, part), ...); }, key);
  } else if constexpr (integer_key<K>) {
    hash.word(integer_of(key));
  } else if constexpr (is_bytes<K>) {
    hash.word(key.size());
    hash.bytes({reinterpret_cast<char const*>(key.data()), key.size()});
  } else {
    std::string_view const text = key;
    hash.word(text.size());
    hash.bytes(text);
  }
}

template <class K>
fingerprint fingerprint_of(K const& key, hash_secret const& secret) {
  if constexpr (adl_key<K>) {
    return fingerprint_of<std::remove_cvref_t<decltype(penstock_key(key))>>(penstock_key(key), secret);
  } else if constexpr (integer_key<K>) {
    std::uint64_t const tag = mix(integer_of(key), secret);
    return {tag, tag};
  } else {
    siphash<> hash(secret.key0, secret.key1);
    if constexpr (!text_key<K>) feed(hash, key);
    hash128 const h = [&] {
      if constexpr (text_key<K>)
        return hash.of(key);
      else
        return hash.finish();
    }();
    return {h.low, h.high};
  }
}

/// How a store's keys are shown: integers and enums as they were given, others, which a store does not have, by their
/// fingerprint.
template <class K>
auto shown(fingerprint key, [[maybe_unused]] hash_secret const& secret) noexcept {
  if constexpr (integer_key<K> && !adl_key<K>)
    return static_cast<K>(unmix(key.tag, secret));
  else
    return key;
}

/// How a limiter takes its keys: texts as views, so that no call allocates; tuples likewise, part by part.
template <class K>
struct argument_of {
  using type = K const&;
  using part = K;
};
template <class K>
  requires(text_key<K> && !adl_key<K>)
struct argument_of<K> {
  using type = std::string_view;
  using part = std::string_view;
};
template <class... K>
struct argument_of<std::tuple<K...>> {
  using part = std::tuple<typename argument_of<K>::part...>;
  using type = part const&;
};
template <class A, class B>
struct argument_of<std::pair<A, B>> {
  using part = std::pair<typename argument_of<A>::part, typename argument_of<B>::part>;
  using type = part const&;
};

/// Can every value of From be told apart as a To? A signed literal for an unsigned key can: no two of them collide.
template <class From, class To>
concept keeps_apart =
    std::integral<From> && sizeof(From) <= sizeof(To) && (std::same_as<From, bool> || !std::same_as<To, bool>) &&
    (std::signed_integral<From> || std::unsigned_integral<To> || sizeof(From) < sizeof(To));

/// An integer key as an argument: a type that would lose bits does not convert.
template <std::integral K>
class exact {
 public:
  template <keeps_apart<K> From>
  constexpr exact(From value) noexcept : value_(static_cast<K>(value)) {}
  constexpr operator K() const noexcept { return value_; }

 private:
  K value_;
};
template <std::integral K>
struct argument_of<K> {
  using type = exact<K>;
  using part = K;
};

/// Appends a part of a composite key as a netstring.
inline void append_netstring(std::string& to, std::string_view text) {
  to.append(std::to_string(text.size())).append(":").append(text).append(",");
}
template <class Part>
void append_part(std::string& to, Part const& part) {
  if constexpr (text_key<Part>) {
    append_netstring(to, part);
  } else {
    static_assert(integer_key<Part>, "a part of a composite key is a text, an integer or an enum");
    if constexpr (std::is_enum_v<Part>)
      append_netstring(to, std::to_string(static_cast<std::underlying_type_t<Part>>(part)));
    else
      append_netstring(to, std::to_string(part));
  }
}

}  // namespace detail

/// Joins texts, integers and enums into one text key, each part a netstring ("2:ip,3:a:b,1:c,"), so that no separator
/// inside a part can make two different keys equal. It allocates; a limiter over a std::tuple does the same job
/// without.
template <class... Parts>
std::string composite_key(Parts const&... parts) {
  std::string joined;
  (detail::append_part(joined, parts), ...);
  return joined;
}

}  // namespace penstock::inline v0_1
