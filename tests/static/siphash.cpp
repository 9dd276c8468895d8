// siphash.hpp and version.hpp, while compiling.

#include <penstock/siphash.hpp>
#include <penstock/version.hpp>

#include <bit>
#include <type_traits>

namespace {

using namespace penstock;

static_assert(detail::hash128{1, 2} == detail::hash128{1, 2} && detail::hash128{1, 2} != detail::hash128{2, 1});
static_assert(std::is_trivially_copyable_v<detail::siphash<>>);
static_assert(std::endian::native != std::endian::little || detail::from_little_endian(0x0102) == 0x0102);

// The inline namespace is named after the version.
static_assert(std::is_same_v<penstock::v0_1::detail::hash128, penstock::detail::hash128>);
static_assert(PENSTOCK_VERSION_MAJOR == 0 && PENSTOCK_VERSION_MINOR == 1);

}  // namespace
