#pragma once
// What every limiter answers.

#include <chrono>
#include <cstdint>

namespace penstock::inline v0_1 {

enum class verdict : std::uint8_t {
  admitted,
  limited,  ///< refused for now: the same call is admitted `retry_after` later
  never,    ///< the cost exceeds the allowance: waiting cannot help
};

/// One answer, for all algorithms. Every number is exact: none is an estimate rounded for display.
/// It converts to true when the call was admitted.
struct [[nodiscard]] decision {
  verdict outcome{};
  std::uint8_t rule{};                     ///< which rule of an all_of decided (the binding one); 0 otherwise
  std::uint64_t limit{};                   ///< the size of the allowance: limit, burst or capacity
  std::uint64_t remaining{};               ///< whole units still admitted at this instant, after this call; 0 in debt
  std::chrono::nanoseconds retry_after{};  ///< 0 when admitted; else from the reading handed in until the same cost is
                                           ///< admitted if nobody else takes it; max() when never
  std::chrono::nanoseconds reset_after{};  ///< from then on the key decides as a fresh one
  std::chrono::nanoseconds next_after{};   ///< until `remaining` grows by one; 0 when full
  std::chrono::nanoseconds delay{};        ///< leaky_queue: how long the admitted request must wait; 0 elsewhere

  constexpr explicit operator bool() const noexcept { return outcome == verdict::admitted; }
  friend constexpr bool operator==(decision const&, decision const&) = default;
};

}  // namespace penstock::inline v0_1
