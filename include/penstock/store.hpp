#pragma once
// The concept of a store: where the states of the keys live, and who may change them when.
//
// A store never counts. It is handed a step, a function on one state, and sees to it that steps on one key happen one
// after another; it forgets keys that are fresh again; and when it must forget another, it keeps what binds.

#include <penstock/algorithm.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::inline v0_1 {

/// What a full store does with a newcomer while all its keys are live.
enum class when_full : std::uint8_t {
  inherit,  ///< drop the key with the most room left; newcomers start from the strictest state dropped near them
  refuse,   ///< refuse the newcomer
};

struct store_options {
  std::size_t max_keys = 65'536;
  when_full full = when_full::inherit;
};

struct store_stats {
  std::size_t keys = 0;                 ///< keys that are not fresh
  std::size_t capacity = 0;             ///< keys that could be held; at least max_keys
  std::uint64_t evictions = 0;          ///< live keys dropped (when_full::inherit)
  std::uint64_t newcomers_refused = 0;  ///< calls refused for want of room (when_full::refuse)
};

/// Why a full store did not run a step: there will be room from `at` on, and the key will start from `start`.
template <class State>
struct no_room {
  instant at;
  State start;
};

/// How a step went that a store tried without waiting.
enum class attempt : std::uint8_t {
  unchanged,  ///< the step wanted no change
  changed,    ///< it did, and the state is changed
  overtaken,  ///< another thread changed the state first
  elsewhere,  ///< it takes change()
};
template <class State>
struct attempted {
  attempt what = attempt::elsewhere;
  State seen{};  ///< what the step began with, where what is unchanged or changed
};

namespace detail {

/// A step that can stand for every one: may it change the state, and did it?
template <class A>
struct any_step {
  bool operator()(typename A::state&) const { return false; }
};
template <class A>
struct any_look {
  void operator()(typename A::state const&) const {}
};

}  // namespace detail

/// A store S of A's states. `place` is where a key lives, found once per call by locate() (a step of its own so that
/// the memory can be fetched while the clock is read).
///
///   change(a, place, now, step)  runs step(state&) -> bool on the key's state (a newcomer's is fresh, or inherited);
///                                keeps the state when step says true, else writes nothing. step may run repeatedly.
///                                Returns nothing, or why the step was not run.
///   attempt(place, step)         optional: change tried once, for a held key that nobody disturbs; says what it saw
///   insist(a, place, now, step)  the same as change, but always finds room
///   amend(a, place, step)        runs step on the key's state if the key is held; step may lower the state
///   forget(place)                optional: lets the key go; without it, amend makes its state a value-initialised one
///   look(a, place, now, see)     runs see(state const&) on what change would run its step on; returns likewise
///   stats(a, now)                walks all keys: for dashboards, not for the hot path
template <class S, class A>
concept state_store =
    limiting_algorithm<A> && requires(S& store, S const& seen, typename S::place place, A const& algorithm, instant now,
                                      detail::any_step<A> step, detail::any_look<A> see) {
      { store.change(algorithm, place, now, step) } -> std::same_as<std::optional<no_room<typename A::state>>>;
      { store.insist(algorithm, place, now, step) } -> std::same_as<void>;
      { store.amend(algorithm, place, step) } -> std::same_as<void>;
      { seen.look(algorithm, place, now, see) } -> std::same_as<std::optional<no_room<typename A::state>>>;
      { seen.stats(algorithm, now) } -> std::same_as<store_stats>;
    };

}  // namespace penstock::inline v0_1
