#pragma once
// Timelines: what is asked of a limit, when, and what it must answer. One timeline is held against everything that can
// be asked: the algorithm by itself, limiters that are told the time, one that reads a clock, and limiters with keys.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiter.hpp>
#include <penstock/store/unsynchronized.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace timeline {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

struct question {
  nanoseconds at;
  std::uint64_t units;
  penstock::verdict outcome;
  nanoseconds retry_after;
};

constexpr question admitted(nanoseconds at, std::uint64_t units = 1) {
  return {at, units, penstock::verdict::admitted, 0ns};
}
constexpr question limited(nanoseconds at, nanoseconds retry_after, std::uint64_t units = 1) {
  return {at, units, penstock::verdict::limited, retry_after};
}
constexpr question never(nanoseconds at, std::uint64_t units) {
  return {at, units, penstock::verdict::never, nanoseconds::max()};
}

/// A reading of a manual clock.
constexpr penstock::manual_clock::time_point on(nanoseconds t) { return penstock::manual_clock::time_point{t}; }

// ---- whoever can be asked -------------------------------------------------------------------------------------------

/// The algorithm and a state, as a store would use them.
template <penstock::limiting_algorithm A>
class bare {
 public:
  constexpr explicit bare(typename A::config const& c, nanoseconds origin = 0ns)
      : algorithm_(c, penstock::instant{origin}) {}

  constexpr penstock::decision peek(nanoseconds at, std::uint64_t units = 1) const {
    return algorithm_.describe(state_, penstock::instant{at}, penstock::cost{units});
  }
  constexpr penstock::decision allow(nanoseconds at, std::uint64_t units = 1) {
    penstock::decision const d = peek(at, units);
    if (algorithm_.admits(state_, penstock::instant{at}, penstock::cost{units})) charge(at, units);
    return d;
  }
  constexpr void charge(nanoseconds at, std::uint64_t units) {
    algorithm_.charge(state_, penstock::instant{at}, penstock::cost{units});
  }
  constexpr void refund(nanoseconds at, std::uint64_t units) {
    algorithm_.refund(state_, penstock::instant{at}, penstock::cost{units});
  }
  constexpr A const& algorithm() const { return algorithm_; }
  constexpr typename A::state const& state() const { return state_; }

 private:
  A algorithm_;
  typename A::state state_{};
};

template <class A>
class told_the_time {
 public:
  explicit told_the_time(typename A::config const& c) : limiter_(c) {}
  penstock::decision allow(nanoseconds at, std::uint64_t units) {
    return limiter_.allow_at(on(at), penstock::cost{units});
  }
  penstock::decision peek(nanoseconds at, std::uint64_t units) const {
    return limiter_.peek_at(on(at), penstock::cost{units});
  }

 private:
  penstock::limiter<A, penstock::no_key, penstock::manual_clock> limiter_;
};

template <class A>
class with_a_clock {
 public:
  explicit with_a_clock(typename A::config const& c) : limiter_(c, clock_) {}
  penstock::decision allow(nanoseconds at, std::uint64_t units) {
    clock_.set(at);
    return limiter_.allow(penstock::cost{units});
  }
  penstock::decision peek(nanoseconds at, std::uint64_t units) {
    clock_.set(at);
    return limiter_.peek(penstock::cost{units});
  }

 private:
  penstock::manual_clock clock_;
  penstock::limiter<A, penstock::no_key, penstock::manual_clock> limiter_;
};

template <class A, class Store>
class for_one_key {
 public:
  explicit for_one_key(typename A::config const& c) : limiter_(c, {.max_keys = 100}) {}
  penstock::decision allow(nanoseconds at, std::uint64_t units) {
    return limiter_.allow_at(on(at), "ann", penstock::cost{units});
  }
  penstock::decision peek(nanoseconds at, std::uint64_t units) const {
    return limiter_.peek_at(on(at), "ann", penstock::cost{units});
  }

 private:
  penstock::limiter<A, std::string, penstock::manual_clock, Store> limiter_;
};

// ---- the check ------------------------------------------------------------------------------------------------------

template <class Asked>
void hold_against(char const* who, Asked& asked, std::initializer_list<question> questions) {
  std::size_t number = 0;
  for (question const& q : questions) {
    INFO(who << ", question " << number << ": " << q.units << " at " << q.at.count() << " ns");
    penstock::decision const expected = asked.peek(q.at, q.units);
    penstock::decision const answer = asked.allow(q.at, q.units);
    CHECK(answer == expected);  // peek says what allow will do
    CHECK(answer.outcome == q.outcome);
    CHECK(answer.retry_after.count() == q.retry_after.count());
    if (answer.outcome == penstock::verdict::limited) {
      CHECK(asked.peek(q.at + answer.retry_after, q.units).outcome == penstock::verdict::admitted);
      CHECK(asked.peek(q.at + answer.retry_after - 1ns, q.units).outcome == penstock::verdict::limited);
    }
    ++number;
  }
}

template <class Asked, class Config>
void ask(char const* who, Config const& c, std::initializer_list<question> questions) {
  Asked asked(c);  // in place: a limiter does not move
  hold_against(who, asked, questions);
}

/// Every way to ask gives these answers, and each wait is exact.
template <penstock::limiting_algorithm A>
void holds(typename A::config const& c, std::initializer_list<question> questions) {
  ask<bare<A>>("the algorithm by itself", c, questions);
  ask<told_the_time<A>>("a limiter that is told the time", c, questions);
  ask<with_a_clock<A>>("a limiter with a clock", c, questions);
  ask<for_one_key<A, penstock::default_store>>("a limiter with keys", c, questions);
  ask<for_one_key<A, penstock::store::unsynchronized>>("an unsynchronized limiter with keys", c, questions);
}

}  // namespace timeline
