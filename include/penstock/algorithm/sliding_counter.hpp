#pragma once
// Sliding counter: two counts approximate a sliding window. With e the time into the current window, of the previous
// window's count the share (W - e)/W is taken to lie inside the last W; a call is admitted while that estimate, before
// counting it, is below the limit (Cloudflare, "How we built rate limiting", 2017).
//
// The guess is an even spread, and it can be wrong both ways. Requests bunched at the end of the previous window are
// underestimated: up to 2L units can lie in some interval of length W. Bunched at its start they are overestimated: up
// to all L units that a sliding log would admit are refused. Never more than L in one aligned window.

#include <penstock/algorithm.hpp>
#include <penstock/rate.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace penstock::inline v0_1::algorithm {

class sliding_counter {
 public:
  static constexpr std::string_view name = "sliding_counter";
  struct config {
    rate limit;
  };
  /// The current window's end (windows are aligned to the clock's epoch) and the counts of the one before and of it.
  struct state {
    std::int64_t end{};
    std::uint32_t previous{}, current{};
    friend constexpr bool operator==(state const&, state const&) = default;
  };
  static constexpr std::uint64_t most = (std::uint64_t{1} << 31) - 1;  // so that a debt of twice as much fits 32 bits

  /// Throws config_error: a count of zero or above 2^31 - 1, a period that is not positive or over 100 years.
  constexpr explicit sliding_counter(config const& c, instant = {})
      : limit_(c.limit.count), window_(c.limit.period.count()) {
    detail::check_rate({"sliding_counter", "limit"}, c.limit, most);
  }

  constexpr bool admits(state const& s, instant now, cost c) const noexcept {
    return c.units == 0 || fits(seen_at(s, now), count_of(now), c.units);
  }

  constexpr void charge(state& s, instant now, cost c) const noexcept {
    if (c.units == 0) return;
    s = seen_at(s, now);
    s.current +=
        static_cast<std::uint32_t>(std::min(c.units, 2 * limit_ - std::min<std::uint64_t>(2 * limit_, s.current)));
  }

  /// Charges of the current window and of the one before can be undone. An instant tells which while windows are of one
  /// length; a receipt also knows the window's end, in case they are not.
  constexpr void refund(state& s, instant charged_at, cost c) const noexcept {
    std::int64_t const t = count_of(charged_at), start = s.end - window_;
    if (t >= s.end || detail::ahead_by(start, t) > width()) return;
    take_from(s, t >= start ? s.current : s.previous, c);
  }
  struct receipt {
    instant at{};
    std::int64_t end = std::numeric_limits<std::int64_t>::min();  ///< of its window
  };
  constexpr void refund(state& s, receipt const& charged, cost c) const noexcept {
    std::int64_t const t = count_of(charged.at), start = s.end - window_;
    if (t >= start ? charged.end == s.end : charged.end == start) refund(s, charged.at, c);
  }

  constexpr decision describe(state const& s, instant now, cost c) const noexcept {
    return describe(s, now, c, admits(s, now, c));
  }
  [[gnu::always_inline]] constexpr decision describe(state const& s, instant now, cost c,
                                                     bool admitted) const noexcept {
    std::int64_t const t = count_of(now);
    state after = seen_at(s, now);
    decision d;
    d.outcome = admitted ? verdict::admitted : c.units > limit_ ? verdict::never : verdict::limited;
    d.retry_after = d.outcome == verdict::never ? duration::max() : admitted ? duration{} : wait(after, t, c.units);
    if (admitted) after.current += static_cast<std::uint32_t>(c.units);
    std::uint64_t const estimate =
        after.current + detail::divide(detail::multiply(after.previous, left(after, t)), width());
    d.limit = limit_;
    d.remaining = limit_ - std::min(limit_, estimate);
    // Not by way of fresh_at: the end of the window after a long one may be no instant.
    if (!empty(after))
      d.reset_after = detail::nanoseconds_of(detail::ahead_by(after.end, t) + (after.current == 0 ? 0 : width()));
    d.next_after = d.remaining == limit_ ? duration{} : wait(after, t, d.remaining + 1);
    return d;
  }

  constexpr instant fresh_at(state const& s) const noexcept {
    if (s.current == 0) return s.previous == 0 ? earliest : instant{duration{s.end}};
    return instant{
        duration{s.end + std::min<std::int64_t>(window_, duration::max().count() - std::max<std::int64_t>(s.end, 0))}};
  }

  /// The later window, the larger counts: at least as strict as both from the later window's start on.
  constexpr state join(state const& a, state const& b) const noexcept {
    if (empty(a)) return b;
    if (empty(b)) return a;
    std::int64_t const end = std::max(a.end, b.end);
    state const x = moved_to(a, end), y = moved_to(b, end);
    return {end, std::max(x.previous, y.previous), std::max(x.current, y.current)};
  }

  [[gnu::always_inline]] constexpr bool reanchor(state& s, instant now) const noexcept {
    if (!lost(s, count_of(now))) return false;
    s = seen_at(s, now);
    return true;
  }

