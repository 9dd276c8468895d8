#pragma once
// What a fuzz target is made of: its bytes, read as numbers and texts, and a check that ends the process.
//
// Every sequence of bytes is an input: where they end, numbers are 0 and texts empty. So no input is wasted, and a cut
// one means nearly the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace fuzz {

class input {
 public:
  input(std::uint8_t const* data, std::size_t size) : rest_(reinterpret_cast<char const*>(data), size) {}

  bool done() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (done()) return 0;
    auto const first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  std::size_t below(std::size_t n) { return byte() % n; }

  /// Little-endian, of that many bytes.
  std::uint64_t number(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << 8 * i;
    return value;
  }
  std::int64_t signed_number() { return static_cast<std::int64_t>(number(8)); }

  /// A number as often small as large: a byte says how many bytes follow, and whether to count from the other end.
  std::uint64_t of_any_size() {
    std::uint8_t const how = byte();
    std::uint64_t const value = number((how & 7) == 7 ? 8 : how & 7);
    return (how & 8) != 0 ? ~value : value;
  }

  /// Up to the separator, which is passed.
  std::string_view text_until(char separator) {
    std::string_view const text = rest_.substr(0, rest_.find(separator));
    rest_.remove_prefix(std::min(text.size() + 1, rest_.size()));
    return text;
  }
  std::string_view text() { return text_until('\n'); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

[[noreturn]] inline void fail(char const* what, char const* file, int line) {
  std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  std::abort();
}

}  // namespace fuzz

#define HOLDS(...) ((__VA_ARGS__) ? static_cast<void>(0) : ::fuzz::fail(#__VA_ARGS__, __FILE__, __LINE__))

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
