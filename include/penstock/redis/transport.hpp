#pragma once
// The concept of a transport: whatever sends one command to Redis and brings the answer.
//
// The limiter knows no client library. It needs one thing of an error that few of them tell: could the command have
// been carried out? A command that may have run is never sent again, or it would count twice.

#include <penstock/redis/error.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::inline v0_1::redis {

using deadline = std::chrono::steady_clock::time_point;

/// Words for the server. `key` is the one that says which node of a cluster must be asked. The answer is an error or,
/// if answer_size is not 0, a text of so many bytes.
struct command {
  std::span<std::string_view const> words;
  std::string_view key;
  std::size_t answer_size = 0;
};

/// What Penstock's commands are answered with: an integer or a flat array of them, a text, nothing, or an error.
struct reply {
  enum class kind : std::uint8_t { nothing, integers, text, error };
  kind is = kind::nothing;
  std::vector<std::int64_t> integers;
  std::string text;  ///< of a text or an error

  bool says(std::string_view word) const noexcept { return is == kind::error && text.starts_with(word); }
};

/// Could the command have been carried out?
enum class sent : std::uint8_t {
  no,       ///< certainly not: it may be tried again
  unknown,  ///< perhaps: it must not
};

struct io_error {
  std::error_code code;
  sent was = sent::unknown;
};

/// A value or an io_error; true when it is the value.
template <class T>
class result {
 public:
  result(T value) : either_(std::in_place_index<0>, std::move(value)) {}
  result(io_error error) : either_(std::in_place_index<1>, error) {}

  explicit operator bool() const noexcept { return either_.index() == 0; }
  T& operator*() & noexcept { return *std::get_if<0>(&either_); }
  T const& operator*() const& noexcept { return *std::get_if<0>(&either_); }
  T* operator->() noexcept { return std::get_if<0>(&either_); }
  T const* operator->() const noexcept { return std::get_if<0>(&either_); }
  io_error const& error() const noexcept { return *std::get_if<1>(&either_); }

 private:
  std::variant<T, io_error> either_;
};

/// execute() returns at the deadline at the latest, and sends nothing after it. An error reply of the server is a
/// reply. It must not send a command twice. A reply of another size than the command's answer_size is none to this
/// command: whoever sent it is not to be trusted with the next one, so the connection must be closed (errc::bad_reply).
/// Concurrency: called from every thread that asks a limiter.
template <class T>
concept redis_transport = requires(T& transport, command const& c, deadline d) {
  { transport.execute(c, d) } -> std::same_as<result<reply>>;
};

}  // namespace penstock::inline v0_1::redis
