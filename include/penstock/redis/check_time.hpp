#pragma once
// Durations of a configuration, checked: a sentence that names the field, its value and what is allowed.

#include <penstock/config_error.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace penstock::inline v0_1::redis::detail {

/// Throws config_error unless least <= t <= most.
inline void check_time(penstock::detail::field where, std::chrono::nanoseconds t, std::chrono::nanoseconds least,
                       std::chrono::nanoseconds most) {
  auto const shown = [](std::chrono::nanoseconds d) { return std::to_string(d.count()) + " ns"; };
  if (t < least || t > most) penstock::detail::refuse(where, shown(t), "from " + shown(least) + " to " + shown(most));
}

/// Some decades: twice as long after any reading is still an instant.
inline constexpr std::chrono::nanoseconds longest_time{std::int64_t{1} << 60};
}  // namespace penstock::inline v0_1::redis::detail
