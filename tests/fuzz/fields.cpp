// The RateLimit fields and refusals, of any names, keys and numbers: plain ASCII on one line, well-formed, and saying
// what they were given; or a name that is refused.

#include <penstock/http/rate_limit.hpp>
#include <penstock/http/refusal.hpp>

#include "input.hpp"
#include "support/structured_fields.hpp"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace {

namespace http = penstock::http;
using penstock::decision;
using penstock::verdict;
using std::chrono::nanoseconds;

constexpr std::uint64_t most_integer = 999'999'999'999'999;

bool plain(std::string_view text) {
  for (char const c : text)
    if (c < 0x20 || c > 0x7e) return false;
  return true;
}

/// What a field says of a text that no String carries.
std::string carried(std::string text) {
  for (char& c : text)
    if (c < 0x20 || c > 0x7e) c = '?';
  return text;
}

decision any_decision(fuzz::input& in) {
  decision d;
  d.outcome = static_cast<verdict>(in.below(3));
  d.limit = in.of_any_size();
  d.remaining = in.of_any_size();
  auto const time = [&] { return nanoseconds{static_cast<std::int64_t>(in.of_any_size() >> 1)}; };
  d.retry_after = d.outcome == verdict::admitted ? nanoseconds{}
                  : d.outcome == verdict::never  ? nanoseconds::max()
                                                 : time();
  d.reset_after = time();
  d.next_after = time();
  return d;
}

std::optional<http::policy> any_policy(fuzz::input& in) {
  http::policy p;
  p.quota = in.of_any_size();
  p.window = nanoseconds{static_cast<std::int64_t>(in.of_any_size() >> 1)};
  std::string const name(in.text());
  p.unit = std::string(in.text());
  p.partition_key = std::string(in.text());
  try {
    p.name = name;
    HOLDS(plain(name));
  } catch (penstock::config_error const& e) {
    HOLDS(!plain(name) && plain(e.what()));
    return {};
  }
  return p;
}

/// The layers of a stack, as far as the edge looks at them.
struct answers {
  struct layer {
    std::string_view name;
    penstock::decision decision;
    bool skipped, shadow;
  };
  std::vector<layer> all;
  std::string_view limited_by() const { return {}; }
  std::vector<layer> const& layers() const { return all; }
};

std::int64_t integer(structured_fields::item const& it, char const* key) {
  auto const* const value = it.find(key);
  HOLDS(value != nullptr && std::holds_alternative<std::int64_t>(*value));
  return std::get<std::int64_t>(*value);
}
std::int64_t seconds_up(nanoseconds t) { return t.count() / 1'000'000'000 + (t.count() % 1'000'000'000 != 0); }
std::int64_t clamped(std::uint64_t n) { return static_cast<std::int64_t>(std::min(n, most_integer)); }

void check_key(structured_fields::item const& it, http::policy const& p) {
  auto const* const key = it.find("pk");
  HOLDS((key == nullptr) == p.partition_key.empty());
  if (key != nullptr) HOLDS(std::get<structured_fields::bytes>(*key).data == p.partition_key);
}

void check_draft_10(std::vector<http::field> const& fields, http::policy const& p, decision const& d) {
  for (auto const& [name, value] : fields) {
    if (!name.starts_with("RateLimit")) continue;
    auto const items = structured_fields::parse_list(value);
    HOLDS(items.size() == 1 && std::get<std::string>(items[0].value) == p.name.str());
    check_key(items[0], p);
    if (name == "RateLimit-Policy") {
      HOLDS(integer(items[0], "q") == clamped(p.quota));
      if (p.window > nanoseconds{}) HOLDS(integer(items[0], "w") == seconds_up(p.window));
      auto const* const unit = items[0].find("qu");
      HOLDS((unit == nullptr) == (p.unit.empty() || p.unit == "requests"));
      if (unit != nullptr) HOLDS(std::get<std::string>(*unit) == carried(p.unit));
    } else {
      HOLDS(integer(items[0], "r") == clamped(d.remaining));
      bool const told = items[0].find("t") != nullptr;
      if (d.outcome == verdict::limited) {
        HOLDS(told && integer(items[0], "t") >= 1);
        HOLDS(integer(items[0], "t") <= static_cast<std::int64_t>(*http::retry_after(d)));
      } else {
        HOLDS(told == (d.next_after > nanoseconds{}));
        if (told) HOLDS(integer(items[0], "t") == seconds_up(d.next_after));
      }
    }
  }
}

