// parse_rate against a reader that splits the text into words first, and what it says of a text that it refuses.

#include <penstock/rate.hpp>

#include "input.hpp"

#include <cctype>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace {

using penstock::rate;

struct word {
  enum class kind { number, letters, slash, other } what;
  std::string_view text;
  bool after_space;
};

std::vector<word> words_of(std::string_view text) {
  std::vector<word> words;
  auto const is = [&](std::size_t i, auto range) { return i < text.size() && range(text[i]); };
  auto const digit = [](char c) { return c >= '0' && c <= '9'; };
  auto const letter = [](char c) { return c >= 'a' && c <= 'z'; };
  for (std::size_t i = 0; i < text.size();) {
    bool const after_space = i != 0 && text[i - 1] == ' ';
    std::size_t end = i;
    auto what = word::kind::other;
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    if (digit(text[i])) {
      what = word::kind::number;
      while (is(end, digit)) ++end;
    } else if (letter(text[i])) {
      what = word::kind::letters;
      while (is(end, letter)) ++end;
    } else {
      what = text[i] == '/' ? word::kind::slash : word::kind::other;
      ++end;
    }
    words.push_back({what, text.substr(i, end - i), after_space});
    i = end;
  }
  return words;
}

std::optional<std::uint64_t> number_of(std::string_view digits) {  // 1 or more, below 2^64
  while (digits.starts_with('0')) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > 20) return {};
  if (digits.size() == 20 && digits > "18446744073709551615") return {};
  return std::stoull(std::string(digits));
}

std::optional<std::int64_t> milliseconds_in(std::string_view unit) {
  if (unit == "ms") return 1;
  for (auto const name : {"s", "sec", "second", "seconds"})
    if (unit == name) return 1'000;
  for (auto const name : {"m", "min", "minute", "minutes"})
    if (unit == name) return 60'000;
  for (auto const name : {"h", "hour", "hours"})
    if (unit == name) return 3'600'000;
  for (auto const name : {"d", "day", "days"})
    if (unit == name) return 86'400'000;
  return {};
}

std::optional<rate> expected(std::string_view text) {
  auto const words = words_of(text);
  using kind = word::kind;
  if (words.size() < 3 || words.size() > 4 || words[0].what != kind::number) return {};
  bool const per = words[1].text == "per" && words[1].after_space && words[2].after_space;
  if (words[1].what != kind::slash && !per) return {};
  if (words.size() == 4 && words[2].what != kind::number) return {};
  auto const count = number_of(words[0].text);
  auto const periods = words.size() == 4 ? number_of(words[2].text) : std::optional<std::uint64_t>(1);
  auto const unit = milliseconds_in(words.back().text);
  constexpr std::uint64_t hundred_years = 36'525ull * 86'400'000;
  if (!count || !periods || !unit || *periods > hundred_years / static_cast<std::uint64_t>(*unit)) return {};
  return rate{*count, std::chrono::milliseconds{static_cast<std::int64_t>(*periods) * *unit}};
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  auto const wanted = expected(text);
  try {
    rate const read = penstock::parse_rate(text);
    HOLDS(wanted && read == *wanted);
    std::string const again = std::to_string(read.count) + " per " + std::to_string(read.period.count() / 1'000'000);
    HOLDS(penstock::parse_rate(again + "ms") == read);
  } catch (penstock::config_error const& e) {
    HOLDS(!wanted);
    std::string_view const sentence(e.what());
    for (char const c : sentence) HOLDS(c >= ' ' && c <= '~');
    auto const number = sentence.rfind(" at position ");
    HOLDS(number != sentence.npos && std::stoull(std::string(sentence.substr(number + 13))) <= size);
  }
  return 0;
}
