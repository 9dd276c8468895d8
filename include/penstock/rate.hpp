#pragma once
// A rate, kept as the exact pair "count per period": 3 per second is never 333,333,333 ns, which would admit too much.

#include <penstock/config_error.hpp>
#include <penstock/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace penstock::inline v0_1 {

/// `count` units per `period`. Two rates are equal when both numbers are: 60/min is not 1/s to a window.
struct rate {
  std::uint64_t count{};
  std::chrono::nanoseconds period{};
  friend constexpr bool operator==(rate const&, rate const&) = default;
};

constexpr rate per(std::uint64_t count, std::chrono::nanoseconds period) noexcept { return {count, period}; }
constexpr rate per_second(std::uint64_t count) noexcept { return {count, std::chrono::seconds{1}}; }
constexpr rate per_minute(std::uint64_t count) noexcept { return {count, std::chrono::minutes{1}}; }
constexpr rate per_hour(std::uint64_t count) noexcept { return {count, std::chrono::hours{1}}; }
constexpr rate per_day(std::uint64_t count) noexcept { return {count, std::chrono::hours{24}}; }

namespace detail {

[[noreturn]] inline void refuse_text(std::string_view text, std::string_view expected, std::size_t position) {
  std::string sentence = "rate \"";
  for (char const c : text) sentence += c >= ' ' && c <= '~' ? c : '?';
  refuse(sentence.append("\": expected ").append(expected).append(" at position ").append(std::to_string(position)));
}

[[noreturn]] inline void refuse_rate(field where, rate r, std::string_view range) {
  refuse(where, std::to_string(r.count) + " per " + std::to_string(r.period.count()) + " ns", range);
}

/// Throws config_error unless the count is from 1 to `most` and the period from 1 ns to 100 years.
constexpr void check_rate(field where, rate r, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  if (r.count == 0 || r.count > most) refuse_rate(where, r, "a count from 1 to " + std::to_string(most));
  if (r.period <= duration::zero() || r.period > longest_period)
    refuse_rate(where, r, "a period from 1 ns to " + std::to_string(longest_period.count()) + " ns (100 years)");
}

/// Reads a rate; on a mistake `problem` is set and `position` says where, counted from 0.
class rate_reader {
 public:
  constexpr explicit rate_reader(std::string_view text) noexcept : text_(text) { read(); }
  constexpr rate value() const noexcept { return value_; }
  constexpr char const* problem() const noexcept { return problem_; }
  constexpr std::size_t position() const noexcept { return position_; }

 private:
  constexpr void read() noexcept {
    skip_spaces();
    if (!number(value_.count, "a count of 1 or more")) return;
    std::size_t const after_count = position_;
    skip_spaces();
    if (rest().starts_with('/'))
      ++position_;
    else if (rest().starts_with("per ") && position_ > after_count)
      position_ += 4;
    else
      return fail("'/' or ' per '");
    skip_spaces();
    std::uint64_t periods = 1;
    std::size_t const at_number = position_;
    if (!rest().empty() && is_digit(rest().front()) && !number(periods, "a number of 1 or more")) return;
    skip_spaces();
    std::size_t const at_unit = position_;
    while (!rest().empty() && rest().front() >= 'a' && rest().front() <= 'z') ++position_;
    std::uint64_t const unit = nanoseconds_in(text_.substr(at_unit, position_ - at_unit));
    if (unit == 0) return fail_at(at_unit, "a unit: ms, s, sec, second(s), m, min, minute(s), h, hour(s), d, day(s)");
    if (periods > static_cast<std::uint64_t>(longest_period.count()) / unit)
      return fail_at(at_number, "a period of at most 100 years");
    value_.period = duration{static_cast<std::int64_t>(periods * unit)};
    skip_spaces();
    if (!rest().empty()) fail("the end of the text");
  }

  static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  constexpr std::string_view rest() const noexcept { return text_.substr(position_); }
  constexpr void skip_spaces() noexcept {
    while (rest().starts_with(' ')) ++position_;
  }
  constexpr void fail(char const* expected) noexcept { problem_ = expected; }
  constexpr void fail_at(std::size_t position, char const* expected) noexcept {
    position_ = position;
    problem_ = expected;
  }

  constexpr bool number(std::uint64_t& value, char const* expected) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    std::size_t const start = position_;
    value = 0;
    for (; !rest().empty() && is_digit(rest().front()); ++position_) {
      auto const digit = static_cast<std::uint64_t>(rest().front() - '0');
      if (value > (most - digit) / 10) return fail_at(start, "a number below 2^64"), false;
      value = value * 10 + digit;
    }
    if (value == 0) return fail_at(start, expected), false;
    return true;
  }

  static constexpr std::uint64_t nanoseconds_in(std::string_view unit) noexcept {
    struct named {
      std::string_view name;
      duration length;
    };
    constexpr named units[] = {
        {"ms", std::chrono::milliseconds{1}}, {"s", std::chrono::seconds{1}},
        {"sec", std::chrono::seconds{1}},     {"second", std::chrono::seconds{1}},
        {"seconds", std::chrono::seconds{1}}, {"m", std::chrono::minutes{1}},
        {"min", std::chrono::minutes{1}},     {"minute", std::chrono::minutes{1}},
        {"minutes", std::chrono::minutes{1}}, {"h", std::chrono::hours{1}},
        {"hour", std::chrono::hours{1}},      {"hours", std::chrono::hours{1}},
        {"d", std::chrono::hours{24}},        {"day", std::chrono::hours{24}},
        {"days", std::chrono::hours{24}},
    };
    for (auto const& known : units)
      if (known.name == unit) return static_cast<std::uint64_t>(known.length.count());
    return 0;
  }

  std::string_view text_;
  rate value_{};
  char const* problem_ = nullptr;
  std::size_t position_ = 0;
};

}  // namespace detail

/// Reads "100/min", "10 per 15 minutes", "5/s", "1/250ms":
/// COUNT "/" [N] UNIT or COUNT " per " [N] UNIT, extra spaces free,
/// UNIT one of ms, s, sec, second(s), m, min, minute(s), h, hour(s), d, day(s).
/// Throws config_error that says what was expected, and at which position (counted from 0).
constexpr rate parse_rate(std::string_view text) {
  detail::rate_reader const read(text);
  if (read.problem() != nullptr) detail::refuse_text(text, read.problem(), read.position());
  return read.value();
}

inline namespace literals {

/// "100/min"_rate, read while compiling: a text that is not a rate does not compile.
consteval rate operator""_rate(char const* text, std::size_t length) { return parse_rate({text, length}); }

}  // namespace literals
}  // namespace penstock::inline v0_1
