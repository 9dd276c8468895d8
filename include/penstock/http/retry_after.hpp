#pragma once
// Retry-After (RFC 9110, section 10.2.3): a decision's wait in whole seconds, and whatever other servers send.

#include <penstock/decision.hpp>
#include <penstock/http/blanks.hpp>
#include <penstock/http/date.hpp>
#include <penstock/http/layers.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace penstock::inline v0_1::http {

namespace detail {

/// Some clients read Retry-After as a 32-bit integer.
inline constexpr std::uint64_t longest_retry_after = 2'147'483'647;

/// Whole seconds, rounded up; none of a negative time.
constexpr std::uint64_t seconds_up(std::chrono::nanoseconds time) noexcept {
  if (time <= std::chrono::nanoseconds::zero()) return 0;
  return static_cast<std::uint64_t>((time.count() - 1) / 1'000'000'000 + 1);
}

}  // namespace detail

/// The value of Retry-After: whole seconds, rounded up, from 1 (some clients retry at once on 0) to 2147483647 (some
/// read a 32-bit integer). Nothing when admitted, and nothing when waiting cannot help.
constexpr std::optional<std::uint64_t> retry_after(decision const& d) noexcept {
  if (d.outcome != verdict::limited) return {};
  return std::clamp<std::uint64_t>(detail::seconds_up(d.retry_after), 1, detail::longest_retry_after);
}
/// Of a stack: the longest wait among the layers that refuse; nothing when one of them would never admit.
template <layered_decision D>
std::optional<std::uint64_t> retry_after(D const& answers) {
  return retry_after(detail::binding(answers));
}

/// The same as a moment, for http_date(): the first whole second at which the wait is over. `now` is the wall clock's
/// reading when the decision was made, which a decision does not know.
constexpr std::optional<std::chrono::sys_seconds> retry_at(
    decision const& d, std::chrono::sys_time<std::chrono::nanoseconds> now) noexcept {
  if (d.outcome != verdict::limited) return {};
  auto const second = std::chrono::floor<std::chrono::seconds>(now);
  auto const into_second = now - second;
  auto const wait =
      std::clamp(d.retry_after, std::chrono::nanoseconds{1}, std::chrono::nanoseconds::max() - into_second);
  return second + std::chrono::seconds{static_cast<std::int64_t>(
                      std::min(detail::seconds_up(wait + into_second), detail::longest_retry_after))};
}

/// What a received Retry-After asks for.
struct retry_hint {
  enum class kind : std::uint8_t { absent, invalid, delay } what{};
  std::chrono::nanoseconds delay{};  ///< zero unless `what` says delay; at most nanoseconds::max()
  friend constexpr bool operator==(retry_hint const&, retry_hint const&) = default;
};

namespace detail {

/// 1*DIGIT [ "." 1*9DIGIT ]; what is too long for nanoseconds saturates.
constexpr std::optional<std::chrono::nanoseconds> parse_seconds(std::string_view text) noexcept {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max(), second = 1'000'000'000;
  auto const point = std::min(text.find('.'), text.size());
  std::string_view const whole = text.substr(0, point), fraction = text.substr(point);
  auto const digits = [](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!digits(whole) || (!fraction.empty() && (fraction.size() > 10 || !digits(fraction.substr(1))))) return {};

  std::uint64_t value = 0;
  for (char const c : whole) value = std::min(value * 10 + static_cast<std::uint64_t>(c - '0'), most / second + 1);
  std::uint64_t unit = second;
  value *= second;
  for (char const c : fraction.substr(fraction.empty() ? 0 : 1))
    value += static_cast<std::uint64_t>(c - '0') * (unit /= 10);
  return std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(value, most))};
}

}  // namespace detail

/// Reads the value of a Retry-After field: seconds (a decimal fraction of up to nine digits is seen in the wild, and
/// understood) or one of the three forms of HTTP-date, taken from `now`; a moment that has passed is a delay of zero.
/// Spaces and tabs around it are ignored, too large a number saturates. A view without text, std::string_view{}, is an
/// absent field; an empty value is an invalid one.
constexpr retry_hint parse_retry_after(std::string_view value, std::chrono::sys_seconds now) noexcept {
  using kind = retry_hint::kind;
  if (value.data() == nullptr) return {kind::absent, {}};
  value = detail::without_blanks(value);
  if (auto const delay = detail::parse_seconds(value)) return {kind::delay, *delay};
  auto const date = parse_http_date(value, now);
  if (!date) return {kind::invalid, {}};
  auto const ahead = (*date - std::clamp(now, detail::first_date, detail::last_date)).count();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  if (ahead > most) return {kind::delay, std::chrono::nanoseconds::max()};
  return {kind::delay, std::chrono::seconds{std::max<std::int64_t>(ahead, 0)}};
}

}  // namespace penstock::inline v0_1::http
