#pragma once
// What several Redis limits answer together.

#include <penstock/layer.hpp>
#include <penstock/redis/remote_decision.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>

namespace penstock::inline v0_1::redis {

/// As penstock::stack_decision, and who answered. Names are views into the stack. Layers that were not asked are
/// skipped.
template <std::size_t Count>
class [[nodiscard]] stack_decision {
 public:
  verdict outcome = verdict::admitted;
  origin from = origin::redis;  ///< of the first layer that Redis did not answer for; redis if it did for all
  std::error_code error{};      ///< set when degraded
  std::uint64_t remaining = std::numeric_limits<std::uint64_t>::max();
  std::chrono::nanoseconds retry_after{};

  constexpr explicit operator bool() const noexcept { return outcome == verdict::admitted; }
  /// The layer that waits longest; empty when admitted.
  constexpr std::string_view limited_by() const noexcept { return limited_by_; }
  constexpr std::span<layer_report const> layers() const& noexcept { return reports_; }
  constexpr std::array<layer_report, Count> layers() && noexcept { return reports_; }

  // ---- for the stacks that make it ----
  layer_report& report(std::size_t i) noexcept { return reports_[i]; }

  void tell(std::size_t i, remote_decision const& d) {
    reports_[i].skipped = false;
    reports_[i].decision = d;
    if (from == origin::redis) from = d.from;
    if (!error) error = d.error;
  }
  void conclude() noexcept {
    outcome = verdict::admitted;
    for (layer_report const& r : reports_) {
      if (r.skipped || r.shadow) continue;
      remaining = std::min(remaining, r.decision.remaining);
      if (r.decision || (outcome != verdict::admitted && r.decision.retry_after <= retry_after)) continue;
      outcome = r.decision.outcome;
      retry_after = r.decision.retry_after;
      limited_by_ = r.name;
    }
  }

 private:
  std::array<layer_report, Count> reports_{};
  std::string_view limited_by_;
};

}  // namespace penstock::inline v0_1::redis
