#pragma once
// Writes text into memory of the caller: what the allocation-free forms of the HTTP edge have in common.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace penstock::inline v0_1::http::detail {

/// Goes on counting where the room ends, so that one failed attempt says how much room would do.
class text_writer {
 public:
  explicit text_writer(std::span<char> room) noexcept : room_(room) {}

  void put(char c) noexcept {
    if (size_ < room_.size()) room_[size_] = c;
    ++size_;
  }
  void put(std::string_view text) noexcept {
    if (!text.empty() && size_ <= room_.size() && text.size() <= room_.size() - size_)
      std::memcpy(room_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void put(std::uint64_t number) noexcept {
    char digits[20];  // 2^64 - 1 has twenty
    char const* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    put(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

  /// Bytes so far, whether or not there was room for them.
  std::size_t size() const noexcept { return size_; }
  bool fits() const noexcept { return size_ <= room_.size(); }
  /// What was written from one position up to another; only when all fits.
  std::string_view text(std::size_t from, std::size_t to) const noexcept { return {room_.data() + from, to - from}; }

 private:
  std::span<char> room_;
  std::size_t size_ = 0;
};

}  // namespace penstock::inline v0_1::http::detail
