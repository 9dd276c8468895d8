#pragma once
// HTTP-date (RFC 9110, section 5.6.7): writes the one form that senders use, reads the three that recipients must.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock::inline v0_1::http {

namespace detail {

inline constexpr std::array<std::string_view, 7> weekdays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
inline constexpr std::array<std::string_view, 7> long_weekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                               "Thursday", "Friday", "Saturday"};
inline constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// The years of four digits: 0000 to 9999.
inline constexpr std::chrono::sys_seconds first_date{std::chrono::sys_days{std::chrono::year{0} / 1 / 1}};
inline constexpr std::chrono::sys_seconds last_date{std::chrono::sys_days{std::chrono::year{10'000} / 1 / 1} -
                                                    std::chrono::seconds{1}};

}  // namespace detail

/// Writes an IMF-fixdate, "Sun, 06 Nov 1994 08:49:37 GMT". A time outside the years 0000 to 9999 is written as the
/// nearest inside. It knows no locale.
constexpr void write_http_date(std::span<char, 29> to, std::chrono::sys_seconds time) noexcept {
  namespace chrono = std::chrono;
  time = std::clamp(time, detail::first_date, detail::last_date);
  auto const day = chrono::floor<chrono::days>(time);
  chrono::year_month_day const date{day};
  auto const seconds = (time - day).count();

  auto const text = [to](std::size_t at, std::string_view part) {
    std::ranges::copy(part, to.begin() + static_cast<std::ptrdiff_t>(at));
  };
  auto const number = [to](std::size_t at, std::size_t digits, std::int64_t value) {
    for (std::size_t i = digits; i-- > 0; value /= 10) to[at + i] = static_cast<char>('0' + value % 10);
  };
  text(0, detail::weekdays[chrono::weekday{day}.c_encoding()]);
  text(3, ", ");
  number(5, 2, unsigned{date.day()});
  text(7, " ");
  text(8, detail::months[unsigned{date.month()} - 1]);
  text(11, " ");
  number(12, 4, int{date.year()});
  text(16, " ");
  number(17, 2, seconds / 3600);
  text(19, ":");
  number(20, 2, seconds / 60 % 60);
  text(22, ":");
  number(23, 2, seconds % 60);
  text(25, " GMT");
}

/// The same as a string. Allocates.
inline std::string http_date(std::chrono::sys_seconds time) {
  std::array<char, 29> text;
  write_http_date(text, time);
  return {text.data(), text.size()};
}

namespace detail {

/// Takes one part after another off the front of a text; after the first that is missing it has failed for good.
class date_reader {
 public:
  constexpr explicit date_reader(std::string_view text) noexcept : rest_(text) {}

  constexpr void literal(std::string_view expected) noexcept {
    if (rest_.starts_with(expected))
      rest_.remove_prefix(expected.size());
    else
      failed_ = true;
  }
  template <std::size_t N>
  constexpr unsigned one_of(std::array<std::string_view, N> const& names) noexcept {
    for (unsigned i = 0; i < N; ++i)
      if (rest_.starts_with(names[i])) return rest_.remove_prefix(names[i].size()), i;
    failed_ = true;
    return 0;
  }
  constexpr unsigned digits(std::size_t count) noexcept {
    if (rest_.size() < count) failed_ = true;
    unsigned value = 0;
    for (std::size_t i = 0; i < count && !failed_; ++i, rest_.remove_prefix(1)) {
      if (rest_[0] < '0' || rest_[0] > '9') failed_ = true;
      value = value * 10 + static_cast<unsigned>(rest_[0] - '0');
    }
    return failed_ ? 0 : value;
  }
  constexpr bool next_is(char c) const noexcept { return rest_.starts_with(c); }
  constexpr bool done() const noexcept { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

/// A date as it was written, not yet known to exist.
struct written_date {
  int year{};
  unsigned month{}, day{}, hour{}, minute{}, second{};

  constexpr void read_month(date_reader& from) noexcept { month = from.one_of(months) + 1; }
  constexpr void read_time(date_reader& from) noexcept {
    hour = from.digits(2);
    from.literal(":");
    minute = from.digits(2);
    from.literal(":");
    second = from.digits(2);
  }
  constexpr std::array<std::int64_t, 6> in_order() const noexcept { return {year, month, day, hour, minute, second}; }

  /// Second 60 is the next minute's first: a leap second, or a clock that does not smear it.
  constexpr std::optional<std::chrono::sys_seconds> time() const noexcept {
    std::chrono::year_month_day const date{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) return {};
    return std::chrono::sys_days{date} + std::chrono::hours{hour} + std::chrono::minutes{minute} +
           std::chrono::seconds{second};
  }
};

/// The latest year with these last two digits that does not put the date more than 50 years ahead of now.
constexpr int full_year(written_date date, std::chrono::sys_seconds now) noexcept {
  auto const today = std::chrono::floor<std::chrono::days>(now);
  std::chrono::year_month_day const ymd{today};
  auto const time = (now - today).count();
  std::array<std::int64_t, 6> const most{int{ymd.year()} + 50, unsigned{ymd.month()}, unsigned{ymd.day()},
                                         time / 3600,          time / 60 % 60,        time % 60};
  date.year += (int{ymd.year()} + 50) / 100 * 100;
  if (most < date.in_order()) date.year -= 100;
  return date.year;
}

}  // namespace detail

/// Reads "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or "Sun Nov  6 08:49:37 1994", and nothing
/// else: no other case, zone or spacing, no day that does not exist. A weekday that does not fit the date is let pass,
/// and so is second 60. A year of two digits is the latest that is not more than 50 years ahead of `now`.
constexpr std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text,
                                                                  std::chrono::sys_seconds now) noexcept {
  now = std::clamp(now, detail::first_date, detail::last_date);
  detail::date_reader from(text);
  detail::written_date date;
  auto const comma = text.find(',');
  if (comma == std::string_view::npos) {  // asctime-date
    from.one_of(detail::weekdays);
    from.literal(" ");
    date.read_month(from);
    from.literal(" ");
    bool const padded = from.next_is(' ');
    if (padded) from.literal(" ");
    date.day = from.digits(padded ? 1 : 2);
    from.literal(" ");
    date.read_time(from);
    from.literal(" ");
    date.year = static_cast<int>(from.digits(4));
  } else {
    bool const fixed = comma == 3;  // IMF-fixdate, else rfc850-date
    std::string_view const separator = fixed ? " " : "-";
    from.one_of(fixed ? detail::weekdays : detail::long_weekdays);
    from.literal(", ");
    date.day = from.digits(2);
    from.literal(separator);
    date.read_month(from);
    from.literal(separator);
    date.year = static_cast<int>(from.digits(fixed ? 4 : 2));
    from.literal(" ");
    date.read_time(from);
    from.literal(" GMT");
    if (!fixed) date.year = detail::full_year(date, now);
  }
  return from.done() ? date.time() : std::nullopt;
}

}  // namespace penstock::inline v0_1::http
