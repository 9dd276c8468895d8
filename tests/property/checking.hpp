#pragma once
// How a property is checked: the same cases in every run, and what RapidCheck says of a failure told by Catch2.

#include "support/catch.hpp"
#include "support/slow.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

namespace property {

/// A tenth of the cases where they are slow. PENSTOCK_HEAVY=20 tries 20 times as many; RC_PARAMS="seed=..." others.
inline rc::detail::TestParams params() {
  constexpr int usual = support::slow ? 500 : 5'000;
  rc::detail::Configuration defaults;
  defaults.testParams.seed = 2'026;
  defaults.testParams.maxSuccess = usual;
  if (char const* const heavy = std::getenv("PENSTOCK_HEAVY"))
    defaults.testParams.maxSuccess = usual * std::max(1, std::atoi(heavy));
  char const* const given = std::getenv("RC_PARAMS");
  return rc::detail::configFromString(given == nullptr ? "" : given, defaults).testParams;
}

template <class Property>
rc::detail::TestResult result_of(Property holds) {
  return rc::detail::checkTestable(holds, rc::detail::TestMetadata{}, params());
}

template <class Property>
void check(std::string_view of, Property holds) {
  auto const result = result_of(holds);
  std::ostringstream told;
  rc::detail::printResultMessage(result, told);
  INFO(of << ": " << told.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
}

}  // namespace property
