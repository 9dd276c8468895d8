#pragma once
// How proxies write whom they heard from: an element of X-Forwarded-For or of Forwarded (RFC 7239).

#include <penstock/http/address.hpp>
#include <penstock/http/blanks.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace penstock::inline v0_1::http {

/// Reads an address that may have a port, "192.0.2.1:443", and brackets and a port if it is IPv6, "[2001:db8::1]:443".
/// Nothing when it is anything else, such as "unknown" or an obfuscated "_node", and when the address is unspecified.
inline std::optional<ip_address> parse_node(std::string_view text) noexcept {
  std::string_view address = text, port;
  bool const bracketed = text.starts_with('[');
  if (bracketed) {
    auto const close = text.find(']');
    if (close == std::string_view::npos) return {};
    address = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (address.find(':') == std::string_view::npos) return {};
  } else if (auto const colon = text.find(':'); colon != std::string_view::npos && colon == text.rfind(':')) {
    address = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (!port.empty()) {
    unsigned number = 0;
    if (port[0] != ':' || port.size() < 2 || port.size() > 6) return {};
    for (char const c : port.substr(1)) {
      if (c < '0' || c > '9') return {};
      number = number * 10 + static_cast<unsigned>(c - '0');
    }
    if (number > 65'535) return {};
  }
  auto const read = ip_address::parse(address);
  return read && !read->is_unspecified() ? read : std::nullopt;
}

namespace detail {

/// A character of a token (RFC 9110, section 5.6.2).
constexpr bool is_token(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

/// The elements of a list field, the last first: lines from the last, each from its end. Quotes are counted from the
/// right, so that one which a client left open cannot reach the elements that proxies put behind it.
class reversed_list {
 public:
  explicit reversed_list(std::span<std::string_view const> lines) noexcept : lines_(lines) {}

  /// The next element, without blanks around it and never empty; nothing when there is no more.
  std::optional<std::string_view> next() noexcept {
    for (;;) {
      if (!in_line_) {
        if (lines_.empty()) return {};
        rest_ = lines_.back();
        lines_ = lines_.first(lines_.size() - 1);
        in_line_ = true;
      }
      auto const element = without_blanks(last_of_line());
      if (!element.empty()) return element;
    }
  }

 private:
  std::string_view last_of_line() noexcept {
    bool quoted = false;
    for (std::size_t i = rest_.size(); i-- > 0;) {
      if (rest_[i] == '"') quoted = !quoted;
      if (rest_[i] != ',' || quoted) continue;
      auto const element = rest_.substr(i + 1);
      rest_ = rest_.substr(0, i);
      return element;
    }
    in_line_ = false;
    return rest_;
  }

  std::span<std::string_view const> lines_;
  std::string_view rest_;
  bool in_line_ = false;
};

/// The value of one forwarded-pair, from its front: a token, or what stands between quotes. Nothing when it is neither.
struct forwarded_value {
  std::string_view text;
  bool quoted = false;
};
constexpr std::optional<forwarded_value> take_value(std::string_view& from) noexcept {
  if (from.starts_with('"')) {
    auto const close = from.find('"', 1);
    if (close == std::string_view::npos) return {};
    forwarded_value const value{from.substr(1, close - 1), true};
    from.remove_prefix(close + 1);
    return value;
  }
  std::size_t length = 0;
  while (length < from.size() && is_token(from[length])) ++length;
  if (length == 0) return {};
  forwarded_value const value{from.substr(0, length), false};
  from.remove_prefix(length);
  return value;
}

constexpr bool is_for(std::string_view name) noexcept {
  return name.size() == 3 && (name[0] | 0x20) == 'f' && (name[1] | 0x20) == 'o' && (name[2] | 0x20) == 'r';
}

/// The node of a forwarded-element, `for=192.0.2.1;proto=http;by="[2001:db8::1]"`: its one `for`.
constexpr std::optional<forwarded_value> forwarded_for(std::string_view element) noexcept {
  if (element.find('\\') != std::string_view::npos) return {};
  std::optional<forwarded_value> node;
  for (;;) {
    element = without_blanks(element);
    if (element.empty()) return node;
    if (!element.starts_with(';')) {
      std::size_t length = 0;
      while (length < element.size() && is_token(element[length])) ++length;
      std::string_view const name = element.substr(0, length);
      element.remove_prefix(length);
      if (name.empty() || !element.starts_with('=')) return {};
      element.remove_prefix(1);
      auto const value = take_value(element);
      if (!value || (is_for(name) && node)) return {};
      if (is_for(name)) node = value;
      element = without_blanks(element);
      if (element.empty()) return node;
      if (!element.starts_with(';')) return {};
    }
    element.remove_prefix(1);
  }
}

}  // namespace detail

/// Reads an element of Forwarded (RFC 7239, sections 4 and 6): names in any case, an IPv6 address in brackets and so in
/// quotes. Nothing when it has no `for` or two, a backslash, or a node that is not an address.
inline std::optional<ip_address> parse_forwarded(std::string_view element) noexcept {
  auto const node = detail::forwarded_for(element);
  if (!node) return {};
  auto const address = parse_node(node->text);
  bool const bare_v6 = address && !node->text.starts_with('[') && std::ranges::count(node->text, ':') > 1;
  return bare_v6 ? std::nullopt : address;
}

}  // namespace penstock::inline v0_1::http
