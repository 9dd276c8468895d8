#pragma once
// Refusals remembered: a key that Redis refused is refused here until its own retry_after, without asking again.
//
// Only refused costs and larger ones: a smaller one may fit. A refund elsewhere is seen late, at most 60 s; one made
// here at once, and a refusal that left Redis before it is not remembered after it, unless there was no room to note
// that.

#include <penstock/cost.hpp>
#include <penstock/decision.hpp>
#include <penstock/redis/bounded_map.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace penstock::inline v0_1::redis {

/// Concurrency: safe from any thread.
class deny_cache {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::nanoseconds longest = std::chrono::seconds{60};

  /// 0 remembers nothing.
  explicit deny_cache(std::size_t max_keys) : denied_(max_keys) {}

  /// The refusal of a cost as large as one refused before, its waits shortened by what has passed. `remaining` and the
  /// wait of a larger cost are those that Redis gave: it may say more when asked.
  std::optional<decision> find(fingerprint key, cost c, time_point now) {
    std::optional<decision> found;
    denied_.find(key, now, [&](denial const& d) {
      if (c.units < d.least) return;
      if (d.answer) return;  // not a refusal: units were given back
      found = d.answer;
      auto const passed = now - d.asked;
      for (auto* wait : {&found->retry_after, &found->reset_after, &found->next_after})
        *wait = std::max(*wait - passed, std::chrono::nanoseconds{1});
    });
    return found;
  }

  /// Redis refused this cost; the question left here at `asked`, so the server's reading is not before it.
  void refused(fingerprint key, cost c, decision const& answer, time_point asked) {
    if (answer.outcome != verdict::limited) return;
    denied_.put(key, asked, [&](denial& d) {
      if (d.until > asked && (d.least <= c.units || d.asked >= asked)) return;  // says it already, or of a later time
      d = {asked + std::min(answer.retry_after, longest), asked, c.units, answer};
    });
  }

  /// The key has got units back, and Redis has said so. Answers to questions that left earlier may still come, for as
  /// long as a call takes: they are not remembered.
  void given_back(fingerprint key, time_point now, std::chrono::nanoseconds longest_call) {
    denied_.put(key, now, [&](denial& d) { d = {now + 2 * longest_call, now}; });
  }

 private:
  struct denial {  ///< refuses nothing while it has no `least`
    time_point until{}, asked{};
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    decision answer{};
  };
  detail::bounded_map<denial> denied_;
};

}  // namespace penstock::inline v0_1::redis
