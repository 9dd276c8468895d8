#pragma once
// A script from another origin reads only the response fields that it is shown (Fetch standard, section 3.3.3).

#include <penstock/http/field.hpp>
#include <penstock/http/rate_limit.hpp>

namespace penstock::inline v0_1::http {

/// Access-Control-Expose-Headers with Retry-After and the fields of the dialect.
inline field_view exposed_fields(dialect style = dialect::draft_10) noexcept {
  constexpr std::string_view name = "Access-Control-Expose-Headers";
  switch (style) {
    case dialect::draft_07:
      return {name, "Retry-After, RateLimit"};
    case dialect::draft_03:
      return {name, "Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"};
    case dialect::x_ratelimit:
      return {name, "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"};
    case dialect::draft_10:
      break;
  }
  return {name, "Retry-After, RateLimit-Policy, RateLimit"};
}

}  // namespace penstock::inline v0_1::http
