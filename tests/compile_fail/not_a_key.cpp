// A user's type is a key once penstock_key() says what identifies it.
// expect: limit_key

#include <penstock/limiters.hpp>

#include <cstdint>

namespace shop {
struct customer {
  std::uint64_t number;
};
#ifndef PENSTOCK_WRONG
constexpr std::uint64_t penstock_key(customer const& c) { return c.number; }
#endif
}  // namespace shop

void take(penstock::token_bucket<shop::customer>&);
