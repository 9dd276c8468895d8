#pragma once
// A quota policy: what a client may be told of a limit (draft-ietf-httpapi-ratelimit-headers-10, section 2).

#include <penstock/algorithm/sliding_counter.hpp>
#include <penstock/config_error.hpp>
#include <penstock/http/structured.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::inline v0_1::http {

/// A text that a structured field can carry: of the characters 0x20 to 0x7E, and perhaps empty. It reads as a string;
/// making one of any other text throws config_error, so that a field never has to refuse a name.
class policy_name {
 public:
  policy_name() = default;
  policy_name(std::string name) : text_(std::move(name)) {
    if (!is_structured_string(text_))
      penstock::detail::refuse({"policy", "name"}, "a text with a character that a header field cannot carry",
                               "the characters 0x20 to 0x7E");
  }
  policy_name(std::string_view name) : policy_name(std::string(name)) {}
  policy_name(char const* name) : policy_name(std::string(name)) {}

  operator std::string const&() const noexcept { return text_; }
  operator std::string_view() const noexcept { return text_; }
  std::string const& str() const noexcept { return text_; }

  friend bool operator==(policy_name const&, policy_name const&) = default;
  template <std::convertible_to<std::string_view> Text>
    requires(!std::same_as<Text, policy_name>)
  friend bool operator==(policy_name const& name, Text const& text) noexcept {
    return name.text_ == std::string_view(text);
  }
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, policy_name const& name) {
    return out << name.text_;
  }

 private:
  std::string text_;
};

/// \code http::policy const daily{.name = "daily", .quota = 1000, .window = 24h}; \endcode
struct policy {
  policy_name name{};                 ///< throws config_error when a structured field cannot carry it
  std::uint64_t quota{};              ///< units in a window; written as at most 999999999999999
  std::chrono::nanoseconds window{};  ///< zero: none, as for a limit on concurrency
  std::string unit = "requests";      ///< or "content-bytes", "concurrent-requests"
  std::string partition_key{};        ///< any bytes; empty: not told. Clients see it: put no secret here.
};

namespace detail {

/// An algorithm of one limit: all but all_of, which has rules.
template <class A>
concept one_sized = requires(A const& algorithm) {
  { algorithm.size() } -> std::convertible_to<std::uint64_t>;
  { algorithm.full_use() } -> std::convertible_to<std::chrono::nanoseconds>;
};

/// The window: what full use takes to recover, which for the bucket family is size / rate. A sliding counter takes two,
/// because the window before counts too.
/// A bucket's interval is rounded up to a multiple of 1/M ns, and by 0.2 % at most: a whole second that its window
/// exceeds by no more than that is what was meant. 17 a second is 17 in one second, not in two.
template <one_sized A>
constexpr std::chrono::nanoseconds window_of(A const& algorithm) noexcept {
  std::chrono::nanoseconds const window = algorithm.full_use() / (std::same_as<A, algorithm::sliding_counter> ? 2 : 1);
  if constexpr (requires { algorithm.true_rate(); }) {
    auto const whole = std::chrono::floor<std::chrono::seconds>(window);
    auto const rounded = static_cast<std::uint64_t>((window - whole).count());
    if (rounded <= algorithm.size() / algorithm.true_rate().count + 1 && window - whole <= window / 500) return whole;
  }
  return window;
}

template <one_sized A>
policy policy_for(policy_name name, A const& algorithm) {
  return {.name = std::move(name), .quota = algorithm.size(), .window = window_of(algorithm)};
}

}  // namespace detail

/// A limiter's own policy: its size as the quota; its window, or for the bucket family size / rate. As it is now: a new
/// configuration needs a new policy. Throws config_error when a structured field cannot carry the name.
template <class Limiter>
  requires requires(Limiter const& l) {
    { l.algorithm() } -> detail::one_sized;
  }
policy policy_of(policy_name name, Limiter const& limiter) {
  return detail::policy_for(std::move(name), limiter.algorithm());
}
/// The same of one rule of an all_of, by its number. decision::rule says whose turn it is to be told of.
template <std::size_t Rule, class Limiter>
policy policy_of(policy_name name, Limiter const& limiter) {
  return detail::policy_for(std::move(name), limiter.algorithm().template rule<Rule>());
}

/// The policies of the layers of a stack, each under its layer's name and in their order: for rate_limit_fields and
/// refusal. Not of layers on trial, and not of those that have no single size (guards, an all_of): push back what is to
/// be told of them. To keep a layer to yourself, take its policy out. Throws config_error as policy_of does.
template <class Stack>
  requires requires(Stack const& s) { s.for_each_layer([](auto const&) {}); }
std::vector<policy> policies_of(Stack const& stack) {
  std::vector<policy> policies;
  stack.for_each_layer([&](auto const& layer) {
    if constexpr (requires { policy_of(policy_name(layer.name()), layer.limiter()); })
      if (!layer.is_shadow()) policies.push_back(policy_of(policy_name(layer.name()), layer.limiter()));
  });
  return policies;
}

}  // namespace penstock::inline v0_1::http
