// What every model answers, and the few conventions that all of them share.
#pragma once

#include "exact.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>

namespace oracle {

inline constexpr int admitted = 0;
inline constexpr int limited = 1;
inline constexpr int never = 2;  // a cost above the allowance: no wait helps

// All times in nanoseconds, measured from the reading handed in and rounded up.
struct answer {
  int outcome = admitted;
  std::uint64_t limit = 0;
  std::uint64_t remaining = 0;   // whole units still admitted at this instant, after the call
  std::int64_t retry_after = 0;  // 0 when admitted, -1 for never
  std::int64_t reset_after = 0;  // from then on the key decides as one never seen
  std::int64_t next_after = 0;   // until `remaining` grows; 0 when all of the limit remains
  std::int64_t delay = 0;        // the queue's promise; 0 elsewhere

  friend constexpr bool operator==(answer const&, answer const&) = default;
};

// Readings beyond 2^62 ns (146 years) on either side of the epoch count as that.
constexpr std::int64_t clamped(std::int64_t reading) {
  return std::clamp(reading, -(std::int64_t{1} << 62), std::int64_t{1} << 62);
}

// How far behind its state a reading may lag before the clock must have been set back: the time for a full reset, but
// at least a minute. `second` is a second in the unit of `reset`, which the bucket keeps in fractions of a nanosecond.
constexpr wide patience(wide const& reset, wide const& second) { return std::max(reset, 60 * second); }
inline constexpr std::int64_t second_ns = 1'000'000'000;

// The verdict from its three causes: above the allowance, nothing asked, room or no room.
constexpr int verdict_of(std::uint64_t cost, std::uint64_t limit, bool has_room) {
  if (cost > limit) return never;
  return cost == 0 || has_room ? admitted : limited;
}

// Fills in an answer from what stands after the call: the units that remain, the wait until a given cost is admitted
// (asked for only when it is at most the limit), and the time to fresh.
template <class Wait>
constexpr answer describe(int outcome, std::uint64_t cost, std::uint64_t limit, wide const& remaining,
                          wide const& reset, Wait const& wait) {
  answer a{.outcome = outcome, .limit = limit, .remaining = to_count(remaining), .reset_after = to_nanoseconds(reset)};
  if (outcome == limited) a.retry_after = to_nanoseconds(wait(wide(cost)));
  if (outcome == never) a.retry_after = -1;
  if (a.remaining < limit) a.next_after = to_nanoseconds(wait(wide(a.remaining) + 1));
  return a;
}

// What a test can do with any of the models. `ask` decides and records what it admits; `look` says what `ask` would
// and records nothing; `charge` records unconditionally; `refund` undoes a charge made at that instant.
template <class M>
concept model = std::copyable<M> && requires(M m, M const c, std::int64_t now, std::uint64_t cost) {
  { m.ask(now, cost) } -> std::same_as<answer>;
  { c.look(now, cost) } -> std::same_as<answer>;
  { m.charge(now, cost) } -> std::same_as<void>;
  { m.refund(now, cost) } -> std::same_as<void>;
  { m.forget() } -> std::same_as<void>;
  { c.fresh() } -> std::same_as<bool>;  // holds no state: a key never seen
};

}  // namespace oracle
