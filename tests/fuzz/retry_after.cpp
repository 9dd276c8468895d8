// parse_retry_after: seconds against sums in text, dates against what http_date writes.

#include <penstock/http/retry_after.hpp>

#include "input.hpp"

#include <string>

namespace {

namespace http = penstock::http;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using kind = http::retry_hint::kind;

constexpr std::string_view digits = "0123456789";

/// A number of seconds as nanoseconds, if the text is one: both are digits, so the point moves by nine places.
bool is_delay(std::string_view text, nanoseconds& delay) {
  std::string_view const whole = text.substr(0, text.find('.'));
  std::string fraction(text.substr(std::min(whole.size(), text.size())));
  if (whole.empty() || whole.find_first_not_of(digits) != whole.npos) return false;
  if (!fraction.empty()) {
    fraction.erase(0, 1);
    if (fraction.empty() || fraction.size() > 9 || fraction.find_first_not_of(digits) != fraction.npos) return false;
  }
  fraction.resize(9, '0');
  std::string ns = std::string(whole) + fraction;
  ns.erase(0, std::min(ns.find_first_not_of('0'), ns.size() - 1));
  constexpr std::string_view most = "9223372036854775807";
  bool const fits = ns.size() < most.size() || (ns.size() == most.size() && ns <= most);
  delay = fits ? nanoseconds{std::stoll(ns)} : nanoseconds::max();
  return true;
}

/// The nearest moment of the years that a date can tell.
sys_seconds inside(sys_seconds t) {
  using namespace std::chrono;
  return std::clamp(t, sys_seconds{sys_days{year{0} / 1 / 1}},
                    sys_seconds{sys_days{year{9999} / 12 / 31}} + seconds{86'399});
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input in(data, size);
  sys_seconds const now{seconds{in.signed_number()}}, then{seconds{in.signed_number()}};
  std::string const own(in.rest());  // so that an empty value is not an absent one
  std::string_view const text = own;

  auto const hint = http::parse_retry_after(text, now);
  HOLDS(hint.what != kind::absent);
  HOLDS(hint.delay >= nanoseconds::zero());
  if (hint.what == kind::invalid) HOLDS(hint.delay == nanoseconds::zero());

  std::string const blanks = " \t" + std::string(text) + "\t ";
  HOLDS(http::parse_retry_after(blanks, now) == hint);

  auto const first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  auto const trimmed = first == text.npos ? std::string_view("") : text.substr(first, last - first + 1);
  nanoseconds delay;
  if (is_delay(trimmed, delay))
    HOLDS(hint.what == kind::delay && hint.delay == delay);
  else if (auto const date = http::parse_http_date(trimmed, now)) {
    HOLDS(hint.what == kind::delay && (hint.delay.count() % 1'000'000'000 == 0 || hint.delay == nanoseconds::max()));
    HOLDS(http::parse_http_date(http::http_date(*date), now) == inside(*date));
  } else {
    HOLDS(hint.what == kind::invalid);
  }

  // What we write, we read: any moment, seen from any other.
  std::string const written = http::http_date(then);
  HOLDS(written.size() == 29);
  HOLDS(http::parse_http_date(written, now) == inside(then));
  seconds const ahead = inside(then) - inside(now);
  nanoseconds const wanted = ahead <= seconds{0}                                          ? nanoseconds::zero()
                             : ahead.count() > nanoseconds::max().count() / 1'000'000'000 ? nanoseconds::max()
                                                                                          : nanoseconds{ahead};
  auto const back = http::parse_retry_after(written, now);
  HOLDS(back.what == kind::delay && back.delay == wanted);
  return 0;
}
