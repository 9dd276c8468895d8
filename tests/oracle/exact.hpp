// A signed integer of 256 bits, for models that must never round and never wrap.
//
// Two's complement in eight 32-bit limbs, least significant first, with schoolbook arithmetic: slow, portable to
// machines without a 128-bit type, and short enough to be read in one go. The widest product that a model forms is
// a 64-bit count times a 64-bit length of time, summed a few times, so 256 bits leave over a hundred unused.
//
// There is no rational type beside it. Every fraction in these models has the limit's count or period as its
// denominator, so the models keep numerators over that one denominator, and say so where they do.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace oracle {

class wide {
 public:
  static constexpr std::size_t limbs = 8;

  constexpr wide() = default;

  template <std::integral T>
  constexpr wide(T value) {  // implicit: to a model, a plain integer is simply a number
    std::uint64_t const bits = static_cast<std::uint64_t>(value);  // sign-extends, by the rules of the language
    if constexpr (std::is_signed_v<T>) limb_.fill(value < 0 ? ~std::uint32_t{0} : std::uint32_t{0});
    limb_[0] = static_cast<std::uint32_t>(bits);
    limb_[1] = static_cast<std::uint32_t>(bits >> 32);
  }

  [[nodiscard]] constexpr bool negative() const { return (limb_[limbs - 1] >> 31) != 0; }

  friend constexpr bool operator==(wide const&, wide const&) = default;

  friend constexpr std::strong_ordering operator<=>(wide const& a, wide const& b) {
    if (a.negative() != b.negative()) return a.negative() ? std::strong_ordering::less : std::strong_ordering::greater;
    for (std::size_t i = limbs; i-- > 0;)  // of equal sign, two's complement orders as unsigned does
      if (a.limb_[i] != b.limb_[i]) return a.limb_[i] <=> b.limb_[i];
    return std::strong_ordering::equal;
  }

  friend constexpr wide operator+(wide a, wide const& b) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < limbs; ++i) {
      carry += std::uint64_t{a.limb_[i]} + b.limb_[i];
      a.limb_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return a;
  }

  friend constexpr wide operator-(wide a, wide const& b) {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < limbs; ++i) {
      std::uint64_t const difference = std::uint64_t{a.limb_[i]} - b.limb_[i] - borrow;
      a.limb_[i] = static_cast<std::uint32_t>(difference);
      borrow = difference >> 63;  // it wrapped below zero
    }
    return a;
  }

  friend constexpr wide operator-(wide const& a) { return wide{} - a; }

  friend constexpr wide operator*(wide const& a, wide const& b) {
    wide product;  // modulo 2^256 the signed product is the unsigned one
    for (std::size_t i = 0; i < limbs; ++i) {
      if (a.limb_[i] == 0) continue;
      std::uint64_t carry = 0;
      for (std::size_t j = 0; i + j < limbs; ++j) {
        carry += std::uint64_t{a.limb_[i]} * b.limb_[j] + product.limb_[i + j];  // at most 2^64 - 1: no wrap
        product.limb_[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    return product;
  }

  constexpr wide& operator+=(wide const& b) { return *this = *this + b; }
  constexpr wide& operator-=(wide const& b) { return *this = *this - b; }

  // The number of bits up to the highest one set; of a number that is not negative.
  [[nodiscard]] constexpr std::size_t bit_length() const {
    for (std::size_t i = limbs; i-- > 0;)
      if (limb_[i] != 0) return i * 32 + static_cast<std::size_t>(std::bit_width(limb_[i]));
    return 0;
  }

  [[nodiscard]] constexpr wide shifted_left(std::size_t by) const {
    wide result;
    for (std::size_t i = by / 32; i < limbs; ++i) {
      std::uint64_t const high = limb_[i - by / 32];
      std::uint64_t const low = i > by / 32 ? limb_[i - by / 32 - 1] : 0;
      result.limb_[i] = static_cast<std::uint32_t>(((high << 32 | low) << (by % 32)) >> 32);
    }
    return result;
  }

  [[nodiscard]] constexpr wide halved() const {  // of a number that is not negative
    wide result;
    for (std::size_t i = 0; i < limbs; ++i) result.limb_[i] = limb_[i] >> 1 | (i + 1 < limbs ? limb_[i + 1] << 31 : 0U);
    return result;
  }

  // The lowest 64 bits, which are the value wherever it fits.
  [[nodiscard]] constexpr std::uint64_t low_bits() const { return std::uint64_t{limb_[1]} << 32 | limb_[0]; }

 private:
  std::array<std::uint32_t, limbs> limb_{};
};

// floor(a / b) for a >= 0, b > 0 as taught in school, in base two: one step for each bit of the quotient.
constexpr wide long_division(wide a, wide const& b) {
  wide quotient;
  if (a < b) return quotient;
  std::size_t const steps = a.bit_length() - b.bit_length() + 1;
  wide multiple = b.shifted_left(steps - 1);
  for (std::size_t i = 0; i < steps; ++i) {
    quotient = quotient + quotient;
    if (a >= multiple) {
      a -= multiple;
      quotient += 1;
    }
    multiple = multiple.halved();
  }
  return quotient;
}

// floor(a / b) for b > 0, towards minus infinity. What fits a machine word is divided there, only to save time.
constexpr wide floor_div(wide const& a, wide const& b) {
  if (a.negative()) return -floor_div(b - 1 - a, b);  // floor(-x / b) = -ceil(x / b) = -floor((x + b - 1) / b)
  if (a.bit_length() <= 64 && b.bit_length() <= 64) return a.low_bits() / b.low_bits();
  return long_division(a, b);
}

// ceil(a / b) for b > 0, towards plus infinity.
constexpr wide ceil_div(wide const& a, wide const& b) { return -floor_div(-a, b); }

// A count that may not be representable: capped on both sides.
constexpr std::uint64_t to_count(wide const& a) {
  if (a.negative()) return 0;
  return std::min(a, wide(std::numeric_limits<std::uint64_t>::max())).low_bits();
}

// A length of time in whole nanoseconds: none below zero, the longest when it cannot be represented.
constexpr std::int64_t to_nanoseconds(wide const& a) {
  if (a.negative()) return 0;
  return static_cast<std::int64_t>(std::min(a, wide(std::numeric_limits<std::int64_t>::max())).low_bits());
}

}  // namespace oracle
