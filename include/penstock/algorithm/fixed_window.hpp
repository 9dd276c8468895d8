#pragma once
// Fixed window: at most `limit.count` units in each window of `limit.period`; windows are half-open, [start, end).
//
// The cheapest to explain and the coarsest: two full windows may meet, so up to 2L units can pass around a boundary
// (never more than L inside one). Windows are aligned to the clock's epoch, as a calendar is, or start at the key's
// first request.

#include <penstock/algorithm.hpp>
#include <penstock/rate.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace penstock::inline v0_1 {

enum class window_start : std::uint8_t {
  aligned,        ///< at multiples of the period since the clock's epoch
  first_request,  ///< at the first request after the last window ended
};

namespace algorithm {

class fixed_window {
 public:
  static constexpr std::string_view name = "fixed_window";
  struct config {
    rate limit;
    window_start starts = window_start::aligned;
  };
  /// The current window's end and what it has admitted. A count of zero carries no time.
  struct state {
    std::int64_t end{};
    std::uint64_t count{};
    friend constexpr bool operator==(state const&, state const&) = default;
  };
  static constexpr std::uint64_t most = std::uint64_t{1} << 62;  // a debt doubles it

  /// Throws config_error: a count of zero or above 2^62, a period that is not positive or over 100 years.
  constexpr explicit fixed_window(config const& c, instant = {})
      : limit_(c.limit.count), window_(c.limit.period.count()), starts_(c.starts) {
    detail::check_rate({"fixed_window", "limit"}, c.limit, most);
  }

  constexpr bool admits(state const& s, instant now, cost c) const noexcept {
    return c.units == 0 || (c.units <= limit_ && used(s, now) <= limit_ - c.units);
  }

  constexpr void charge(state& s, instant now, cost c) const noexcept {
    if (c.units == 0) return;
    std::uint64_t const count = used(s, now);
    s = {end(s, now), count + std::min(c.units, 2 * limit_ - std::min(2 * limit_, count))};
  }

  /// A window refunds only what was charged inside it. An instant tells whether it was while windows are of one length;
  /// a receipt also knows the window's end, in case they are not.
  constexpr void refund(state& s, instant charged_at, cost c) const noexcept {
    std::int64_t const t = count_of(charged_at);
    if (t < s.end && t >= s.end - window_) take_from(s, c);
  }
  struct receipt {
    instant at{};
    std::int64_t end = std::numeric_limits<std::int64_t>::min();  ///< of its window
  };
  constexpr void refund(state& s, receipt const& charged, cost c) const noexcept {
    // A newcomer that began from another's window has got its own since (make_own).
    bool const ours =
        s.end == charged.end || (starts_ == window_start::first_request && s.end == opened_end(charged.at));
    if (ours) refund(s, charged.at, c);
  }

  constexpr decision describe(state const& s, instant now, cost c) const noexcept {
    return describe(s, now, c, admits(s, now, c));
  }
  [[gnu::always_inline]] constexpr decision describe(state const& s, instant now, cost c,
                                                     bool admitted) const noexcept {
    std::uint64_t const before = used(s, now);
    std::uint64_t const after = admitted ? before + c.units : before;
    duration const until_end = after == 0 ? duration{} : duration{end(s, now) - count_of(now)};
    decision d;
    d.outcome = admitted ? verdict::admitted : c.units > limit_ ? verdict::never : verdict::limited;
    d.limit = limit_;
    d.remaining = limit_ - std::min(limit_, after);
    d.retry_after = d.outcome == verdict::never ? duration::max() : admitted ? duration{} : until_end;
    d.reset_after = d.next_after = until_end;
    return d;
  }

  constexpr instant fresh_at(state const& s) const noexcept {
    return s.count == 0 ? earliest : instant{duration{s.end}};
  }

  /// The later end and the larger count.
  constexpr state join(state const& a, state const& b) const noexcept {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    return {std::max(a.end, b.end), std::max(a.count, b.count)};
  }