  /// How a charge at this reading is kept: one that lags counts in the stored window.
  constexpr receipt charged_at(state const& s, instant now, cost) const noexcept {
    std::int64_t const kept_until = seen_at(s, now).end;
    return {std::max(now, instant{duration{kept_until - window_}}), kept_until};
  }

  /// Ends a window that another plan left when this one's would. (Its counts stay: a key that goes up and down between
  /// plans must not lose them.) Says whether that changed it.
  constexpr bool adopt(state& s, instant now) const noexcept {
    if (empty(s)) return false;
    std::int64_t const t = count_of(now);
    bool const ours = s.end % window_ == 0 && t >= s.end - window_;  // else its window began or ends elsewhere
    state const capped = ours ? s : t < s.end ? state{end_of(t), s.previous, s.current} : moved_to(s, end_of(t));
    return std::exchange(s, capped) != capped;
  }

  /// The same algorithm with another configuration, for states that this one wrote.
  constexpr sliding_counter successor(config const& c) const { return sliding_counter(c); }
  /// How long a key that has used all takes to be fresh again.
  constexpr duration full_use() const noexcept { return duration{2 * window_}; }
  constexpr std::uint64_t size() const noexcept { return limit_; }
  static constexpr bool tied_to_epoch() noexcept { return true; }
  constexpr state relative(state const& s, instant) const noexcept { return little_endian(s); }
  /// A snapshot may say anything: no window ends before time or a window after it.
  constexpr state absolute(state const& s, instant) const noexcept {
    state moved = little_endian(s);
    moved.end = std::clamp(moved.end, count_of(earliest), count_of(latest) + window_);
    return moved;
  }

  friend constexpr bool operator==(sliding_counter const&, sliding_counter const&) = default;

 private:
  /// Snapshots are written by whole words. In the one that the counts share, `previous` is the low half everywhere.
  static constexpr state little_endian(state const& s) noexcept {
    return std::endian::native == std::endian::big ? state{s.end, s.current, s.previous} : s;
  }

  static constexpr std::int64_t count_of(instant t) noexcept {
    return std::clamp(t, earliest, latest).time_since_epoch().count();
  }
  static constexpr void take_from(state& s, std::uint32_t& count, cost c) noexcept {
    count -= static_cast<std::uint32_t>(std::min<std::uint64_t>(count, c.units));
    if (empty(s)) s = {};
  }
  static constexpr bool empty(state const& s) noexcept { return s.previous == 0 && s.current == 0; }
  constexpr std::uint64_t width() const noexcept { return static_cast<std::uint64_t>(window_); }
  constexpr std::int64_t end_of(std::int64_t t) const noexcept {
    return (detail::floor_divide(t, window_) + 1) * window_;
  }

  constexpr bool lost(state const& s, std::int64_t t) const noexcept {
    return !empty(s) && detail::ahead_by(s.end, t) >
                            width() + static_cast<std::uint64_t>(detail::tolerance(duration{window_}).count());
  }

  /// s as the window that ends at `end` sees it; not before s's own. (Less than a window apart are only states that a
  /// plan with another window left.)
  constexpr state moved_to(state const& s, std::int64_t end) const noexcept {
    if (end == s.end) return s;
    return {end, detail::ahead_by(end, s.end) <= width() ? s.current : 0, 0};
  }

  /// s as a call at `now` finds it. A reading before the stored window sees that window's start.
  constexpr state seen_at(state const& s, instant now) const noexcept {
    std::int64_t const t = count_of(now);
    if (empty(s)) return {end_of(t), 0, 0};
    if (lost(s, t)) return {end_of(t), 0, static_cast<std::uint32_t>(limit_)};
    return t < s.end ? s : moved_to(s, end_of(t));
  }

  /// W - e: how much of the window before still counts.
  constexpr std::uint64_t left(state const& s, std::int64_t t) const noexcept {
    return static_cast<std::uint64_t>(std::min(s.end - t, window_));
  }

  /// previous * (W - e) + (current + c - 1) * W < L * W, with the subtraction done first
  constexpr bool fits(state const& s, std::int64_t t, std::uint64_t c) const noexcept {
    if (c > limit_ || s.current + c > limit_) return false;
    return detail::multiply(s.previous, left(s, t)) < detail::multiply(limit_ - (s.current + c - 1), width());
  }

  /// From t until c units fit, c <= L. The estimate only falls, so look in this window, then in the next.
  constexpr duration wait(state const& s, std::int64_t t, std::uint64_t c) const noexcept {
    std::uint64_t const to_end = detail::ahead_by(s.end, t);
    if (s.current + c <= limit_) {
      std::uint64_t const most_left = most_that_fits(s.previous, limit_ - (s.current + c - 1));
      if (most_left > 0) return detail::nanoseconds_of(to_end - most_left);
    }
    return detail::nanoseconds_of(to_end + (width() - most_that_fits(s.current, limit_ - (c - 1))));
  }

  /// The largest W - e, at most W, with count * (W - e) < room * W.
  constexpr std::uint64_t most_that_fits(std::uint64_t count, std::uint64_t room) const noexcept {
    return count < room ? width() : detail::ceil_divide(detail::multiply(room, width()), count) - 1;
  }

  std::uint64_t limit_;
  std::int64_t window_;
};

}  // namespace penstock::inline v0_1::algorithm
