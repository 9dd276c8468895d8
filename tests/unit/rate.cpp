// rate.hpp: the grammar in full. (What a literal accepts and refuses is in static/rate.cpp and compile_fail/.)

#include <penstock/rate.hpp>

#include "random.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::nanoseconds day = 24h;

std::string complaint_about(std::string_view text) {
  try {
    static_cast<void>(parse_rate(text));
  } catch (config_error const& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a rate is read as the exact pair") {
  struct row {
    char const* text;
    rate expected;
  };
  row const rows[] = {
      {"100/min", {100, 1min}},
      {"10 per 15 minutes", {10, 15min}},
      {"5/s", {5, 1s}},
      {"1/250ms", {1, 250ms}},
      {"60/min", {60, 1min}},  // not 1/s: to a window they differ
      {"3/s", {3, 1s}},
      {"0007/s", {7, 1s}},
      {"18446744073709551615/s", {18446744073709551615U, 1s}},
      {"1/36525d", {1, longest_period}},  // 100 years
      {"1 per 3155760000000 ms", {1, longest_period}},
  };
  for (auto const& r : rows) {
    INFO(r.text);
    CHECK(parse_rate(r.text) == r.expected);
  }
}

TEST_CASE("every unit has its words, in both notations, with a number and without") {
  struct row {
    char const* unit;
    std::chrono::nanoseconds length;
  };
  row const rows[] = {{"ms", 1ms},  {"s", 1s},     {"sec", 1s},      {"second", 1s},    {"seconds", 1s},
                      {"m", 1min},  {"min", 1min}, {"minute", 1min}, {"minutes", 1min}, {"h", 1h},
                      {"hour", 1h}, {"hours", 1h}, {"d", day},       {"day", day},      {"days", day}};
  for (auto const& r : rows) {
    std::string const unit = r.unit;
    INFO(unit);
    CHECK(parse_rate("7/" + unit) == rate{7, r.length});
    CHECK(parse_rate("7 per " + unit) == rate{7, r.length});
    CHECK(parse_rate("7/3" + unit) == rate{7, 3 * r.length});
    CHECK(parse_rate("7 per 3 " + unit) == rate{7, 3 * r.length});
  }
}

TEST_CASE("spaces are free between the parts") {
  for (char const* text : {"12/5min", " 12/5min", "12/5min ", "12 / 5 min", "  12  /  5  min  ", "12 per 5 min",
                           "12 per 5min", "  12   per   5   min  "}) {
    INFO('"' << text << '"');
    CHECK(parse_rate(text) == rate{12, 5min});
  }
}

TEST_CASE("a mistake is named by its position, counted from 0, and by what was expected there") {
  struct row {
    char const* text;
    int position;
    char const* expected;
  };
  row const rows[] = {
      {"", 0, "a count of 1 or more"},
      {"   ", 3, "a count of 1 or more"},
      {"fast", 0, "a count of 1 or more"},
      {"-5/s", 0, "a count of 1 or more"},
      {"+5/s", 0, "a count of 1 or more"},
      {"0/s", 0, "a count of 1 or more"},
      {" 000/s", 1, "a count of 1 or more"},
      {"18446744073709551616/s", 0, "a number below 2^64"},
      {"99999999999999999999999/s", 0, "a number below 2^64"},
      {"5", 1, "'/' or ' per '"},
      {"5 s", 2, "'/' or ' per '"},
      {"5.5/s", 1, "'/' or ' per '"},
      {"5per s", 1, "'/' or ' per '"},
      {"5 pers", 2, "'/' or ' per '"},
      {"5\t/s", 1, "'/' or ' per '"},
      {"5//s", 2, "a unit"},
      {"5/", 2, "a unit"},
      {"5 per ", 6, "a unit"},
      {"100/mon", 4, "a unit"},
      {"100/month", 4, "a unit"},
      {"10 per fortnight", 7, "a unit"},
      {"10 per 2 fortnights", 9, "a unit"},
      {"5/S", 2, "a unit"},
      {"5/Min", 2, "a unit"},
      {"5/us", 2, "a unit"},
      {"5/secs", 2, "a unit"},
      {"5/s~", 3, "the end of the text"},
      {"5/-1s", 2, "a unit"},
      {"5/1 5s", 4, "a unit"},
      {"5/0s", 2, "a number of 1 or more"},
      {"5 per 00 min", 6, "a number of 1 or more"},
      {"5/18446744073709551616ms", 2, "a number below 2^64"},
      {"5/36526d", 2, "a period of at most 100 years"},
      {"1 per 3155760000001 ms", 6, "a period of at most 100 years"},
      {"5/18446744073709551615d", 2, "a period of at most 100 years"},
      {"5/s/s", 3, "the end of the text"},
      {"5/s per", 4, "the end of the text"},
      {"5/s5", 3, "the end of the text"},
      {"5/min.", 5, "the end of the text"},
  };
  for (auto const& r : rows) {
    std::string const sentence = complaint_about(r.text);
    INFO(sentence);
    std::string shown(r.text);  // what cannot be printed is shown as '?'
    for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
    CHECK(sentence.find('"' + shown + '"') != std::string::npos);
    CHECK(sentence.find(std::string("expected ") + r.expected) != std::string::npos);
    CHECK(sentence.substr(sentence.rfind(' ') + 1) == std::to_string(r.position));
  }
}

TEST_CASE("the sentence about a rate names the text, what was expected and where") {
  CHECK(complaint_about("10 per fortnight") ==
        "rate \"10 per fortnight\": expected a unit: ms, s, sec, second(s), m, min, minute(s), h, hour(s), d, day(s) "
        "at position 7");
  CHECK(complaint_about("5 s") == "rate \"5 s\": expected '/' or ' per ' at position 2");
}

TEST_CASE("a NUL byte is a mistake like any other") {
  using namespace std::string_view_literals;
  CHECK(complaint_about("5\0/s"sv).find("at position 1") != std::string::npos);
  CHECK(complaint_about("5/s\0"sv).find("at position 3") != std::string::npos);
}

TEST_CASE("whatever is written out is read back") {
  struct unit {
    char const* name;
    std::chrono::nanoseconds length;
  };
  unit const units[] = {{"ms", 1ms}, {"s", 1s}, {"min", 1min}, {"hours", 1h}, {"days", day}};
  dice random(1);
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t const count = random.of_any_size() | 1;
    unit const& u = units[random.below(5)];
    std::uint64_t const periods = 1 + random.of_any_size() % static_cast<std::uint64_t>(longest_period / u.length);
    std::string const border = random.below(2) == 0 ? "/" : " per ";
    std::string const text = std::to_string(count) + border + std::to_string(periods) + u.name;
    if (parse_rate(text) != rate{count, static_cast<std::int64_t>(periods) * u.length}) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("no text, however damaged, is read beyond its end or taken for a rate that it is not") {
  dice random(2);
  std::string const letters = "0123456789 /permsdhinutcoay.-";
  int rates = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (std::uint64_t length = random.below(12); text.size() < length;) text += letters[random.below(letters.size())];
    try {
      rate const r = parse_rate(text);
      CHECK((r.count >= 1 && r.period >= 1ms && r.period <= longest_period));
      ++rates;
    } catch (config_error const&) {
    }
  }
  CHECK(rates > 0);
}
