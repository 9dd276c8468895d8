#pragma once
// A decision, who made it, and what was wrong if it was not Redis.

#include <penstock/decision.hpp>

#include <cstdint>
#include <system_error>

namespace penstock::inline v0_1::redis {

enum class origin : std::uint8_t {
  redis,       ///< the store, for all instances
  deny_cache,  ///< a refusal of the store, remembered here
  lease,       ///< units that the store lent to this instance
  local,       ///< the in-process limiter of the policy local{}
  policy,      ///< fail_open or fail_closed
};

/// `error` is set when the answer is degraded, that is by the failure policy. A reached limit is never an error, and an
/// error is never told as a reached limit: look at `from`.
struct [[nodiscard]] remote_decision : decision {
  origin from = origin::redis;
  std::error_code error{};
};

}  // namespace penstock::inline v0_1::redis
