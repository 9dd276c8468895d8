#pragma once
// Redis keys: penstock1:{tag}limit-id. The tag is the identity that is limited; in a cluster it chooses the slot, so
// all limits of one identity lie together and one script can change them at once.
//
// An identity is written so that no byte of it means anything to Redis: percent-encoded, the parts of a composite one
// separated by commas (a comma inside is encoded). One that takes more than 64 bytes is shortened to '#' and 128 bits
// of its SHA-1. The hash is the same in every process, or instances would not share the count.

#include <penstock/config_error.hpp>
#include <penstock/key.hpp>
#include <penstock/redis/sha1.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace penstock::inline v0_1::redis {
namespace detail {

constexpr bool is_plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~:@/").find(c) != std::string_view::npos;
}

/// An empty text is a lone '%', which nothing else is written as: an empty tag would be none to a cluster.
inline void append_encoded(std::string& to, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.empty()) to += '%';
  for (char const c : text) {
    if (is_plain(c)) {
      to += c;
    } else {
      auto const byte = static_cast<unsigned char>(c);
      to += '%';
      to += digits[byte >> 4];
      to += digits[byte & 15];
    }
  }
}

template <class K>
void append_identity(std::string& to, K const& key) {
  namespace core = penstock::detail;
  if constexpr (core::adl_key<K>) {
    append_identity<std::remove_cvref_t<decltype(penstock_key(key))>>(to, penstock_key(key));
  } else if constexpr (core::is_tuple<K>) {
    std::apply(
        [&](auto const&... part) {
          bool first = true;
          ((first ? void() : void(to += ','), first = false,
            append_identity<std::remove_cvref_t<decltype(part)>>(to, part)),
           ...);
        },
        key);
  } else if constexpr (std::is_enum_v<K>) {
    to += std::to_string(static_cast<std::underlying_type_t<K>>(key));
  } else if constexpr (core::integer_key<K>) {
    to += std::to_string(key);
  } else if constexpr (core::is_bytes<K>) {
    append_encoded(to, {reinterpret_cast<char const*>(key.data()), key.size()});
  } else {
    append_encoded(to, key);
  }
}

}  // namespace detail

/// The tag of an identity, without braces. A limit without a key has the tag '*'.
template <class K>
std::string tag_of(K const& key) {
  std::string tag;
  if constexpr (std::same_as<K, no_key>)
    tag = "*";
  else
    detail::append_identity<K>(tag, key);
  if (tag.size() > 64) {
    auto const digits = sha1_hex(tag);
    tag.assign("#").append(digits.data(), 32);
  }
  return tag;
}

/// Throws config_error unless the id is 1 to 64 letters, digits and -._~:@/
inline std::string checked_limit_id(std::string id) {
  bool plain = !id.empty() && id.size() <= 64;
  for (char const c : id) plain = plain && detail::is_plain(c);
  if (!plain)
    penstock::detail::refuse({"redis::limiter", "limit_id"}, "\"" + id + "\"", "1 to 64 letters, digits and -._~:@/");
  return id;
}

/// The key under which a limit keeps the state of an identity. The rules of an all_of have a key each.
inline std::string key_of(std::string_view tag, std::string_view limit_id, std::size_t rule = 0) {
  std::string key("penstock1:{");
  key.append(tag).append("}").append(limit_id);
  if (rule != 0) key.append("#").append(std::to_string(rule));
  return key;
}

}  // namespace penstock::inline v0_1::redis
