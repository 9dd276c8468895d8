#pragma once
// The tests' variant of the script: its clock is an argument, and its keys live an hour of real time. Everything else
// is the script as it is.

#include <penstock/redis.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace test {

inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
  auto const at = text.find(what);
  if (at == std::string::npos || text.find(what, at + 1) != std::string::npos)
    throw std::logic_error("the script has changed: " + std::string(what));
  return text.replace(at, what.size(), by);
}

inline std::string const& clocked_script() {
  static std::string const text =
      replaced(replaced(std::string(penstock::redis::script),
                        "local clock = call('TIME')\nlocal now = clock[1] * 1000000 + clock[2]\n",
                        "local now = tonumber(table.remove(ARGV))\n"),
               "(us + 1999 - (us + 999) % 1000) / 1000", "3600000");
  return text;
}

/// A transport that hands the script the time.
template <class Transport>
class standing_clock {
 public:
  explicit standing_clock(Transport& transport) : transport_(transport) {
    auto const digits = penstock::redis::sha1_hex(clocked_script());
    sha1_.assign(digits.data(), digits.size());
  }

  std::int64_t now = 0;  ///< microseconds

  penstock::redis::result<penstock::redis::reply> execute(penstock::redis::command const& c,
                                                          penstock::redis::deadline until) {
    std::vector<std::string_view> words(c.words.begin(), c.words.end());
    std::string const time = std::to_string(now);
    if (words[0] == "EVALSHA") words[1] = sha1_;
    if (words[0] == "EVAL") words[1] = clocked_script();
    if (words[0].starts_with("EVAL")) words.push_back(time);
    ++calls;
    return transport_.execute({words, c.key}, until);
  }
  int calls = 0;

 private:
  Transport& transport_;
  std::string sha1_;
};

}  // namespace test
