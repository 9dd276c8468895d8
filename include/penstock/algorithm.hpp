#pragma once
// The concept of an algorithm: a pure function on a small state.
//
// Two laws that every store leans on. A value-initialised state is the state of a key never seen, at any reading.
// From fresh_at(s) on, s decides as a value-initialised one. So a store may drop a recovered key, and a limiter needs
// no list of keys to start with.

#include <penstock/cost.hpp>
#include <penstock/decision.hpp>
#include <penstock/time.hpp>

#include <concepts>
#include <utility>

namespace penstock::inline v0_1 {

/// An algorithm is built from its config and an origin (a reading of the clock; instants are kept relative to it when
/// they must be), and never changes. Concurrency: all members are const and safe to call from many threads.
///
///   admits(s, now, c)           the verdict, nothing else
///   charge(s, now, c)           counts c units, whether or not they fit; a debt is at most one allowance
///   refund(s, charged_at, c)    undoes a charge made at that instant; never above fresh
///   describe(s, now, c)         what a call answers that finds s: everything a decision says
///   fresh_at(s)                 from here on s equals a value-initialised state
///   join(s, t)                  the least state at least as strict as both
template <class A>
concept limiting_algorithm =
    std::default_initializable<typename A::state> && std::copyable<typename A::state> &&
    std::constructible_from<A, typename A::config const&, instant> &&
    requires(A const& algorithm, typename A::state& state, typename A::state const& seen, instant now, cost units) {
      { algorithm.admits(seen, now, units) } -> std::same_as<bool>;
      { algorithm.charge(state, now, units) } -> std::same_as<void>;
      { algorithm.refund(state, now, units) } -> std::same_as<void>;
      { algorithm.describe(seen, now, units) } -> std::same_as<decision>;
      { algorithm.fresh_at(seen) } -> std::same_as<instant>;
      { algorithm.join(seen, seen) } -> std::same_as<typename A::state>;
    };

namespace detail {

/// Does s decide as a fresh state at this reading? An algorithm may know without computing the instant.
template <limiting_algorithm A>
constexpr bool is_fresh(A const& algorithm, typename A::state const& s, instant now) noexcept {
  if constexpr (requires { algorithm.is_fresh(s, now); })
    return algorithm.is_fresh(s, now);
  else
    return algorithm.fresh_at(s) <= now;
}

/// Charges if it fits. An algorithm may do both at once.
template <limiting_algorithm A>
[[gnu::always_inline]] constexpr bool admit(A const& algorithm, typename A::state& s, instant now, cost c) {
  if constexpr (requires {
                  { algorithm.admit(s, now, c) } -> std::same_as<bool>;
                }) {
    return algorithm.admit(s, now, c);
  } else {
    if (!algorithm.admits(s, now, c)) return false;
    algorithm.charge(s, now, c);
    return true;
  }
}

/// describe, for a caller who knows the verdict. An algorithm may spare itself finding it again.
template <limiting_algorithm A>
[[gnu::always_inline]] constexpr decision describe(A const& algorithm, typename A::state const& s, instant now, cost c,
                                                   [[maybe_unused]] bool admitted) {
  if constexpr (requires { algorithm.describe(s, now, c, admitted); })
    return algorithm.describe(s, now, c, admitted);
  else
    return algorithm.describe(s, now, c);
}

/// Law 6. When the reading lies so far behind the state that the clock must have been set back, makes s fully used at
/// this reading and returns true: the one change that a refusal may make. Algorithms whose states carry no time that
/// could run away need not have it.
template <limiting_algorithm A>
[[gnu::always_inline]] constexpr bool reanchor(A const& algorithm, typename A::state& s, instant now) {
  if constexpr (requires { algorithm.reanchor(s, now); })
    return algorithm.reanchor(s, now);
  else
    return false;
}

/// May a store forget s? It is fresh, or the clock has been set back so far that its time means nothing any more.
template <limiting_algorithm A>
constexpr bool is_forgettable(A const& algorithm, typename A::state const& s, instant now) {
  if constexpr (requires { algorithm.is_forgettable(s, now); }) {
    return algorithm.is_forgettable(s, now);
  } else {
    if (is_fresh(algorithm, s, now)) return true;
    auto probe = s;
    return reanchor(algorithm, probe, now);
  }
}

/// Makes a state whose key is forgotten what it counts as at this reading, and says whether that changed it. (An
/// algorithm may judge this otherwise than a call does.)
template <limiting_algorithm A>
constexpr bool anchor(A const& algorithm, typename A::state& s, instant now) {
  if constexpr (requires { algorithm.anchor(s, now); })
    return algorithm.anchor(s, now);
  else
    return reanchor(algorithm, s, now);
}

/// What newcomers start from once a store has dropped a state. Two that are fresh may still bind a reading that lags;
/// one that binds now is not mixed with one that does not. A state that was left by a clock which has been set back
/// binds as one that is fully used: its key may come back, and what one plan takes for lost may be of another. It does
/// not renew a floor that binds already, so that newcomers are not kept out by one lost key after the other.
template <limiting_algorithm A>
constexpr typename A::state floor_after(A const& algorithm, typename A::state floor, typename A::state dropped,
                                        instant now) {
  if constexpr (requires { algorithm.floor_after(floor, dropped, now); }) {
    return algorithm.floor_after(std::move(floor), std::move(dropped), now);
  } else {
    bool const floor_binds = !is_fresh(algorithm, floor, now), dropped_binds = !is_fresh(algorithm, dropped, now);
    bool const lost = dropped_binds && anchor(algorithm, dropped, now);
    if (floor_binds) anchor(algorithm, floor, now);
    if (floor_binds && (lost || !dropped_binds)) return floor;
    if (dropped_binds && !floor_binds) return dropped;
    return algorithm.join(floor, dropped);
  }
}

/// Makes a state that a newcomer began from another key's its own: a window that starts with its key's first request
/// is that key's alone.
template <limiting_algorithm A>
constexpr void make_own(A const& algorithm, typename A::state& s, instant now) {
  if constexpr (requires { algorithm.make_own(s, now); }) algorithm.make_own(s, now);
}

/// What undoes a charge exactly: its instant, or what else the algorithm needs to know the charge again.
template <class A>
struct receipt_type {
  using type = instant;
};
template <class A>
  requires requires { typename A::receipt; }
struct receipt_type<A> {
  using type = typename A::receipt;
};
template <class A>
using receipt_of = typename receipt_type<A>::type;

/// Of c units that are charged to s at this reading.
template <limiting_algorithm A>
constexpr receipt_of<A> receipt(A const& algorithm, typename A::state const& s, instant now, [[maybe_unused]] cost c) {
  if constexpr (requires { algorithm.charged_at(s, now, c); })
    return algorithm.charged_at(s, now, c);
  else
    return now;
}

/// Algorithms whose states must be capped when another configuration takes over.
template <class A>
concept adopting = requires(A const& a, typename A::state& s, instant now) {
  { a.adopt(s, now) } -> std::same_as<bool>;
};

/// Algorithms that can promise what is not there yet.
template <class A>
concept reserving = requires(A const& a, typename A::state& s, instant now, duration max_delay, cost c) {
  { a.admits_within(s, now, max_delay, c) } -> std::same_as<bool>;
  { a.describe_within(s, now, max_delay, c) } -> std::same_as<decision>;
  a.reserve(s, now, c);
};

/// Do its states mean something only to a clock of the same epoch?
template <class A>
constexpr bool tied_to_epoch(A const& algorithm) noexcept {
  if constexpr (requires { algorithm.tied_to_epoch(); })
    return algorithm.tied_to_epoch();
  else
    return false;
}

/// How far readings may lag behind the newest before they mean that the clock was set back: Λ of law 6.
constexpr duration tolerance(duration full_use) noexcept {
  constexpr duration least = std::chrono::seconds{60};
  return full_use > least ? full_use : least;
}

}  // namespace detail
}  // namespace penstock::inline v0_1
