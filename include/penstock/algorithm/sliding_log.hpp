#pragma once
// Sliding log: remembers every admitted instant and admits while fewer than `limit.count` units lie in the last period.
//
// The exact sliding window: never more than L units in any half-open window (t - W, t]; an entry exactly W old has
// expired. The price is memory: 40 bytes a key and 16 to 32 an entry, of which there are up to L (units of one instant
// share one); it grows with use and is given back when idle. Where that is too much, sliding_counter approximates it in
// 16 bytes.

#include <penstock/algorithm.hpp>
#include <penstock/algorithm/instant_ring.hpp>
#include <penstock/rate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace penstock::inline v0_1::algorithm {

class sliding_log {
 public:
  static constexpr std::string_view name = "sliding_log";
  struct config {
    rate limit;
  };
  using state = detail::instant_ring;
  static constexpr std::uint64_t most = std::uint64_t{1} << 62;  // a debt doubles it

  /// Throws config_error: a count of zero or above 2^62, a period that is not positive or over 100 years.
  constexpr explicit sliding_log(config const& c, instant = {})
      : limit_(c.limit.count), window_(c.limit.period.count()) {
    detail::check_rate({"sliding_log", "limit"}, c.limit, most);
  }

  constexpr bool admits(state const& s, instant now, cost c) const noexcept {
    return c.units == 0 || (c.units <= limit_ && view(*this, s, now).used <= limit_ - c.units);
  }

  /// May throw std::bad_alloc, the state unchanged but for expired entries.
  constexpr void charge(state& s, instant now, cost c) const {
    if (c.units == 0) return;
    reanchor(s, now);
    view const v(*this, s, now);
    s.drop_front(v.first);
    if (std::uint64_t const units = std::min(c.units, 2 * limit_ - std::min(2 * limit_, v.used)); units != 0)
      s.add(v.now, units);
  }

  /// Removes units of that instant.
  constexpr void refund(state& s, instant charged_at, cost c) const noexcept {
    std::int64_t const t = count_of(charged_at);
    std::size_t const i = s.first_after(t - 1);
    if (i < s.size() && s.at(i) == t) s.take(i, c.units);
  }

  constexpr decision describe(state const& s, instant now, cost c) const noexcept {
    view const v(*this, s, now);
    bool const admitted = admits(s, now, c);
    std::uint64_t const added = admitted ? c.units : 0, used = v.used + added;
    // From the reading handed in until `units` of what will be there are gone.
    auto const wait = [&](std::uint64_t units) {
      return detail::nanoseconds_of(detail::ahead_by(v.expiry(s, units), count_of(now)));
    };
    decision d;
    d.outcome = admitted ? verdict::admitted : c.units > limit_ ? verdict::never : verdict::limited;
    d.limit = limit_;
    d.remaining = limit_ - std::min(limit_, used);
    d.retry_after = d.outcome == verdict::never ? duration::max()
                    : admitted                  ? duration{}
                                                : wait(used + c.units - limit_);
    d.reset_after = used == 0 ? duration{} : wait(used);
    d.next_after = d.remaining == limit_ ? duration{} : wait(used + d.remaining + 1 - limit_);
    return d;
  }

  constexpr instant fresh_at(state const& s) const noexcept {
    return s.empty() ? earliest : instant{duration{s.newest() + window_}};
  }

  /// The least log that has, in every window, as many units as either.
  constexpr state join(state const& a, state const& b) const {
    // Newest first, the k-th unit of the join is the later of the k-th units of both.
    state newest_first;
    for (cursor x(a), y(b); !x.done() || !y.done();) {
      std::uint64_t const units = x.done() ? y.left : y.done() ? x.left : std::min(x.left, y.left);
      std::int64_t const at = x.done() ? y.at() : y.done() ? x.at() : std::max(x.at(), y.at());
      newest_first.add(-at, units);
      x.pass(units);
      y.pass(units);
    }
    state joined;
    for (std::size_t i = newest_first.size(); i-- > 0;) joined.add(-newest_first.at(i), newest_first.units(i));
    return joined;
  }

  constexpr bool reanchor(state& s, instant now) const {
    if (!lost(s, now)) return false;
    state anchored;
    anchored.add(count_of(now), limit_);
    s = std::move(anchored);
    return true;
  }

  /// (Without a copy.)
  constexpr bool is_forgettable(state const& s, instant now) const noexcept {
    return fresh_at(s) <= now || lost(s, now);
  }

  /// The instant under which a charge at this reading is kept.
  constexpr instant charged_at(state const& s, instant now, cost) const noexcept {
    return instant{duration{view(*this, s, now).now}};
  }

  /// The same algorithm with another configuration, for states that this one wrote.
  constexpr sliding_log successor(config const& c) const { return sliding_log(c); }
  /// How long a key that has used all takes to be fresh again.
  constexpr duration full_use() const noexcept { return duration{window_}; }
  constexpr std::uint64_t size() const noexcept { return limit_; }

  friend constexpr bool operator==(sliding_log const&, sliding_log const&) = default;

 private:
  static constexpr std::int64_t count_of(instant t) noexcept {
    return std::clamp(t, earliest, latest).time_since_epoch().count();
  }

  constexpr bool lost(state const& s, instant now) const noexcept {
    return !s.empty() && detail::ahead_by(s.newest(), count_of(now)) >
                             static_cast<std::uint64_t>(detail::tolerance(duration{window_}).count());
  }

  /// The log as a call sees it. A reading that lags sees it as the newest entry did.
  struct view {
    constexpr view(sliding_log const& log, state const& s, instant reading) noexcept
        : now(count_of(reading)), window(log.window_) {
      if (log.lost(s, reading)) {
        first = s.size();
        used = log.limit_;
        return;
      }
      if (!s.empty()) now = std::max(now, s.newest());
      first = s.first_after(now - window);
      used = s.units_from(first);
    }
    /// When the oldest `units` units will be gone; units that s does not hold are those of this call.
    constexpr std::int64_t expiry(state const& s, std::uint64_t units) const noexcept {
      std::size_t const i = first == s.size() ? first : s.reaching(first, units);
      return (i < s.size() ? s.at(i) : now) + window;
    }
    std::int64_t now, window;
    std::size_t first = 0;   ///< the oldest entry that counts
    std::uint64_t used = 0;  ///< units that count
  };

  /// Walks the units of a log from the newest.
  struct cursor {
    constexpr explicit cursor(state const& s) noexcept
        : log(s), entry(s.size()), left(entry == 0 ? 0 : s.units(entry - 1)) {}
    constexpr bool done() const noexcept { return entry == 0; }
    constexpr std::int64_t at() const noexcept { return log.at(entry - 1); }
    constexpr void pass(std::uint64_t units) noexcept {
      if (done() || (left -= units) != 0 || --entry == 0) return;
      left = log.units(entry - 1);
    }
    state const& log;
    std::size_t entry;
    std::uint64_t left;
  };

  std::uint64_t limit_;
  std::int64_t window_;
};

}  // namespace penstock::inline v0_1::algorithm
