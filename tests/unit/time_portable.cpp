// time.hpp as a compiler without a 128-bit integer sees it. Its functions must not meet at link time those that the
// other files compile, so they get an inline namespace of their own.

#undef __SIZEOF_INT128__
#define v0_1 without_int128
#include <penstock/time.hpp>

#include "arithmetic.hpp"
#include "support/catch.hpp"

#include <cstdint>

namespace portable = penstock::without_int128::detail;

TEST_CASE("128-bit products and quotients are exact without a 128-bit integer") {
  using portable::wide;
  arithmetic::is_exact<wide>([](std::uint64_t a, std::uint64_t b) { return portable::multiply(a, b); },
                             [](wide a, std::uint64_t b) { return portable::divide(a, b); },
                             [](wide a, std::uint64_t b) { return portable::ceil_divide(a, b); });
}

static_assert(portable::multiply(0xffff'ffff'ffff'ffff, 0xffff'ffff'ffff'ffff) ==
              portable::wide{0xffff'ffff'ffff'fffe, 1});
static_assert(portable::divide({0xffff'ffff'ffff'fffe, 1}, 0xffff'ffff'ffff'ffff) == 0xffff'ffff'ffff'ffff);
