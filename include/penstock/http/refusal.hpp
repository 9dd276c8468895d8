#pragma once
// The whole answer to a request that is refused.
//
// 429 Too Many Requests (RFC 6585, section 4) says that this client has used up its quota; 503 Service Unavailable,
// that the server sheds load, whoever asks.

#include <penstock/decision.hpp>
#include <penstock/http/field.hpp>
#include <penstock/http/problem.hpp>
#include <penstock/http/rate_limit.hpp>
#include <penstock/http/retry_after.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::inline v0_1::http {

struct refusal_options {
  http::dialect dialect = http::dialect::draft_10;
  bool shedding = false;  ///< answer 503 in place of 429
  http::reset_unit reset_unit = http::reset_unit::epoch_seconds;
  wall_time now{};  ///< for x_ratelimit
};

struct response {
  int status{};
  std::vector<field> fields;
  std::string body;
};

/// A response in memory of the caller. False when there was too little of it: then there are no fields and no body, and
/// fields.needed() says how many bytes would do.
struct written_response {
  int status{};
  written_fields fields;
  std::string_view body;

  explicit operator bool() const noexcept { return static_cast<bool>(fields); }
  std::size_t needed() const noexcept { return fields.needed(); }
  /// The same with text of its own. Allocates.
  response copy() const { return {status, fields.copy(), std::string(body)}; }
};

namespace detail {

/// The names of those who refuse.
inline auto refusing(policy const& p, decision const& d) {
  return [&](auto visit) {
    if (!d) visit(std::string_view(p.name));
  };
}
template <layered_decision D>
auto refusing(D const& answers) {
  return [&](auto visit) {
    for (auto const& layer : answers.layers())
      if (counts(layer) && !static_cast<decision const&>(layer.decision)) visit(std::string_view(layer.name));
  };
}

template <class Limits, class Names>
written_response written_refusal(std::span<char> room, Limits const& limits, Names names,
                                 std::optional<std::uint64_t> wait, refusal_options const& options) noexcept {
  fields_writer to(room);
  if (wait) to.open("Retry-After").put(*wait);
  write_limits(to, limits, options.dialect, options.reset_unit, options.now);
  to.add("Cache-Control", "no-store");
  to.add("Content-Type", "application/problem+json");
  put_problem(to.close(), options.shedding, names);
  return {options.shedding ? 503 : 429, to.finish(), to.rest()};
}

}  // namespace detail

/// The answer to a refused request, in memory of the caller: nothing is allocated. 512 bytes do for one policy with a
/// name of up to 60 plain characters and no partition key.
inline written_response write_refusal(std::span<char> room, policy const& p, decision const& d,
                                      refusal_options const& options = {}) noexcept {
  return detail::written_refusal(room, detail::one_limit{p, d}, detail::refusing(p, d), retry_after(d), options);
}
template <layered_decision D>
written_response write_refusal(std::span<char> room, std::span<policy const> policies, D const& answers,
                               refusal_options const& options = {}) noexcept {
  return detail::written_refusal(room, detail::layer_limits<D>{policies, answers}, detail::refusing(answers),
                                 retry_after(answers), options);
}
template <std::same_as<policy> P, layered_decision D>
written_response write_refusal(std::span<char> room, P const& p, D const& answers,
                               refusal_options const& options = {}) noexcept {
  return detail::written_refusal(room, detail::stack_limit<D>{p, answers}, detail::refusing(answers),
                                 retry_after(answers), options);
}

/// The answer to a refused request: the status; Retry-After (none when waiting cannot help), the fields of the dialect,
/// Cache-Control: no-store and Content-Type; and problem details as the body, which name the policies that refuse.
/// Allocates; never throws otherwise.
inline response refusal(policy const& p, decision const& d, refusal_options const& options = {}) {
  return detail::with_room([&](std::span<char> room) { return write_refusal(room, p, d, options); },
                           [](written_response const& written) { return written.copy(); });
}
/// Of a stack: the policies as in rate_limit_fields, the wait of the layer that waits longest, the names of all layers
/// that refuse, whether or not they have a policy.
template <layered_decision D>
response refusal(std::span<policy const> policies, D const& answers, refusal_options const& options = {}) {
  return detail::with_room([&](std::span<char> room) { return write_refusal(room, policies, answers, options); },
                           [](written_response const& written) { return written.copy(); });
}
template <std::same_as<policy> P, layered_decision D>
response refusal(P const& p, D const& answers, refusal_options const& options = {}) {
  return detail::with_room([&](std::span<char> room) { return write_refusal(room, p, answers, options); },
                           [](written_response const& written) { return written.copy(); });
}

}  // namespace penstock::inline v0_1::http
