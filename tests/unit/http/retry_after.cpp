// http/retry_after.hpp: Retry-After, RFC 9110, section 10.2.3.

#include <penstock/http/retry_after.hpp>

#include "layered_answers.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

using namespace penstock;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::sys_seconds;

namespace {

using kind = http::retry_hint::kind;

decision refused(nanoseconds wait) { return {.outcome = verdict::limited, .limit = 100, .retry_after = wait}; }

constexpr sys_seconds now{784'111'777s};  // Sun, 06 Nov 1994 08:49:37 GMT

}  // namespace

TEST_CASE("a wait is told in whole seconds, rounded up") {
  CHECK(http::retry_after(refused(1ns)) == 1u);
  CHECK(http::retry_after(refused(1s)) == 1u);
  CHECK(http::retry_after(refused(1s + 1ns)) == 2u);
  CHECK(http::retry_after(refused(59'200ms)) == 60u);
  CHECK(http::retry_after(refused(24h)) == 86'400u);
}

TEST_CASE("a wait is told as at least 1 and at most 2147483647 seconds") {
  CHECK(http::retry_after(refused(0ns)) == 1u);
  CHECK(http::retry_after(refused(-5s)) == 1u);
  CHECK(http::retry_after(refused(2'147'483'647s)) == 2'147'483'647u);
  CHECK(http::retry_after(refused(2'147'483'647s + 1ns)) == 2'147'483'647u);
  CHECK(http::retry_after(refused(nanoseconds::max())) == 2'147'483'647u);
}

TEST_CASE("nothing is told when admitted, or when waiting cannot help") {
  CHECK(http::retry_after(decision{}) == std::nullopt);
  CHECK(http::retry_after(decision{.retry_after = 5s}) == std::nullopt);
  CHECK(http::retry_after(decision{.outcome = verdict::never, .retry_after = nanoseconds::max()}) == std::nullopt);
}

TEST_CASE("of a stack the longest wait is told, of layers that refuse and are the client's business") {
  layered_answers answers{{{"user", refused(2s)}, {"tenant", refused(1500ms)}, {"site", decision{}}}};
  CHECK(http::retry_after(answers) == 2u);
  answers.reports.push_back({"shadow", refused(1h), false, true});
  answers.reports.push_back({"skipped", refused(1h), true, false});
  CHECK(http::retry_after(answers) == 2u);
  answers.reports.push_back({"last", refused(1min)});
  CHECK(http::retry_after(answers) == 60u);
  answers.reports.push_back({"impossible", {.outcome = verdict::never, .retry_after = nanoseconds::max()}});
  CHECK(http::retry_after(answers) == std::nullopt);
  CHECK(http::retry_after(layered_answers{{{"user", decision{}}, {"tenant", decision{}}}}) == std::nullopt);
  CHECK(http::retry_after(layered_answers{}) == std::nullopt);
}

TEST_CASE("as a moment the wait ends at the first whole second that is late enough") {
  CHECK(http::retry_at(refused(1ns), now) == now + 1s);
  CHECK(http::retry_at(refused(1s), now) == now + 1s);
  CHECK(http::retry_at(refused(1s), now + 1ns) == now + 2s);
  CHECK(http::retry_at(refused(100ms), now + 900ms) == now + 1s);
  CHECK(http::retry_at(refused(100ms + 1ns), now + 900ms) == now + 2s);
  CHECK(http::retry_at(refused(0ns), now) == now + 1s);
  CHECK(http::retry_at(refused(nanoseconds::max()), now + 900ms) == now + 2'147'483'647s);
  CHECK(http::retry_at(decision{}, now) == std::nullopt);
  CHECK(http::retry_at({.outcome = verdict::never, .retry_after = nanoseconds::max()}, now) == std::nullopt);
  CHECK(http::http_date(*http::retry_at(refused(1s), now)) == "Sun, 06 Nov 1994 08:49:38 GMT");
}

TEST_CASE("what was received is absent, invalid or a delay") {
  struct row {
    std::string_view value;
    kind what;
    nanoseconds delay = 0ns;
  };
  constexpr nanoseconds longest = nanoseconds::max();
  for (row const& r : {
           row{{}, kind::absent},
           {"0", kind::delay, 0s},
           {"120", kind::delay, 120s},
           {"007", kind::delay, 7s},
           {" \t 120 \t ", kind::delay, 120s},
           {"1.5", kind::delay, 1500ms},
           {"0.5", kind::delay, 500ms},
           {"0.000000001", kind::delay, 1ns},
           {"1.999999999", kind::delay, 1'999'999'999ns},
           {"9223372036", kind::delay, 9'223'372'036s},
           {"9223372036.854775807", kind::delay, longest},
           {"9223372036.854775806", kind::delay, longest - 1ns},
           {"9223372036.9", kind::delay, longest},
           {"9223372037", kind::delay, longest},
           {"18446744073709551616", kind::delay, longest},
           {"99999999999999999999999999999999999999999999", kind::delay, longest},
           {"99999999999999999999999999.5", kind::delay, longest},
           {"Sun, 06 Nov 1994 08:49:37 GMT", kind::delay, 0s},
           {"Sun, 06 Nov 1994 08:50:37 GMT", kind::delay, 1min},
           {"\tSun, 06 Nov 1994 08:50:37 GMT ", kind::delay, 1min},
           {"Sunday, 06-Nov-94 08:49:47 GMT", kind::delay, 10s},
           {"Sun Nov  6 08:49:38 1994", kind::delay, 1s},
           {"Sun, 06 Nov 1994 08:49:36 GMT", kind::delay, 0s},
           {"Thu, 01 Jan 1970 00:00:00 GMT", kind::delay, 0s},
           {"Fri, 31 Dec 9999 23:59:59 GMT", kind::delay, longest},
           {"", kind::invalid},
           {"   ", kind::invalid},
           {"\t", kind::invalid},
           {"-1", kind::invalid},
           {"+5", kind::invalid},
           {"1e3", kind::invalid},
           {"5s", kind::invalid},
           {"5, 7", kind::invalid},
           {"5,7", kind::invalid},
           {"5.", kind::invalid},
           {".5", kind::invalid},
           {".", kind::invalid},
           {"1.5.5", kind::invalid},
           {"1.0000000000", kind::invalid},  // ten digits
           {"1.5x", kind::invalid},
           {"1. 5", kind::invalid},
           {"1 2", kind::invalid},
           {"0x10", kind::invalid},
           {"1\n", kind::invalid},
           {"1\r\n", kind::invalid},
           {"\xc2\xb2", kind::invalid},
           {"Wed, 30 Feb 1994 08:49:37 GMT", kind::invalid},
           {"Sun, 06 Nov 1994 24:00:00 GMT", kind::invalid},
           {"Sun, 06 Nov 1994 08:49:37 CET", kind::invalid},
           {"Sun, 06 Nov 1994 08:49:37 GMT, 5", kind::invalid},
           {"soon", kind::invalid},
       }) {
    CAPTURE(r.value);
    http::retry_hint const hint = http::parse_retry_after(r.value, now);
    CHECK(hint.what == r.what);
    CHECK(hint.delay == r.delay);
  }
}

TEST_CASE("a zero byte is no end") {
  CHECK(http::parse_retry_after(std::string_view("5\0", 2), now).what == kind::invalid);
}

TEST_CASE("no reading of the clock is too far off") {
  std::string_view const date = "Sun, 06 Nov 1994 08:49:37 GMT";
  CHECK(http::parse_retry_after(date, sys_seconds::max()) == http::retry_hint{kind::delay, 0ns});
  CHECK(http::parse_retry_after(date, sys_seconds::min()) == http::retry_hint{kind::delay, nanoseconds::max()});
  CHECK(http::parse_retry_after("Sunday, 06-Nov-94 08:49:37 GMT", sys_seconds::min()).what == kind::delay);
  CHECK(http::parse_retry_after("Sunday, 06-Nov-94 08:49:37 GMT", sys_seconds::max()).what == kind::delay);
}

TEST_CASE("what is sent is what is received") {
  for (nanoseconds const wait : {1ns, nanoseconds{1s}, nanoseconds{59'200ms}, nanoseconds{24h}}) {
    auto const text = std::to_string(*http::retry_after(refused(wait)));
    auto const hint = http::parse_retry_after(text, now);
    CHECK(hint.what == kind::delay);
    CHECK(hint.delay >= wait);
    CHECK(hint.delay < wait + 1s);
    auto const dated = http::parse_retry_after(http::http_date(*http::retry_at(refused(wait), now)), now);
    CHECK(dated == hint);
  }
}
