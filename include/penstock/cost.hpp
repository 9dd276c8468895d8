#pragma once
// How much of an allowance one call uses.

#include <compare>
#include <cstdint>

namespace penstock::inline v0_1 {

/// Units of an allowance: requests, tokens, bytes. A type of its own, so that a bare number never means a cost by
/// accident: `allow(key, cost{3})`. Zero is a question ("what now?"); it is always admitted and changes nothing.
struct cost {
  std::uint64_t units;
  friend constexpr auto operator<=>(cost, cost) = default;
};

}  // namespace penstock::inline v0_1
