// http/date.hpp: HTTP-date, RFC 9110, section 5.6.7.

#include <penstock/http/date.hpp>

#include "support/catch.hpp"
#include "support/slow.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

using namespace penstock;
using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

constexpr sys_seconds at(std::int64_t since_1970) { return sys_seconds{seconds{since_1970}}; }
constexpr sys_seconds now = at(1'700'000'000);  // 14 Nov 2023 22:13:20
constexpr sys_seconds nov_94 = at(784'111'777);

constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array weekdays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array long_weekdays{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

std::string printed(char const* format, auto... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// A calendar that counts days one by one, by the rule of a Gregorian year and nothing else.
struct counted_day {
  int year = 1, month = 1, day = 1;
  std::int64_t number = -719'162;  ///< since 1970: 1 Jan 0001
  int weekday = 1;                 ///< 1 Jan 0001 was a Monday

  int days_in_month() const {
    if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
  }
  void advance() {
    ++number;
    weekday = (weekday + 1) % 7;
    if (++day > days_in_month()) {
      day = 1;
      if (++month > 12) {
        month = 1;
        ++year;
      }
    }
  }
};

}  // namespace

TEST_CASE("a date is written as IMF-fixdate") {
  CHECK(http::http_date(nov_94) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(http::http_date(at(0)) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(http::http_date(at(-1)) == "Wed, 31 Dec 1969 23:59:59 GMT");
  CHECK(http::http_date(at(951'782'400)) == "Tue, 29 Feb 2000 00:00:00 GMT");
}

TEST_CASE("a time outside the years 0000 to 9999 is written as the nearest inside") {
  std::string const first = "Sat, 01 Jan 0000 00:00:00 GMT", last = "Fri, 31 Dec 9999 23:59:59 GMT";
  CHECK(http::http_date(at(-62'167'219'200)) == first);
  CHECK(http::http_date(at(-62'167'219'201)) == first);
  CHECK(http::http_date(sys_seconds::min()) == first);
  CHECK(http::http_date(at(253'402'300'799)) == last);
  CHECK(http::http_date(at(253'402'300'800)) == last);
  CHECK(http::http_date(sys_seconds::max()) == last);
}

TEST_CASE("a date is written while compiling") {
  constexpr bool right = [] {
    std::array<char, 29> text{};
    http::write_http_date(text, nov_94);
    return std::string_view(text.data(), text.size()) == "Sun, 06 Nov 1994 08:49:37 GMT";
  }();
  STATIC_REQUIRE(right);
  STATIC_REQUIRE(http::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT", now) == nov_94);
}

TEST_CASE("every day from 0001 to 9999 is written and read back, in all three forms") {
  std::int64_t days = 0, wrong = 0;
  std::string first_wrong;
  std::array<char, 29> written;
  for (counted_day d; d.year <= 9999; d.advance(), ++days) {
    if (support::slow && days % 11 != 0) continue;
    int const hour = static_cast<int>(days % 24), minute = static_cast<int>(days % 60), second = static_cast<int>(days % 59);
    sys_seconds const time = at(d.number * 86'400 + hour * 3600 + minute * 60 + second);
    auto const month = static_cast<std::size_t>(d.month - 1), weekday = static_cast<std::size_t>(d.weekday);
    std::string const fixed = printed("%s, %02d %s %04d %02d:%02d:%02d GMT", weekdays[weekday], d.day, months[month], d.year, hour, minute, second);
    std::string const ctime = printed("%s %s %2d %02d:%02d:%02d %04d", weekdays[weekday], months[month], d.day, hour, minute, second, d.year);
    std::string const rfc850 = printed("%s, %02d-%s-%02d %02d:%02d:%02d GMT", long_weekdays[weekday], d.day, months[month], d.year % 100, hour, minute, second);
    http::write_http_date(written, time);
    bool const right = std::string_view(written.data(), written.size()) == fixed && http::parse_http_date(fixed, now) == time &&
                       http::parse_http_date(ctime, now) == time && http::parse_http_date(rfc850, time) == time;
    if (!right && wrong++ == 0) first_wrong = fixed;
  }
  INFO(first_wrong);
  CHECK(wrong == 0);
  CHECK(days == 3'652'059);
}

TEST_CASE("every second of a day is written and read back") {
  std::int64_t wrong = 0;
  for (std::int64_t s = 0; s < 86'400; ++s) {
    sys_seconds const time = at(1'709'164'800 + s);  // 29 Feb 2024
    auto const [hour, minute, second] = std::array{s / 3600, s / 60 % 60, s % 60};
    std::string const text = printed("Thu, 29 Feb 2024 %02d:%02d:%02d GMT", static_cast<int>(hour), static_cast<int>(minute), static_cast<int>(second));
    if (http::http_date(time) != text || http::parse_http_date(text, now) != time) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a recipient reads three forms") {
  CHECK(http::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT", now) == nov_94);
  CHECK(http::parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", now) == nov_94);
  CHECK(http::parse_http_date("Sun Nov  6 08:49:37 1994", now) == nov_94);
  CHECK(http::parse_http_date("Wed Nov 16 08:49:37 1994", now) == nov_94 + std::chrono::days{10});
}

TEST_CASE("a wrong weekday and second 60 are let pass") {
  CHECK(http::parse_http_date("Mon, 06 Nov 1994 08:49:37 GMT", now) == nov_94);
  CHECK(http::parse_http_date("Friday, 06-Nov-94 08:49:37 GMT", now) == nov_94);
  CHECK(http::parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT", now) == at(1'483'228'800));
}

TEST_CASE("a year of two digits that seems more than 50 years ahead belongs to the past") {
  auto const year_of = [](std::string_view text, sys_seconds seen_at) {
    auto const time = http::parse_http_date(text, seen_at);
    REQUIRE(time);
    return int{std::chrono::year_month_day{std::chrono::floor<std::chrono::days>(*time)}.year()};
  };
  CHECK(year_of("Sunday, 06-Nov-94 08:49:37 GMT", now) == 1994);
  CHECK(year_of("Sunday, 06-Nov-23 08:49:37 GMT", now) == 2023);
  CHECK(year_of("Sunday, 06-Nov-24 08:49:37 GMT", now) == 2024);
  CHECK(year_of("Tuesday, 14-Nov-73 22:13:20 GMT", now) == 2073);  // 50 years to the second
  CHECK(year_of("Tuesday, 14-Nov-73 22:13:21 GMT", now) == 1973);
  CHECK(year_of("Tuesday, 15-Nov-73 00:00:00 GMT", now) == 1973);
  CHECK(year_of("Thursday, 01-Jan-70 00:00:00 GMT", now) == 2070);
  CHECK(year_of("Saturday, 01-Jan-05 00:00:00 GMT", nov_94) == 2005);
  CHECK(year_of("Friday, 31-Dec-99 00:00:00 GMT", at(978'307'200)) == 1999);  // seen on 1 Jan 2001
}

TEST_CASE("29 February is a day of leap years only, also where the century has to be found") {
  CHECK(http::parse_http_date("Tue, 29 Feb 2000 00:00:00 GMT", now) == at(951'782'400));
  CHECK_FALSE(http::parse_http_date("Thu, 29 Feb 1900 00:00:00 GMT", now));
  CHECK(http::parse_http_date("Tuesday, 29-Feb-00 00:00:00 GMT", now) == at(951'782'400));
  CHECK_FALSE(http::parse_http_date("Monday, 29-Feb-00 00:00:00 GMT", sys_seconds{std::chrono::sys_days{std::chrono::year{2090} / 1 / 1}}));
}

TEST_CASE("what is not a date is none") {
  for (std::string_view const text : {
           "", " ", "Sun", "Sun,", "Sun, ", "GMT",
           "sun, 06 Nov 1994 08:49:37 GMT",     // names have a case
           "Sun, 06 nov 1994 08:49:37 GMT",
           "Sun, 06 NOV 1994 08:49:37 GMT",
           "Sun, 06 Nov 1994 08:49:37 gmt",
           "Sun, 06 Nov 1994 08:49:37 UTC",     // no zone but GMT
           "Sun, 06 Nov 1994 08:49:37 +0000",
           "Sun, 06 Nov 1994 08:49:37",
           "Sun, 06 Nov 1994 08:49:37 GMT.",    // nothing behind
           "Sun, 06 Nov 1994 08:49:37 GMT GMT",
           " Sun, 06 Nov 1994 08:49:37 GMT",
           "Sun, 6 Nov 1994 08:49:37 GMT",      // two digits
           "Sun, 06 Nov 94 08:49:37 GMT",
           "Sun, 06 Nov 1994 8:49:37 GMT",
           "Sun, 06  Nov 1994 08:49:37 GMT",    // one space
           "Sun,06 Nov 1994 08:49:37 GMT",
           "Sun, 06-Nov-1994 08:49:37 GMT",     // forms do not mix
           "Sun, 06-Nov-94 08:49:37 GMT",
           "Sunday, 06 Nov 1994 08:49:37 GMT",
           "Sunday, 06-Nov-1994 08:49:37 GMT",
           "Sun Nov 06 08:49:37 1994 GMT",
           "Sun Nov 6 08:49:37 1994",
           "Sun Nov  6 08:49:37 94",
           "Xyz, 06 Nov 1994 08:49:37 GMT",     // no such day
           "Sun, 06 Xyz 1994 08:49:37 GMT",
           "Sun, 30 Feb 1994 08:49:37 GMT",
           "Sun, 31 Apr 1994 08:49:37 GMT",
           "Sun, 00 Nov 1994 08:49:37 GMT",
           "Sun, 32 Dec 1994 08:49:37 GMT",
           "Sun, 06 Nov 1994 24:00:00 GMT",     // no such time
           "Sun, 06 Nov 1994 08:60:37 GMT",
           "Sun, 06 Nov 1994 08:49:61 GMT",
           "Sun, 06 Nov 1994 -8:49:37 GMT",
           "Sun, 06 Nov +994 08:49:37 GMT",
           "1994-11-06T08:49:37Z",
       }) {
    CAPTURE(text);
    CHECK_FALSE(http::parse_http_date(text, now));
  }
}

TEST_CASE("every piece of a date is needed") {
  for (std::string_view const whole : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(whole, length);
      CHECK_FALSE(http::parse_http_date(whole.substr(0, length), now));
    }
}
