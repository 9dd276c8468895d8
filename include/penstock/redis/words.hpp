#pragma once
// The words of a command under construction: one buffer, and where each word ends. And the numbers of an answer.
//
// Numbers go to the script and come back as IEEE doubles, eight bytes each, the least first: Lua's own numbers, which
// it reads and writes (struct.unpack, struct.pack) in a third of the time that decimal digits take it.

#include <penstock/redis/transport.hpp>

#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::inline v0_1::redis::detail {

class words {
 public:
  words() {
    text_.reserve(256);
    ends_.reserve(24);
  }

  words& add(std::string_view word) {
    text_.append(word);
    ends_.push_back(text_.size());
    return *this;
  }
  words& add(std::unsigned_integral auto number) {
    char digits[24];
    return add({digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits)});
  }

  /// One word: numbers below 2^53.
  words& add_numbers(std::span<std::uint64_t const> numbers) {
    for (std::uint64_t const number : numbers) {
      auto const bits = std::bit_cast<std::uint64_t>(static_cast<double>(number));
      for (int byte = 0; byte < 8; ++byte) text_.push_back(static_cast<char>(bits >> 8 * byte & 0xff));
    }
    ends_.push_back(text_.size());
    return *this;
  }

  /// Views of the words, good until the next add().
  std::vector<std::string_view> views() const {
    std::vector<std::string_view> all;
    all.reserve(ends_.size());
    std::size_t begin = 0;
    for (std::size_t const end : ends_) {
      all.push_back(std::string_view(text_).substr(begin, end - begin));
      begin = end;
    }
    return all;
  }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;
};

/// Appends a command as the server reads it: how many words, and each with its size before it.
inline void append_command(std::string& to, std::span<std::string_view const> words) {
  auto const line = [&](char mark, std::size_t number) {
    to.append(1, mark).append(std::to_string(number)).append("\r\n");
  };
  line('*', words.size());
  for (std::string_view const word : words) {
    line('$', word.size());
    to.append(word).append("\r\n");
  }
}

/// The numbers of an answer; none when it is not made of integers below 2^53.
inline std::optional<std::vector<std::int64_t>> numbers_in(std::string_view bytes) {
  static_assert(sizeof(double) == 8);
  if (bytes.size() % 8 != 0) return {};
  std::vector<std::int64_t> numbers;
  numbers.reserve(bytes.size() / 8);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < 8; ++byte)
      bits |= std::uint64_t{static_cast<unsigned char>(bytes[at + byte])} << 8 * byte;
    auto const number = std::bit_cast<double>(bits);
    if (!(number > -0x1p53 && number < 0x1p53)) return {};  // nor NaN
    numbers.push_back(static_cast<std::int64_t>(number));
    if (static_cast<double>(numbers.back()) != number) return {};
  }
  return numbers;
}

/// Reads the integers of a reply one after another; a reply that is too short reads as zeros and is not whole().
class reply_reader {
 public:
  explicit reply_reader(reply const& r) noexcept : integers_(r.integers) {}
  std::int64_t next() noexcept {
    if (at_ < integers_.size()) return integers_[at_++];
    short_ = true;
    return 0;
  }
  void skip() noexcept { static_cast<void>(next()); }
  bool whole() const noexcept { return !short_ && at_ == integers_.size(); }

 private:
  std::vector<std::int64_t> const& integers_;
  std::size_t at_ = 0;
  bool short_ = false;
};

}  // namespace penstock::inline v0_1::redis::detail
