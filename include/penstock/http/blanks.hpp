#pragma once
// Optional white space around a field value or a list element (RFC 9110, section 5.6.3).

#include <string_view>

namespace penstock::inline v0_1::http::detail {

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

constexpr std::string_view without_blanks(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace penstock::inline v0_1::http::detail
