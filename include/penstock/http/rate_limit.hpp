#pragma once
// The RateLimit fields, in the current draft and in the dialects that came before it.
//
//   draft_10     RateLimit-Policy: "default";q=100;w=60        draft-ietf-httpapi-ratelimit-headers-10, and RFC 9651
//                RateLimit: "default";r=50;t=30
//   draft_07     RateLimit: limit=100, remaining=50, reset=5
//   draft_03     RateLimit-Limit: 100, 100;w=60                and RateLimit-Remaining, RateLimit-Reset
//   x_ratelimit  X-RateLimit-Limit, -Remaining, -Reset         the custom of many services, written down by none
//
// t is the time until more quota is there, not until all of it is. The older dialects tell when all is back; on a
// refusal, as their drafts ask, the same moment as Retry-After. They know one limit only: of a stack they tell of the
// layer that waits longest, or else has the least left.

#include <penstock/decision.hpp>
#include <penstock/http/field.hpp>
#include <penstock/http/layers.hpp>
#include <penstock/http/policy.hpp>
#include <penstock/http/retry_after.hpp>
#include <penstock/http/structured.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace penstock::inline v0_1::http {

enum class dialect : std::uint8_t { draft_10, draft_07, draft_03, x_ratelimit };

/// What X-RateLimit-Reset counts. Half the world means one, half the other, and a client that guesses wrong sleeps for
/// decades.
enum class reset_unit : std::uint8_t {
  epoch_seconds,  ///< the moment, in seconds since 1970
  delta_seconds,  ///< from now
};

/// A reading of the wall clock, for what is told as a moment. Left out, std::chrono::system_clock is read, and only
/// when epoch seconds are to be written.
using wall_time = std::optional<std::chrono::sys_time<std::chrono::nanoseconds>>;

namespace detail {

/// One policy and one decision, or several of each, as the same thing: pairs to visit.
struct one_limit {
  http::policy const& policy;
  penstock::decision const& decision;

  void each(auto visit) const { visit(policy, decision); }
};
/// The layers that have a policy of their name.
template <layered_decision D>
struct layer_limits {
  std::span<policy const> policies;
  D const& answers;

  void each(auto visit) const {
    for (auto const& layer : answers.layers()) {
      if (!counts(layer)) continue;
      std::string_view const name = layer.name;
      auto const known = std::ranges::find_if(policies, [&](policy const& p) { return p.name == name; });
      if (known != policies.end()) visit(*known, static_cast<decision const&>(layer.decision));
    }
  }
};
/// The layer with the name of the policy; if there is none, the whole stack as if it were one limit.
template <layered_decision D>
struct stack_limit {
  http::policy const& policy;
  D const& answers;

  void each(auto visit) const {
    for (auto const& layer : answers.layers())
      if (policy.name == std::string_view(layer.name))
        return layer_limits<D>{std::span(&policy, 1), answers}.each(visit);
    visit(policy, binding(answers));
  }
};

/// At least 1: a window of half a second is told as one second.
constexpr std::uint64_t window_seconds(policy const& p) noexcept { return seconds_up(p.window); }

inline void put_partition_key(text_writer& to, policy const& p) noexcept {
  if (p.partition_key.empty()) return;
  to.put(";pk=");
  put_structured_bytes(to, p.partition_key);
}

inline void put_policy(text_writer& to, policy const& p) noexcept {
  put_structured_string(to, p.name);
  to.put(";q=");
  put_structured_integer(to, p.quota);
  if (p.unit != "requests" && !p.unit.empty()) {
    to.put(";qu=");
    put_structured_string(to, p.unit);
  }
  if (auto const window = window_seconds(p)) {
    to.put(";w=");
    put_structured_integer(to, window);
  }
  put_partition_key(to, p);
}

inline void put_limit(text_writer& to, policy const& p, decision const& d) noexcept {
  put_structured_string(to, p.name);
  to.put(";r=");
  put_structured_integer(to, d.remaining);
  auto more = seconds_up(d.next_after);
  if (auto const wait = retry_after(d)) more = std::clamp<std::uint64_t>(more, 1, *wait);
  if (more != 0) {
    to.put(";t=");
    put_structured_integer(to, more);
  }
  put_partition_key(to, p);
}

/// The reset of the older dialects, in seconds from now.
constexpr std::uint64_t reset_seconds(decision const& d) noexcept {
  auto const wait = retry_after(d);
  return wait ? *wait : seconds_up(d.reset_after);
}

/// The same as a moment, rounded up and never before 1970.
inline std::uint64_t reset_epoch(decision const& d, wall_time now) noexcept {
  namespace chrono = std::chrono;
  auto const at =
      (now ? *now : chrono::time_point_cast<chrono::nanoseconds>(chrono::system_clock::now())).time_since_epoch();
  auto const wait = d.outcome == verdict::limited ? d.retry_after : d.reset_after;
  auto const reset =
      wait > chrono::nanoseconds::max() - std::max(at, {}) ? chrono::nanoseconds::max() : at + std::max(wait, {});
  return seconds_up(reset);
}

template <class Limits>
void write_draft_10(fields_writer& to, Limits const& limits) noexcept {
  bool first = true;
  limits.each([&](policy const& p, decision const&) {
    text_writer& text = first ? to.open("RateLimit-Policy") : to.more(", ");
    first = false;
    put_policy(text, p);
  });
  first = true;
  limits.each([&](policy const& p, decision const& d) {
    text_writer& text = first ? to.open("RateLimit") : to.more(", ");
    first = false;
    put_limit(text, p, d);
  });
}

template <class Limits>
void write_older(fields_writer& to, Limits const& limits, dialect style, reset_unit unit, wall_time now) noexcept {
  policy const* shown = nullptr;
  decision d{};
  limits.each([&](policy const& p, decision const& candidate) {
    if (shown != nullptr && !binds_more(candidate, d)) return;
    shown = &p;
    d = candidate;
  });
  if (shown == nullptr) return;

  if (style == dialect::draft_07) {
    text_writer& text = to.open("RateLimit");
    text.put("limit=");
    put_structured_integer(text, shown->quota);
    text.put(", remaining=");
    put_structured_integer(text, d.remaining);
    text.put(", reset=");
    put_structured_integer(text, reset_seconds(d));
    return;
  }
  bool const x = style == dialect::x_ratelimit;
  put_structured_integer(to.open(x ? "X-RateLimit-Limit" : "RateLimit-Limit"), shown->quota);
  if (!x)
    limits.each([&](policy const& p, decision const&) {
      auto const window = window_seconds(p);
      if (window == 0) return;
      text_writer& text = to.more(", ");
      put_structured_integer(text, p.quota);
      text.put(";w=");
      put_structured_integer(text, window);
    });
  put_structured_integer(to.open(x ? "X-RateLimit-Remaining" : "RateLimit-Remaining"), d.remaining);
  put_structured_integer(to.open(x ? "X-RateLimit-Reset" : "RateLimit-Reset"),
                         x && unit == reset_unit::epoch_seconds ? reset_epoch(d, now) : reset_seconds(d));
}

template <class Limits>
void write_limits(fields_writer& to, Limits const& limits, dialect style, reset_unit unit, wall_time now) noexcept {
  if (style == dialect::draft_10)
    write_draft_10(to, limits);
  else
    write_older(to, limits, style, unit, now);
}

template <class Limits>
written_fields written_limits(std::span<char> room, Limits const& limits, dialect style, reset_unit unit,
                              wall_time now) noexcept {
  fields_writer fields(room);
  write_limits(fields, limits, style, unit, now);
  fields.close();
  return fields.finish();
}

template <class Limits>
std::vector<field> copied_limits(Limits const& limits, dialect style, reset_unit unit, wall_time now) {
  return with_room([&](std::span<char> room) { return written_limits(room, limits, style, unit, now); },
                   [](written_fields const& fields) { return fields.copy(); });
}

}  // namespace detail

