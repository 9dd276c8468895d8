#pragma once
// The 128-bit arithmetic of time.hpp against long arithmetic by shifting and adding, one bit at a time. In a header of
// its own because time.hpp has two forms of it, for compilers with a 128-bit integer and for the others.

#include "random.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace arithmetic {

struct bits128 {
  std::uint64_t high, low;
  friend bool operator==(bits128, bits128) = default;

  bool below(bits128 other) const { return high != other.high ? high < other.high : low < other.low; }
  bits128 plus(bits128 other) const {
    std::uint64_t const sum = low + other.low;
    return {high + other.high + (sum < low ? 1 : 0), sum};
  }
  bits128 doubled() const { return plus(*this); }
};

inline bits128 product(std::uint64_t a, std::uint64_t b) {
  bits128 sum{0, 0}, shifted{0, a};
  for (; b != 0; b >>= 1, shifted = shifted.doubled())
    if (b & 1) sum = sum.plus(shifted);
  return sum;
}

inline std::vector<std::uint64_t> edges() {
  std::vector<std::uint64_t> all;
  for (unsigned bit : {0U, 1U, 2U, 31U, 32U, 33U, 61U, 62U, 63U})
    for (std::uint64_t around : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}})
      all.push_back((std::uint64_t{1} << bit) + around);
  all.push_back(std::numeric_limits<std::uint64_t>::max());
  all.push_back(std::numeric_limits<std::uint64_t>::max() - 1);
  return all;
}

/// Holds multiply, divide and ceil_divide against the definitions: q = a / b when q*b <= a < (q + 1)*b, and what does
/// not fit 64 bits is the largest number that does.
template <class Wide>
void is_exact(auto multiply, auto divide, auto ceil_divide) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  int wrong = 0;

  auto const check_product = [&](std::uint64_t a, std::uint64_t b) {
    Wide const p = multiply(a, b);
    if (bits128{p.high, p.low} != product(a, b)) ++wrong;
  };
  auto const check_quotient = [&](std::uint64_t high, std::uint64_t low, std::uint64_t b) {
    if (b == 0) return;
    bits128 const a{high, low};
    std::uint64_t const floor = divide(Wide{high, low}, b), ceiling = ceil_divide(Wide{high, low}, b);
    if (high >= b) {  // the quotient takes more than 64 bits
      if (floor != most || ceiling != most) ++wrong;
      return;
    }
    bits128 const below = product(floor, b), above = below.plus({0, b});
    bool const carried = above.below(below);  // beyond 128 bits, so above a
    if (a.below(below) || (!carried && !a.below(above))) ++wrong;
    if (ceiling != (below == a || floor == most ? floor : floor + 1)) ++wrong;
  };

  auto const special = edges();
  for (auto a : special)
    for (auto b : special) {
      check_product(a, b);
      for (auto c : special) check_quotient(a, b, c);
    }
  dice random(3);
  for (int i = 0; i < 20'000; ++i) {
    check_product(random.of_any_size(), random.of_any_size());
    check_quotient(random.of_any_size(), random.of_any_size(), random.of_any_size());
    std::uint64_t const b = random.of_any_size() | 1;
    check_quotient(random.below(b), random.bits(), b);
    bits128 const whole = product(random.of_any_size(), b);  // divides without a rest
    check_quotient(whole.high, whole.low, b);
  }
  CHECK(wrong == 0);

  CHECK(multiply(most, most) == Wide{most - 1, 1});
  CHECK(multiply(3, 5) == Wide{0, 15});
  CHECK(multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32) > Wide{0, most});
  CHECK(divide(Wide{0, 15}, 4) == 3);
  CHECK(ceil_divide(Wide{0, 15}, 4) == 4);
  CHECK(ceil_divide(Wide{0, 16}, 4) == 4);
  CHECK(divide(Wide{1, 0}, 2) == std::uint64_t{1} << 63);
  CHECK(divide(Wide{1, 0}, 1) == most);
}

}  // namespace arithmetic
