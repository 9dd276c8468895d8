#pragma once
// Structured field values, as far as rate limits need them: strings, integers and byte sequences (RFC 9651, sections
// 4.1.4, 4.1.6 and 4.1.8).

#include <penstock/http/text_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::inline v0_1::http {

/// Can a structured field carry this text as a String? Only of the characters 0x20 to 0x7E. (RFC 9651, section 3.3.3)
constexpr bool is_structured_string(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

namespace detail {

/// The largest Integer of a structured field: fifteen digits. (RFC 9651, section 3.3.1)
inline constexpr std::uint64_t largest_structured_integer = 999'999'999'999'999;

inline void put_structured_integer(text_writer& to, std::uint64_t number) noexcept {
  to.put(std::min(number, largest_structured_integer));
}

/// A character that a String cannot carry becomes a question mark: nothing else could leave the line.
inline void put_structured_string(text_writer& to, std::string_view text) noexcept {
  to.put('"');
  for (char const c : text) {
    if (c == '"' || c == '\\') to.put('\\');
    to.put(c >= 0x20 && c <= 0x7e ? c : '?');
  }
  to.put('"');
}

/// Padded base64 (RFC 4648, section 4) between colons.
inline void put_structured_bytes(text_writer& to, std::string_view bytes) noexcept {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  to.put(':');
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::string_view const group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(group[k])) : 0u);
    for (std::size_t k = 0; k < 4; ++k) to.put(k <= group.size() ? alphabet[bits >> (18 - 6 * k) & 63] : '=');
  }
  to.put(':');
}

}  // namespace detail
}  // namespace penstock::inline v0_1::http