/// The fields that tell a client of its limit, admitted or not. Allocates; never throws otherwise.
inline std::vector<field> rate_limit_fields(policy const& p, decision const& d, dialect style = dialect::draft_10,
                                            reset_unit unit = reset_unit::epoch_seconds, wall_time now = {}) {
  return detail::copied_limits(detail::one_limit{p, d}, style, unit, now);
}
/// Of a stack: one item for each layer that has a policy of its name. A layer without one is not told of; nor is one
/// that was skipped or is a shadow.
template <layered_decision D>
std::vector<field> rate_limit_fields(std::span<policy const> policies, D const& answers,
                                     dialect style = dialect::draft_10, reset_unit unit = reset_unit::epoch_seconds,
                                     wall_time now = {}) {
  return detail::copied_limits(detail::layer_limits<D>{policies, answers}, style, unit, now);
}
/// Of a stack with one policy: of the layer of its name, or if there is none, of the stack as a whole: the layer that
/// waits longest, or has the least left.
template <std::same_as<policy> P, layered_decision D>
std::vector<field> rate_limit_fields(P const& p, D const& answers, dialect style = dialect::draft_10,
                                     reset_unit unit = reset_unit::epoch_seconds, wall_time now = {}) {
  return detail::copied_limits(detail::stack_limit<D>{p, answers}, style, unit, now);
}

/// The same into memory of the caller, for the hot path: nothing is allocated, and with too little room there are no
/// fields at all. 256 bytes do for one policy with a name of up to 60 plain characters and no partition key.
/// \code
/// std::array<char, 256> room;
/// for (auto const& [name, value] : http::write_rate_limit(room, policy, decision)) response.set(name, value);
/// \endcode
inline written_fields write_rate_limit(std::span<char> room, policy const& p, decision const& d,
                                       dialect style = dialect::draft_10, reset_unit unit = reset_unit::epoch_seconds,
                                       wall_time now = {}) noexcept {
  return detail::written_limits(room, detail::one_limit{p, d}, style, unit, now);
}
template <layered_decision D>
written_fields write_rate_limit(std::span<char> room, std::span<policy const> policies, D const& answers,
                                dialect style = dialect::draft_10, reset_unit unit = reset_unit::epoch_seconds,
                                wall_time now = {}) noexcept {
  return detail::written_limits(room, detail::layer_limits<D>{policies, answers}, style, unit, now);
}
template <std::same_as<policy> P, layered_decision D>
written_fields write_rate_limit(std::span<char> room, P const& p, D const& answers, dialect style = dialect::draft_10,
                                reset_unit unit = reset_unit::epoch_seconds, wall_time now = {}) noexcept {
  return detail::written_limits(room, detail::stack_limit<D>{p, answers}, style, unit, now);
}

}  // namespace penstock::inline v0_1::http
