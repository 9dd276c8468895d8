#pragma once
// SHA-1, computed while compiling where it can be: Redis names a script by it (EVALSHA). FIPS 180-4, section 6.1.
//
// It names and it shortens; nothing here relies on nobody finding two texts of one digest.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::inline v0_1::redis {

using sha1_digest = std::array<std::uint32_t, 5>;

namespace detail {

/// One block of 64 bytes. Written for the evaluator of constant expressions, which counts statements and calls: clang
/// stops at a million.
constexpr void sha1_block(sha1_digest& h, char const* bytes) noexcept {
  std::uint32_t w[80] = {};
  for (int t = 0; t < 16; ++t, bytes += 4)
    w[t] = static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[0])) << 24 |
           static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[1])) << 16 |
           static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[2])) << 8 | static_cast<unsigned char>(bytes[3]);
  for (int t = 16; t < 80; ++t) {
    std::uint32_t const x = w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16];
    w[t] = x << 1 | x >> 31;
  }
  std::uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
  for (int t = 0; t < 80; ++t) {
    std::uint32_t const f = t < 20   ? ((b & c) ^ (~b & d)) + 0x5a82'7999
                            : t < 40 ? (b ^ c ^ d) + 0x6ed9'eba1
                            : t < 60 ? ((b & c) ^ (b & d) ^ (c & d)) + 0x8f1b'bcdc
                                     : (b ^ c ^ d) + 0xca62'c1d6;
    std::uint32_t const next = (a << 5 | a >> 27) + f + e + w[t];
    e = d;
    d = c;
    c = b << 30 | b >> 2;
    b = a;
    a = next;
  }
  h = {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
}

}  // namespace detail

constexpr sha1_digest sha1(std::string_view text) noexcept {
  sha1_digest h{0x6745'2301, 0xefcd'ab89, 0x98ba'dcfe, 0x1032'5476, 0xc3d2'e1f0};
  std::size_t const whole = text.size() / 64 * 64, rest = text.size() - whole;
  for (std::size_t at = 0; at < whole; at += 64) detail::sha1_block(h, text.data() + at);

  char last[128] = {};  // the rest, one bit, zeros, the length in bits
  std::size_t const size = rest < 56 ? 64 : 128;
  for (std::size_t i = 0; i < rest; ++i) last[i] = text[whole + i];
  last[rest] = static_cast<char>(0x80);
  for (std::size_t i = 0; i < 8; ++i)
    last[size - 1 - i] = static_cast<char>(std::uint64_t{text.size()} * 8 >> 8 * i & 0xff);
  for (std::size_t at = 0; at < size; at += 64) detail::sha1_block(h, last + at);
  return h;
}

/// The digest as 40 hexadecimal digits.
constexpr std::array<char, 40> sha1_hex(std::string_view text) noexcept {
  sha1_digest const h = sha1(text);
  std::array<char, 40> digits{};
  for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = "0123456789abcdef"[h[i / 8] >> (28 - 4 * (i % 8)) & 0xf];
  return digits;
}

}  // namespace penstock::inline v0_1::redis
