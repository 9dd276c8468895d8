// http/refusal.hpp, http/problem.hpp and http/cors.hpp: the whole answer to a refused request.

#include <penstock/http/cors.hpp>
#include <penstock/http/refusal.hpp>

#include "layered_answers.hpp"
#include "support/catch.hpp"
#include "unit/allocations.hpp"

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace penstock;
using namespace std::chrono_literals;
using http::dialect;
using std::chrono::nanoseconds;

namespace {

using fields = std::vector<http::field>;

decision refused(nanoseconds wait) { return {.outcome = verdict::limited, .limit = 1000, .retry_after = wait, .reset_after = wait, .next_after = wait}; }
http::policy const daily{"daily", 1000, 24h};

constexpr std::string_view quota_exceeded =
    R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"violated-policies":["daily"]})";
constexpr std::string_view reduced_capacity =
    R"({"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,"violated-policies":["daily"]})";

std::string json(std::string_view text) {
  std::array<char, 1024> room;
  http::detail::text_writer to(room);
  http::detail::put_json_string(to, text);
  return std::string(to.text(0, to.size()));
}

}  // namespace

TEST_CASE("a refusal is a 429 with everything that a client needs to wait") {
  http::response const r = http::refusal(daily, refused(59'200ms));
  CHECK(r.status == 429);
  CHECK(r.fields == fields{{"Retry-After", "60"},
                           {"RateLimit-Policy", "\"daily\";q=1000;w=86400"},
                           {"RateLimit", "\"daily\";r=0;t=60"},
                           {"Cache-Control", "no-store"},
                           {"Content-Type", "application/problem+json"}});
  CHECK(r.body == quota_exceeded);
}

TEST_CASE("a server that sheds load answers 503") {
  http::response const r = http::refusal(daily, refused(2s), {.shedding = true});
  CHECK(r.status == 503);
  CHECK(r.fields.front() == http::field{"Retry-After", "2"});
  CHECK(r.body == reduced_capacity);
}

TEST_CASE("where waiting cannot help there is no Retry-After") {
  http::response const r = http::refusal(daily, {.outcome = verdict::never, .limit = 1000, .remaining = 1000, .retry_after = nanoseconds::max()});
  CHECK(r.status == 429);
  CHECK(r.fields.front() == http::field{"RateLimit-Policy", "\"daily\";q=1000;w=86400"});
  CHECK(r.body == quota_exceeded);
}

TEST_CASE("a refusal speaks the dialect that is asked for") {
  std::chrono::sys_time<nanoseconds> const now{1'700'000'000s};
  CHECK(http::refusal(daily, refused(5s), {.dialect = dialect::x_ratelimit, .now = now}).fields ==
        fields{{"Retry-After", "5"},
               {"X-RateLimit-Limit", "1000"},
               {"X-RateLimit-Remaining", "0"},
               {"X-RateLimit-Reset", "1700000005"},
               {"Cache-Control", "no-store"},
               {"Content-Type", "application/problem+json"}});
  CHECK(http::refusal(daily, refused(5s), {.dialect = dialect::x_ratelimit, .reset_unit = http::reset_unit::delta_seconds}).fields[3].value == "5");
  CHECK(http::refusal(daily, refused(5s), {.dialect = dialect::draft_07}).fields[1] == http::field{"RateLimit", "limit=1000, remaining=0, reset=5"});
}

TEST_CASE("of a stack every layer that refuses is named, and the longest wait is asked for") {
  std::vector<http::policy> const policies{daily, {"burst", 10, 1s}};
  layered_answers const answers{{{"burst", refused(500ms)},
                                 {"daily", refused(1h)},
                                 {"site", decision{.remaining = 5}},
                                 {"internal", refused(1s)},
                                 {"trial", refused(2h), false, true},
                                 {"not asked", refused(2h), true, false}}};
  http::response const r = http::refusal(policies, answers);
  CHECK(r.status == 429);
  CHECK(r.fields[0] == http::field{"Retry-After", "3600"});
  CHECK(r.fields[1].value == "\"burst\";q=10;w=1, \"daily\";q=1000;w=86400");
  CHECK(r.fields[2].value == "\"burst\";r=0;t=1, \"daily\";r=0;t=3600");
  CHECK(r.body.ends_with(R"("violated-policies":["burst","daily","internal"]})"));

  http::response const untold = http::refusal({}, answers, {.shedding = true});
  CHECK(untold.status == 503);
  CHECK(untold.fields == fields{{"Retry-After", "3600"}, {"Cache-Control", "no-store"}, {"Content-Type", "application/problem+json"}});
  CHECK(http::refusal(daily, answers).fields[1].value == "\"daily\";q=1000;w=86400");
}

TEST_CASE("the written form allocates nothing, and is whole or nothing") {
  std::array<char, 512> room;
  decision const d = refused(5s);
  http::written_response written;
  CHECK(allocations_of([&] { written = http::write_refusal(room, daily, d); }).made == 0);
  REQUIRE(written);
  http::response const r = http::refusal(daily, d);
  CHECK(written.copy().status == r.status);
  CHECK(written.copy().fields == r.fields);
  CHECK(written.copy().body == r.body);
  for (std::size_t size = 0; size < written.needed(); ++size) {
    auto const less = http::write_refusal(std::span(room).first(size), daily, d);
    CHECK_FALSE(less);
    CHECK(less.fields.size() == 0);
    CHECK(less.body.empty());
    CHECK(less.needed() == written.needed());
  }
  CHECK(http::write_refusal(std::span(room).first(written.needed()), daily, d));
}

TEST_CASE("names in JSON are escaped, and always UTF-8") {
  using namespace std::string_view_literals;
  CHECK(json("daily") == R"("daily")");
  CHECK(json("a\"b\\c/d") == R"("a\"b\\c/d")");
  CHECK(json("\r\n\t\x1f\0"sv) == R"("\u000d\u000a\u0009\u001f\u0000")");
  CHECK(json("\x7f") == "\"\x7f\"");
  for (auto const whole : {"\xc2\x80"sv, "\xdf\xbf"sv, "\xe0\xa0\x80"sv, "\xed\x9f\xbf"sv, "\xee\x80\x80"sv, "\xef\xbf\xbf"sv, "\xf0\x90\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv}) {
    CHECK(json(whole) == std::string(1, '"').append(whole) + '"');
    for (std::size_t cut = 1; cut < whole.size(); ++cut) CHECK(json(whole.substr(0, cut)).starts_with("\"\\ufffd"));
  }
  CHECK(json("\x80") == R"("\ufffd")");
  CHECK(json("\xff") == R"("\ufffd")");
  CHECK(json("\xc0\xaf") == R"("\ufffd\ufffd")");              // overlong
  CHECK(json("\xe0\x9f\xbf") == R"("\ufffd\ufffd\ufffd")");    // overlong
  CHECK(json("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");    // a surrogate
  CHECK(json("\xf0\x8f\xbf\xbf") == R"("\ufffd\ufffd\ufffd\ufffd")");
  CHECK(json("\xf4\x90\x80\x80") == R"("\ufffd\ufffd\ufffd\ufffd")");
  CHECK(json("a\xc3") == R"("a\ufffd")");
  CHECK(json("\xc3\xc3\xa4") == "\"\\ufffd\xc3\xa4\"");
}

TEST_CASE("whatever a layer is called, it stays out of the header") {
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    std::string name(random() % 12, '\0');
    for (char& c : name) c = static_cast<char>(random());
    layered_answers const answers{{{name, refused(1s)}, {"daily", refused(1s)}}};
    http::response const r = http::refusal(daily, answers);
    REQUIRE(r.fields.size() == 5);
    for (auto const& [field, value] : r.fields) CHECK(http::is_structured_string(field + value));
    CHECK(r.body.find('\n') == std::string::npos);
    CHECK(r.body.find('\r') == std::string::npos);
  }
}

TEST_CASE("scripts of other origins are shown the fields") {
  for (dialect const style : {dialect::draft_10, dialect::draft_07, dialect::draft_03, dialect::x_ratelimit}) {
    auto const [name, value] = http::exposed_fields(style);
    CHECK(name == "Access-Control-Expose-Headers");
    std::string const list = ", " + std::string(value) + ",";
    for (auto const& [field, content] : http::refusal(daily, refused(1s), {.dialect = style}).fields)
      if (field != "Cache-Control" && field != "Content-Type") CHECK(list.find(", " + field + ",") != std::string::npos);
  }
  CHECK(http::exposed_fields().value == "Retry-After, RateLimit-Policy, RateLimit");
}
