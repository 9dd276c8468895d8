#pragma once
// What every constructor throws on a bad configuration.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#if !defined(__cpp_exceptions)
#include <atomic>
#include <cstdio>
#include <cstdlib>
#endif

namespace penstock::inline v0_1 {

/// A configuration that cannot be honoured. what() is a sentence that names the field, its value and the allowed range.
class config_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

#if !defined(__cpp_exceptions)
/// Without exceptions a bad configuration is told to this handler, and ends the process if the handler returns.
using config_error_handler = void (*)(char const* sentence);
inline std::atomic<config_error_handler> on_config_error{
    [](char const* sentence) { std::fprintf(stderr, "penstock: %s\n", sentence); }};
#endif

namespace detail {

[[noreturn]] inline void refuse(std::string const& sentence) {
#if defined(__cpp_exceptions)
  throw config_error(sentence);
#else
  if (auto* const tell = on_config_error.load()) tell(sentence.c_str());
  std::abort();
#endif
}

/// What a sentence is about: "token_bucket.burst". Joined only when there is something to say.
struct field {
  std::string_view owner, name;
};

/// "token_bucket.burst is 0; allowed: from 1 to 1152921504"
[[noreturn]] inline void refuse(field where, std::string_view value, std::string_view range) {
  std::string sentence(where.owner);
  refuse(sentence.append(".").append(where.name).append(" is ").append(value).append("; allowed: ").append(range));
}

[[noreturn]] inline void refuse_range(field where, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  refuse(where, std::to_string(value), "from " + std::to_string(least) + " to " + std::to_string(most));
}

/// Throws config_error unless least <= value <= most.
constexpr void check_range(field where, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value < least || value > most) refuse_range(where, value, least, most);
}

}  // namespace detail
}  // namespace penstock::inline v0_1
