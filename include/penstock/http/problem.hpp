#pragma once
// The body of a refusal: problem details in JSON (RFC 9457), of the types that
// draft-ietf-httpapi-ratelimit-headers-10, section 5, registers.

#include <penstock/http/text_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::inline v0_1::http::detail {

/// How many bytes of the well-formed UTF-8 character (RFC 3629, section 4) the text begins with; 0 when it does not.
constexpr std::size_t utf8_length(std::string_view text) noexcept {
  auto const byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  auto const tail = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  unsigned const first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !tail(1)) return 0;  // a tail, an overlong form, beyond the last plane
  if (first < 0xe0) return 2;
  if (first < 0xf0) {
    bool const overlong = first == 0xe0 && second < 0xa0, surrogate = first == 0xed && second > 0x9f;
    return !overlong && !surrogate && tail(2) ? 3 : 0;
  }
  bool const overlong = first == 0xf0 && second < 0x90, beyond = first == 0xf4 && second > 0x8f;
  return !overlong && !beyond && tail(2) && tail(3) ? 4 : 0;
}

/// A JSON string (RFC 8259, section 7); a byte that is not part of UTF-8 becomes the replacement character.
inline void put_json_string(text_writer& to, std::string_view text) noexcept {
  constexpr std::string_view hex = "0123456789abcdef";
  to.put('"');
  while (!text.empty()) {
    std::size_t const length = utf8_length(text);
    auto const code = static_cast<unsigned char>(text.front());
    if (length == 0) {
      to.put("\\ufffd");
    } else if (code < 0x20) {
      to.put("\\u00");
      to.put(hex[code >> 4]);
      to.put(hex[code & 15]);
    } else {
      if (code == '"' || code == '\\') to.put('\\');
      to.put(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  to.put('"');
}

/// `names` calls its argument with the name of each policy that refuses.
template <class Names>
void put_problem(text_writer& to, bool shedding, Names names) noexcept {
  to.put(R"({"type":"https://iana.org/assignments/http-problem-types#)");
  to.put(shedding ? R"(temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503)"
                  : R"(quota-exceeded","title":"Quota Exceeded","status":429)");
  to.put(R"(,"violated-policies":[)");
  bool first = true;
  names([&](std::string_view name) {
    if (!first) to.put(',');
    first = false;
    put_json_string(to, name);
  });
  to.put("]}");
}

}  // namespace penstock::inline v0_1::http::detail
