// siphash.hpp: the published vectors, and an implementation written byte by byte from the paper.

#include <penstock/siphash.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

using penstock::detail::hash128;
using penstock::detail::siphash;

namespace {

constexpr std::uint64_t key0 = 0x0706050403020100, key1 = 0x0f0e0d0c0b0a0908;  // the bytes 00 01 .. 0f

/// The bytes 00 01 02 ..., as the published vectors take them.
std::string counting(std::size_t length) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(static_cast<unsigned char>(i));
  return text;
}

std::string hex(hash128 h) {
  std::string digits;
  for (std::uint64_t half : {h.low, h.high})
    for (int byte = 0; byte < 8; ++byte) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(half >> 8 * byte & 0xff));
      digits += two;
    }
  return digits;
}

// Section 2 of the paper, with the four words in an array, the rotations spelled out and the input padded beforehand.
hash128 from_the_paper(int word_rounds, int final_rounds, std::uint64_t k0, std::uint64_t k1, std::string_view input) {
  auto const rotated = [](std::uint64_t x, int by) { return x << by | x >> (64 - by); };
  std::uint64_t v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                        k1 ^ 0x7465646279746573};
  auto const rounds = [&](int n) {
    for (; n > 0; --n) {
      v[0] += v[1], v[2] += v[3];
      v[1] = rotated(v[1], 13), v[3] = rotated(v[3], 16);
      v[1] ^= v[0], v[3] ^= v[2];
      v[0] = rotated(v[0], 32);
      v[2] += v[1], v[0] += v[3];
      v[1] = rotated(v[1], 17), v[3] = rotated(v[3], 21);
      v[1] ^= v[2], v[3] ^= v[0];
      v[2] = rotated(v[2], 32);
    }
  };
  std::string padded(input);
  while (padded.size() % 8 != 7) padded += '\0';
  padded += static_cast<char>(static_cast<unsigned char>(input.size() % 256));

  v[1] ^= 0xee;
  for (std::size_t at = 0; at < padded.size(); at += 8) {
    std::uint64_t m = 0;
    for (std::size_t byte = 8; byte-- > 0;) m = m * 256 + static_cast<unsigned char>(padded[at + byte]);
    v[3] ^= m;
    rounds(word_rounds);
    v[0] ^= m;
  }
  auto const all = [&] { return v[0] ^ v[1] ^ v[2] ^ v[3]; };
  v[2] ^= 0xee;
  rounds(final_rounds);
  std::uint64_t const low = all();
  v[1] ^= 0xdd;
  rounds(final_rounds);
  return {low, all()};
}

template <int Word, int Final>
hash128 hash(std::string_view text) {
  siphash<Word, Final> h(key0, key1);
  h.bytes(text);
  return h.finish();
}

}  // namespace

TEST_CASE("SipHash-2-4 with 128 bits gives the published vectors") {
  struct row {
    std::size_t length;
    char const* expected;
  };
  row const rows[] = {
      {0, "a3817f04ba25a8e66df67214c7550293"},  {1, "da87c1d86b99af44347659119b22fc45"},
      {2, "8177228da4a45dc7fca38bdef60affe4"},  {3, "9c70b60c5267a94e5f33b6b02985ed51"},
      {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},  {8, "3b62a9ba6258f5610f83e264f31497b4"},
      {15, "5493e99933b0a8117e08ec0f97cfc3d9"}, {16, "6ee2a4ca67b054bbfd3315bf85230577"},
      {63, "5150d1772f50834a503e069a973fbd7c"},
  };
  for (auto const& r : rows) {
    INFO(r.length);
    CHECK(hex(hash<2, 4>(counting(r.length))) == r.expected);
    CHECK(hex(from_the_paper(2, 4, key0, key1, counting(r.length))) == r.expected);
  }
}

TEST_CASE("SipHash-1-3 is what the paper says, at every length") {
  for (std::size_t length = 0; length <= 64; ++length) {
    INFO(length);
    CHECK(hash<1, 3>(counting(length)) == from_the_paper(1, 3, key0, key1, counting(length)));
  }
  for (std::size_t length :
       {std::size_t{255}, std::size_t{256}, std::size_t{257}, std::size_t{1000}}) {  // the length counts modulo 256
    INFO(length);
    CHECK(hash<1, 3>(counting(length)) == from_the_paper(1, 3, key0, key1, counting(length)));
  }
}

TEST_CASE("the high bit of a byte stays that of its byte") {
  for (std::size_t length = 1; length <= 17; ++length)
    for (std::size_t i = 0; i < length; ++i) {
      std::string text(length, '\0');
      text[i] = '\xff';
      if (hash<1, 3>(text) != from_the_paper(1, 3, key0, key1, text)) CHECK((length + 1000 * i) == 0);
    }
  CHECK(hash<1, 3>(std::string(40, '\xff')) == from_the_paper(1, 3, key0, key1, std::string(40, '\xff')));
}

TEST_CASE("it does not matter in which pieces a text is fed") {
  int wrong = 0;
  for (std::size_t length = 0; length <= 40; ++length) {
    std::string const text = counting(length);
    std::string_view const view = text;
    hash128 const whole = hash<1, 3>(text);
    for (std::size_t i = 0; i <= length; ++i)
      for (std::size_t j = i; j <= length; ++j) {
        siphash<> h(key0, key1);
        h.bytes(view.substr(0, i));
        h.bytes(view.substr(i, j - i));
        h.bytes(view.substr(j));
        if (h.finish() != whole) ++wrong;
      }
    siphash<> h(key0, key1);
    for (char const& byte : text) h.bytes({&byte, 1});
    if (h.finish() != whole) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a word is eight bytes, lowest first, wherever it stands") {
  constexpr std::uint64_t word = 0x8877'6655'4433'2211;
  std::string const as_bytes = "\x11\x22\x33\x44\x55\x66\x77\x88";
  int wrong = 0;
  for (std::size_t before = 0; before <= 17; ++before)
    for (std::size_t after = 0; after <= 17; ++after) {
      siphash<> h(key0, key1);
      h.bytes(counting(before));
      h.word(word);
      h.word(~word);
      h.bytes(counting(after));
      std::string text = counting(before) + as_bytes;
      for (char byte : as_bytes) text += static_cast<char>(~byte);
      if (h.finish() != from_the_paper(1, 3, key0, key1, text + counting(after))) ++wrong;
    }
  CHECK(wrong == 0);
}

TEST_CASE("both halves of the key and of the result count") {
  auto const with = [](std::uint64_t k0, std::uint64_t k1) {
    siphash<> h(k0, k1);
    h.bytes("ann");
    return h.finish();
  };
  hash128 const h = with(1, 2);
  CHECK(h != with(0, 2));
  CHECK(h != with(1, 0));
  CHECK(h != with(2, 1));
  CHECK(h.low != h.high);
  CHECK(h == from_the_paper(1, 3, 1, 2, "ann"));
}
