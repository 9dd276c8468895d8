// A rate literal with a unit that does not exist.
// expect: non-'constexpr'|constant expression

#include <penstock/rate.hpp>

using namespace penstock::literals;

#ifdef PENSTOCK_WRONG
auto const limit = "100/mon"_rate;
#else
auto const limit = "100/min"_rate;
#endif
