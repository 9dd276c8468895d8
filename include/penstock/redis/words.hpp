#pragma once
// The words of a command under construction: one buffer, and where each word ends.

#include <penstock/redis/transport.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
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

/// Reads the integers of a reply one after another; a reply that is too short reads as zeros and is not whole().
class reply_reader {
 public:
  explicit reply_reader(reply const& r) noexcept : integers_(r.integers) {}
  std::int64_t next() noexcept {
    if (at_ < integers_.size()) return integers_[at_++];
    short_ = true;
    return 0;
  }
  bool whole() const noexcept { return !short_ && at_ == integers_.size(); }

 private:
  std::vector<std::int64_t> const& integers_;
  std::size_t at_ = 0;
  bool short_ = false;
};

}  // namespace penstock::inline v0_1::redis::detail