  [[gnu::always_inline]] constexpr bool reanchor(state& s, instant now) const noexcept {
    if (!lost(s, now)) return false;
    s = {opened_end(now), limit_};
    return true;
  }

  constexpr void make_own(state& s, instant now) const noexcept {
    if (starts_ == window_start::first_request && !over(s, now)) s.end = std::max(s.end, opened_end(now));
  }

  /// How a charge at this reading is kept: one that lags counts in the stored window.
  constexpr receipt charged_at(state const& s, instant now, cost) const noexcept {
    std::int64_t const kept_until = end(s, now);
    return {std::max(now, instant{duration{kept_until - window_}}), kept_until};
  }

  /// Ends a window that another plan left when this one's would. (Its count stays: a key that goes up and down between
  /// plans must not lose it.) Says whether that changed it.
  constexpr bool adopt(state& s, instant now) const noexcept {
    if (over(s, now)) return false;
    state const capped{std::min(s.end, opened_end(now)), s.count};
    return std::exchange(s, capped) != capped;
  }

  /// The same algorithm with another configuration, for states that this one wrote.
  constexpr fixed_window successor(config const& c) const { return fixed_window(c); }
  /// How long a key that has used all takes to be fresh again.
  constexpr duration full_use() const noexcept { return duration{window_}; }
  constexpr std::uint64_t size() const noexcept { return limit_; }
  /// Are windows tied to the clock's epoch? Then states mean nothing to a clock with another one.
  constexpr bool tied_to_epoch() const noexcept { return starts_ == window_start::aligned; }
  constexpr state relative(state const& s, instant now) const noexcept {
    return moved(s, tied_to_epoch() ? 0 : -count_of(now));
  }
  constexpr state absolute(state const& s, instant now) const noexcept {
    return moved(s, tied_to_epoch() ? 0 : count_of(now));
  }

  friend constexpr bool operator==(fixed_window const&, fixed_window const&) = default;

 private:
  static constexpr void take_from(state& s, cost c) noexcept {
    s.count -= std::min(s.count, c.units);
    if (s.count == 0) s = {};
  }

  /// Saturates: a snapshot may say anything, and a clock may have been set from one end of time to the other.
  static constexpr state moved(state const& s, std::int64_t by) noexcept {
    using limits = std::numeric_limits<std::int64_t>;
    std::int64_t const end = by > 0 ? std::min(s.end, limits::max() - by) : std::max(s.end, limits::min() - by);
    return s.count == 0 ? state{} : state{end + by, s.count};
  }

  static constexpr std::int64_t count_of(instant t) noexcept {
    return std::clamp(t, earliest, latest).time_since_epoch().count();
  }

  constexpr bool over(state const& s, instant now) const noexcept { return s.count == 0 || count_of(now) >= s.end; }

  /// A reading before the stored window is one that lags, unless it lags further than clocks do.
  constexpr bool lost(state const& s, instant now) const noexcept {
    return s.count != 0 && detail::ahead_by(s.end, count_of(now)) > most_ahead();
  }

  /// A reading of the window, or one that lags by the tolerance, is at most this far before the window's end.
  constexpr std::uint64_t most_ahead() const noexcept {
    return static_cast<std::uint64_t>(window_) +
           static_cast<std::uint64_t>(detail::tolerance(duration{window_}).count());
  }

  constexpr std::uint64_t used(state const& s, instant now) const noexcept {
    return over(s, now) ? 0 : lost(s, now) ? limit_ : s.count;
  }
  constexpr std::int64_t end(state const& s, instant now) const noexcept {
    return over(s, now) || lost(s, now) ? opened_end(now) : s.end;
  }

  /// The end of a window that this reading opens.
  constexpr std::int64_t opened_end(instant now) const noexcept {
    std::int64_t const t = count_of(now);
    return starts_ == window_start::aligned ? (detail::floor_divide(t, window_) + 1) * window_ : t + window_;
  }

  std::uint64_t limit_;
  std::int64_t window_;
  window_start starts_;
};

}  // namespace algorithm
}  // namespace penstock::inline v0_1
