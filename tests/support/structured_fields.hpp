#pragma once
// A strict parser of structured fields, written from the parsing algorithms of RFC 9651, section 4.2: lists of items
// with parameters, bare items being integers, decimals, strings, tokens, byte sequences and booleans. It shares nothing
// with the headers that it judges. What is not well-formed throws.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace structured_fields {

struct token {
  std::string text;
  friend bool operator==(token const&, token const&) = default;
};
struct bytes {
  std::string data;
  friend bool operator==(bytes const&, bytes const&) = default;
};
using bare_item = std::variant<std::int64_t, double, std::string, token, bytes, bool>;

struct parameter {
  std::string key;
  bare_item value;
};
struct item {
  bare_item value;
  std::vector<parameter> parameters;

  bare_item const* find(std::string_view key) const {
    for (auto const& p : parameters)
      if (p.key == key) return &p.value;
    return nullptr;
  }
};

struct malformed : std::runtime_error {
  using runtime_error::runtime_error;
};

class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {
    for (char const c : text)  // 4.2, step 1: ASCII only; a field value has no control characters but HTAB
      if ((c < 0x20 && c != '\t') || c > 0x7e) fail("a character outside ASCII text");
  }

  /// 4.2 and 4.2.1: the whole field is a list of items.
  std::vector<item> list() {
    skip(" ");
    std::vector<item> members;
    while (!done()) {
      members.push_back(one_item());
      skip(" \t");
      if (done()) return members;
      if (take() != ',') fail("no comma between members");
      skip(" \t");
      if (done()) fail("a trailing comma");
    }
    return members;
  }

 private:
  [[noreturn]] void fail(char const* what) const {
    throw malformed(std::string(what) + " at " + std::to_string(at_) + " of " + std::string(text_));
  }
  bool done() const { return at_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  char take() {
    if (done()) fail("the end");
    return text_[at_++];
  }
  void skip(std::string_view blanks) {
    while (!done() && blanks.find(peek()) != blanks.npos) ++at_;
  }
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool lower(char c) { return c >= 'a' && c <= 'z'; }
  static bool letter(char c) { return lower(c) || (c >= 'A' && c <= 'Z'); }

  item one_item() {  // 4.2.3
    item it{bare(), {}};
    while (peek() == ';') {  // 4.2.3.2
      take();
      skip(" ");
      std::string name = key();
      bare_item value = true;
      if (peek() == '=') {
        take();
        value = bare();
      }
      if (it.find(name) != nullptr) fail("a parameter given twice");  // a parser would overwrite; a sender must not
      it.parameters.push_back({std::move(name), std::move(value)});
    }
    return it;
  }

  std::string key() {  // 4.2.3.3
    if (!lower(peek()) && peek() != '*') fail("no key");
    std::string k;
    while (lower(peek()) || digit(peek()) || (!done() && std::string_view("_-.*").find(peek()) != std::string_view::npos))
      k += take();
    return k;
  }

  bare_item bare() {  // 4.2.3.1
    char const c = peek();
    if (c == '-' || digit(c)) return number();
    if (c == '"') return string();
    if (c == ':') return byte_sequence();
    if (c == '?') return boolean();
    if (c == '*' || letter(c)) return tok();
    fail("no bare item");
  }

  bare_item number() {  // 4.2.4
    bool const negative = peek() == '-';
    if (negative) take();
    if (!digit(peek())) fail("no digit");
    std::string digits, fraction;
    while (digit(peek())) digits += take();
    if (peek() == '.') {
      take();
      while (digit(peek())) fraction += take();
      if (digits.size() > 12 || fraction.empty() || fraction.size() > 3) fail("too long a decimal");
      double const value = std::stod(digits + "." + fraction);
      return negative ? -value : value;
    }
    if (digits.size() > 15) fail("more than fifteen digits");
    std::int64_t const value = std::stoll(digits);
    return negative ? -value : value;
  }

  std::string string() {  // 4.2.5
    take();
    std::string s;
    for (;;) {
      char c = take();
      if (c == '"') return s;
      if (c == '\\') {
        c = take();
        if (c != '"' && c != '\\') fail("an unknown escape");
      } else if (c < 0x20 || c > 0x7e) {
        fail("a character that no string has");
      }
      s += c;
    }
  }

  token tok() {  // 4.2.6
    token t{{take()}};
    while (letter(peek()) || digit(peek()) ||
           (!done() && std::string_view("!#$%&'*+-.^_`|~:/").find(peek()) != std::string_view::npos))
      t.text += take();
    return t;
  }

  bytes byte_sequence() {  // 4.2.7, with the padding that a sender must write
    take();
    std::string coded;
    while (peek() != ':') coded += take();
    take();
    if (coded.size() % 4 != 0) fail("base64 that is not padded");
    bytes b;
    std::size_t padding = 0;
    for (std::size_t i = 0; i < coded.size(); i += 4) {
      std::uint32_t bits = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        char const c = coded[i + k];
        if (c == '=') {
          if (i + 4 != coded.size() || k < 2) fail("padding inside");
          ++padding;
        } else if (padding != 0) {
          fail("text behind padding");
        }
        bits = bits << 6 | (c == '=' ? 0 : sextet(c));
      }
      std::size_t const whole = i + 4 == coded.size() ? 3 - padding : 3;
      if ((bits & ((1u << 8 * (3 - whole)) - 1)) != 0) fail("bits behind the end");
      for (std::size_t k = 0; k < whole; ++k) b.data += static_cast<char>(bits >> (16 - 8 * k) & 0xff);
    }
    return b;
  }
  std::uint32_t sextet(char c) const {
    if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a') + 26;
    if (digit(c)) return static_cast<std::uint32_t>(c - '0') + 52;
    if (c == '+') return 62;
    if (c == '/') return 63;
    fail("a character that base64 does not have");
  }

  bool boolean() {  // 4.2.8
    take();
    char const c = take();
    if (c != '0' && c != '1') fail("no boolean");
    return c == '1';
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

inline std::vector<item> parse_list(std::string_view text) { return parser(text).list(); }

}  // namespace structured_fields