void check(std::vector<http::field> const& fields) {
  for (auto const& [name, value] : fields) {
    HOLDS(!name.empty() && plain(name) && name.find_first_of(": ") == name.npos);
    HOLDS(plain(value) && !value.starts_with(' ') && !value.ends_with(' '));
  }
}

/// A JSON text of one line whose quotes close: what is escaped is passed over, and nothing is left open.
void check_body(std::string_view body) {
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    char const c = body[i];
    HOLDS(static_cast<unsigned char>(c) >= 0x20);
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == '{' || c == '['))
      ++depth;
    else if (!in_string && (c == '}' || c == ']'))
      --depth;
  }
  HOLDS(!in_string && depth == 0 && body.starts_with('{') && body.ends_with('}'));
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input in(data, size);
  auto const style = static_cast<http::dialect>(in.below(4));
  http::refusal_options options{.dialect = style};
  options.shedding = (in.byte() & 1) != 0;
  options.reset_unit = static_cast<http::reset_unit>(in.below(2));
  options.now = std::chrono::sys_time<nanoseconds>{nanoseconds{in.signed_number()}};
  decision const d = any_decision(in), other = any_decision(in);
  std::uint8_t const flags = in.byte();
  auto const p = any_policy(in), second = any_policy(in);
  if (!p || !second) return 0;

  auto const fields = http::rate_limit_fields(*p, d, style, options.reset_unit, options.now);
  check(fields);
  HOLDS(fields.size() == (style == http::dialect::draft_10 ? 2u : style == http::dialect::draft_07 ? 1u : 3u));
  if (style == http::dialect::draft_10) check_draft_10(fields, *p, d);

  auto const refused = http::refusal(*p, d, options);
  check(refused.fields);
  check_body(refused.body);
  HOLDS(refused.status == (options.shedding ? 503 : 429));
  bool waits = false;
  for (auto const& [name, value] : refused.fields)
    if (name == "Retry-After") {
      waits = true;
      HOLDS(std::stoull(value) >= 1 && std::stoull(value) <= 2'147'483'647);
    }
  HOLDS(waits == (d.outcome == verdict::limited));

  // With too little room there is nothing; with enough, the same.
  std::array<char, 300> room;
  std::size_t const given = in.number(2) % (room.size() + 1);
  auto const written = http::write_refusal(std::span(room).first(given), *p, d, options);
  HOLDS(static_cast<bool>(written) == (written.needed() <= given));
  if (written)
    HOLDS(written.copy().fields == refused.fields && written.body == refused.body);
  else
    HOLDS(written.fields.size() == 0 && written.body.empty());

  // Of two layers, which may have one name.
  answers const both{{{p->name.str(), d, (flags & 1) != 0, (flags & 2) != 0},
                      {second->name.str(), other, (flags & 4) != 0, (flags & 8) != 0}}};
  std::vector<http::policy> const policies{*p, *second};
  auto const of_stack = http::rate_limit_fields(std::span<http::policy const>(policies), both, style);
  check(of_stack);
  if (style == http::dialect::draft_10)
    for (auto const& [name, value] : of_stack)
      HOLDS(structured_fields::parse_list(value).size() == std::size_t{(flags & 3) == 0} + ((flags & 12) == 0));
  auto const stack_refusal = http::refusal(std::span<http::policy const>(policies), both, options);
  check(stack_refusal.fields);
  check_body(stack_refusal.body);
  return 0;
}
