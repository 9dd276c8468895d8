#pragma once
// SipHash: a keyed hash that nobody without the key can aim. J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast
// short-input PRF", 2012; the 128-bit output is that of the authors' reference implementation.
//
// Table keys use SipHash-1-3 (one round a word, three to finish), as hash tables of Rust and Python do.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace penstock::inline v0_1::detail {

struct hash128 {
  std::uint64_t low{}, high{};
  friend constexpr bool operator==(hash128, hash128) = default;
};

constexpr std::uint64_t from_little_endian(std::uint64_t word) noexcept {
  if constexpr (std::endian::native == std::endian::little) return word;
  std::uint64_t swapped = 0;
  for (int byte = 0; byte < 8; ++byte) swapped = swapped << 8 | (word >> 8 * byte & 0xff);
  return swapped;
}

/// Hashes a sequence of words and texts in one pass. A text is followed by nothing: write its length too where the
/// border between parts matters.
template <int WordRounds = 1, int FinalRounds = 3>
class siphash {
 public:
  siphash(std::uint64_t key0, std::uint64_t key1) noexcept
      : v0_(key0 ^ 0x736f6d6570736575),
        v1_(key1 ^ 0x646f72616e646f6d ^ 0xee),
        v2_(key0 ^ 0x6c7967656e657261),
        v3_(key1 ^ 0x7465646279746573) {}

  void word(std::uint64_t value) noexcept {
    if (pending_ == 0) {
      absorb(value);
    } else {
      absorb(tail_ | value << 8 * pending_);
      tail_ = value >> (64 - 8 * pending_);
    }
    length_ += 8;
  }

  void bytes(std::string_view text) noexcept {
    char const* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) word(load(at));
    if (left != 0) few(load(at, left), left);
  }

  /// The hash of what was written.
  hash128 finish() noexcept { return close(tail_ | length_ << 56); }

  /// The hash of one text and nothing else: no words to piece together.
  hash128 of(std::string_view text) noexcept {
    char const* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) absorb(load(at));
    return close((left == 0 ? 0 : load(at, left)) | std::uint64_t{text.size()} << 56);
  }

 private:
  hash128 close(std::uint64_t last) noexcept {
    absorb(last);
    v2_ ^= 0xee;
    for (int i = 0; i < FinalRounds; ++i) round();
    hash128 result;
    result.low = v0_ ^ v1_ ^ v2_ ^ v3_;
    v1_ ^= 0xdd;
    for (int i = 0; i < FinalRounds; ++i) round();
    result.high = v0_ ^ v1_ ^ v2_ ^ v3_;
    return result;
  }

  static std::uint64_t load(char const* at) noexcept {
    std::uint64_t value;
    std::memcpy(&value, at, 8);
    return from_little_endian(value);
  }
  /// 1 to 7 bytes, without a loop: two loads that overlap.
  static std::uint64_t load(char const* at, std::size_t count) noexcept {
    auto const byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
    if (count >= 4) {
      std::uint32_t first, last;
      std::memcpy(&first, at, 4);
      std::memcpy(&last, at + count - 4, 4);
      if constexpr (std::endian::native == std::endian::little) return first | std::uint64_t{last} << 8 * (count - 4);
    }
    std::uint64_t value = 0;
    if (std::endian::native == std::endian::little || count < 4)
      return byte(0) | byte(count / 2) << 8 * (count / 2) | byte(count - 1) << 8 * (count - 1);
    for (std::size_t i = 0; i < count; ++i) value |= byte(i) << 8 * i;
    return value;
  }

  void few(std::uint64_t value, std::size_t count) noexcept {
    tail_ |= value << 8 * pending_;
    length_ += count;
    if (pending_ + count < 8) {
      pending_ += count;
      return;
    }
    absorb(tail_);
    std::size_t const used = 8 - pending_;
    tail_ = used < 8 ? value >> 8 * used : 0;
    pending_ = count - used;
  }

  void absorb(std::uint64_t value) noexcept {
    v3_ ^= value;
    for (int i = 0; i < WordRounds; ++i) round();
    v0_ ^= value;
  }

  void round() noexcept {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
  std::uint64_t tail_ = 0, length_ = 0;
  std::size_t pending_ = 0;  ///< bytes in tail_, 0 to 7
};

}  // namespace penstock::inline v0_1::detail
