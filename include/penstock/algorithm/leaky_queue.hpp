#pragma once
// Leaky bucket as a queue: what is admitted leaves one interval apart, in the order of arrival; `delay` says when.
// A. Tanenbaum, Computer Networks, section 5.4 (traffic shaping).
//
// It admits exactly what a meter of the same size admits. The first unit at an empty queue leaves one interval after it
// came; a cost of c takes c places and leaves with its last unit; no delay exceeds capacity / drain. The library does
// not hold requests: the caller waits for `delay`, or hands it to a timer.
//
// Besides the arrival word, the state holds when its last promise was made. Only that promise can be given back: to
// free a place in the middle would let two requests leave at once.

#include <penstock/algorithm/arrival.hpp>

#include <string_view>

namespace penstock::inline v0_1::algorithm {

class leaky_queue : public arrival {
 public:
  static constexpr std::string_view name = "leaky_queue";
  struct config {
    rate drain;
    std::uint64_t capacity = drain.count;
  };
  struct state {
    std::uint64_t word{};
    std::uint64_t promised{};  ///< the reading of the last promise, in units
    friend constexpr bool operator==(state const&, state const&) = default;
  };

  /// Throws config_error for the same reasons as token_bucket.
  constexpr explicit leaky_queue(config const& c, instant origin = {})
      : leaky_queue(c, time_units{best_units(c.drain).per_nanosecond(), origin}) {}
  /// In given units, so that it can share states with others.
  constexpr leaky_queue(config const& c, time_units units)
      : arrival({"leaky_queue", "drain"}, c.drain, {"leaky_queue", "capacity"}, c.capacity, units) {}

  /// The same algorithm with another configuration, for states that this one wrote.
  constexpr leaky_queue successor(config const& c) const { return leaky_queue(c, units()); }

  /// The units that suit all these configurations best.
  template <class Configs>
  static constexpr time_units units_for(Configs const& configs, instant origin) noexcept {
    best_units best;
    for (config const& c : configs) best.consider(c.drain);
    return {best.per_nanosecond(), origin};
  }

  constexpr bool admits(state const& s, instant now, cost c) const noexcept { return fits(s.word, word_at(now), c); }
  constexpr void charge(state& s, instant now, cost c) const noexcept {
    word const n = word_at(now), next = charged(s.word, n, c);
    if (c.units != 0 && next != s.word) s = {next, n};
  }
  /// Of promises made at one instant, an instant cannot tell which is meant: it gives back the last. A receipt can.
  constexpr void refund(state& s, instant charged_at, cost c) const noexcept {
    word const n = word_at(charged_at);
    if (c.units != 0 && s.promised == n) give_back(s, n, c, interval());
  }
  struct receipt {
    instant at{};
    std::uint64_t interval = 1;  ///< of a unit
    std::uint64_t word = 0;      ///< what the promise made of the state
  };
  constexpr void refund(state& s, receipt const& promise, cost c) const noexcept {
    if (word const n = word_at(promise.at); c.units != 0 && s.promised == n && s.word == promise.word)
      give_back(s, n, c, promise.interval);
  }
  constexpr receipt charged_at(state const& s, instant now, cost c) const noexcept {
    return {now, interval(), charged(s.word, word_at(now), c)};
  }
  constexpr decision describe(state const& s, instant now, cost c) const noexcept {
    return describe(s, now, c, admits(s, now, c));
  }
  [[gnu::always_inline]] constexpr decision describe(state const& s, instant now, cost c,
                                                     bool admitted) const noexcept {
    word const n = word_at(now);
    decision d = described(s.word, n, c, admitted);
    if (d && c.units != 0) d.delay = ceil(charged(s.word, n, c) - n);
    return d;
  }
  constexpr instant fresh_at(state const& s) const noexcept { return reached(s.word); }
  constexpr bool is_fresh(state const& s, instant now) const noexcept { return s.word <= word_at(now); }
  /// The later arrival, and no promise: what two keys promised cannot be given back by either.
  constexpr state join(state const& a, state const& b) const noexcept { return {std::max(a.word, b.word), 0}; }
  [[gnu::always_inline]] constexpr bool reanchor(state& s, instant now) const noexcept {
    word const n = word_at(now);
    if (!lost(s.word, n)) return false;
    s = {spent(n), 0};
    return true;
  }

  /// Caps a state that another plan left at this one's full use. Says whether that changed it.
  constexpr bool adopt(state& s, instant now) const noexcept {
    word const most = spent(word_at(now));
    if (s.word <= most) return false;
    s.word = most;
    return true;
  }

  /// Admitted if it may leave within max_delay; the queue is never longer than its capacity.
  constexpr bool admits_within(state const& s, instant now, duration max_delay, cost c) const noexcept {
    return c.units == 0 || (admits(s, now, c) && describe(s, now, c).delay <= max_delay);
  }
  constexpr void reserve(state& s, instant now, cost c) const noexcept { charge(s, now, c); }
  constexpr decision describe_within(state const& s, instant now, duration max_delay, cost c) const noexcept {
    decision d = describe(s, now, c);
    if (c.units == 0 || (d && d.delay <= max_delay) || d.outcome == verdict::never) return d;
    duration const wait = d ? duration{} : d.retry_after;
    d = describe(s, now, cost{0});
    bool const ever = place(c) <= max_delay;
    d.outcome = ever ? verdict::limited : verdict::never;
    d.retry_after =
        ever ? std::max(wait, ceil(reserved(s.word, word_at(now), c) - word_at(now)) - max_delay) : duration::max();
    return d;
  }

  constexpr state relative(state const& s, instant now) const noexcept {
    return {arrival::relative(s.word, word_at(now)), 0};
  }
  constexpr state absolute(state const& s, instant now) const noexcept {
    return {arrival::absolute(s.word, word_at(now)), 0};
  }

 private:
  /// The promise before is not known, so it cannot be given back after this one.
  constexpr void give_back(state& s, word n, cost c, std::uint64_t interval) const noexcept {
    s = {refunded(s.word, n, c, interval), 0};
  }
};

}  // namespace penstock::inline v0_1::algorithm
