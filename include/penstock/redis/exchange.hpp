#pragma once
// One call of the script: EVALSHA, and EVAL once where the server does not have it. Nothing else is ever sent twice,
// unless not all of it was sent, and nothing is sent after the deadline.

#include <penstock/redis/counters.hpp>
#include <penstock/redis/error.hpp>
#include <penstock/redis/script.hpp>
#include <penstock/redis/transport.hpp>
#include <penstock/redis/words.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::inline v0_1::redis::detail {

/// Sends; once more if the connection was refused, or lost before all of it was sent, and there is time.
template <redis_transport T>
result<reply> send(T& transport, command const& c, deadline until, atomic_counts& counted) {
  if (std::chrono::steady_clock::now() >= until) return io_error{errc::timeout, sent::no};
  atomic_counts::add(counted.round_trips);
  auto answer = transport.execute(c, until);
  if (answer || answer.error().was != sent::no || std::chrono::steady_clock::now() >= until) return answer;
  if (auto const why = answer.error().code; why == errc::refused || why == errc::closed)
    return transport.execute(c, until);
  return answer;
}

/// An error reply: the server says that it did nothing.
inline io_error error_of(reply const& r) { return {classify(r.text), sent::no}; }

/// A question to the script: keys, arguments, and how many numbers answer it.
struct script_call {
  std::vector<std::string> keys;
  words arguments;
  std::size_t numbers = 1;  ///< the time, and what each limit found
};

/// The script's answer, its numbers as integers: the first is 1 if it admitted and else 0, the second the server's
/// time.
template <redis_transport T>
result<reply> run_script(T& transport, script_call const& asked, deadline until, atomic_counts& counted) {
  std::string const key_count = std::to_string(asked.keys.size());
  std::vector<std::string_view> all{"EVALSHA", script_sha1, key_count};
  all.insert(all.end(), asked.keys.begin(), asked.keys.end());
  auto const views = asked.arguments.views();
  all.insert(all.end(), views.begin(), views.end());

  command const c{all, asked.keys.front(), asked.numbers * sizeof(double)};
  auto answer = send(transport, c, until, counted);
  if (answer && answer->says("NOSCRIPT")) {
    atomic_counts::add(counted.script_loads);
    all[0] = "EVAL";
    all[1] = script;
    answer = send(transport, c, until, counted);
  }
  if (!answer) return answer;
  if (answer->is == reply::kind::error) return error_of(*answer);
  auto numbers = answer->is == reply::kind::text ? numbers_in(answer->text) : std::nullopt;
  if (!numbers || numbers->size() != asked.numbers) return io_error{errc::bad_reply, sent::unknown};
  std::int64_t& time = numbers->front();  // below zero when refused
  std::int64_t const admitted = time > 0;
  time = time > 0 ? time : -time;
  numbers->insert(numbers->begin(), admitted);
  return reply{reply::kind::integers, std::move(*numbers), {}};
}

}  // namespace penstock::inline v0_1::redis::detail
