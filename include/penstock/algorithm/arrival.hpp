#pragma once
// The arithmetic that token bucket, leaky meter and leaky queue share.
//
// GCRA, the generic cell rate algorithm (ATM Forum TM 4.0; ITU-T I.371): a key is one number, the theoretical arrival
// time, at which all that was admitted so far will have drained. Each unit moves it on by one interval; a call conforms
// when it stays within `burst` intervals of now.
//
// Units. A rate of N/P (count per period, reduced) has an interval of P/N ns, seldom whole. Time is therefore counted
// in 1/M ns, M <= 14 being the least whose C = ceil(P*M/N) is least wrong; with N <= 14 that is M = N, and exact. C
// never errs downwards, so the bound holds strictly: over any time T, sum(c)*C <= M*T + B*C, that is sum(c) <= B + r*T.
//
// Words. A word counts those units from the origin, shifted up by 2^62, so that 0 lies before all time and max(word, n)
// needs no special case for a fresh key. Nothing overflows: n < 2^64 - 4*2^60 and W <= 2^60, while no word that counts
// is above n + 3*2^60, and no sum adds more than W to it.

#include <penstock/algorithm.hpp>
#include <penstock/config_error.hpp>
#include <penstock/rate.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace penstock::inline v0_1::algorithm {

/// How a family of limiters counts time: M units to the nanosecond, from one origin. Limiters that share states, the
/// plans of a tiered limiter or the configurations that one limiter goes through, must share it.
struct time_units {
  static constexpr std::uint64_t most = 14;  ///< to the nanosecond
  std::uint64_t per_nanosecond = 1;
  instant origin{};
  friend constexpr bool operator==(time_units const&, time_units const&) = default;
};

/// A rate's interval in units of 1/M ns.
struct unit_interval {
  static constexpr std::uint64_t one = std::uint64_t{1} << 60;

  constexpr unit_interval(rate r, std::uint64_t m) noexcept {
    auto const period = static_cast<std::uint64_t>(r.period.count());
    std::uint64_t const common = std::gcd(r.count, period), count = r.count / common, reduced = period / common;
    length = detail::ceil_divide(detail::multiply(reduced, m), count);
    std::uint64_t const excess = length * count - reduced * m;  // below count, so exact modulo 2^64
    if (excess != 0) error = std::max<std::uint64_t>(detail::divide(detail::multiply(excess, one), reduced) / m, 1);
  }
  /// Is it near enough to be kept?
  constexpr bool is_kept() const noexcept { return error <= one / 500; }

  std::uint64_t length;
  std::uint64_t error = 0;  ///< how much too long, in 2^-60 of itself; 0 only when exact
};

/// Finds the M that keeps the worst of some rates the most exactly, and among equals the least.
class best_units {
 public:
  constexpr best_units() noexcept = default;
  constexpr explicit best_units(rate r) noexcept { consider(r); }
  constexpr void consider(rate r) noexcept {
    if (r.count == 0 || r.period <= duration::zero()) return;  // not a rate: left to the constructors
    for (std::size_t m = 1; m < worst_.size(); ++m) worst_[m] = std::max(worst_[m], unit_interval(r, m).error);
  }
  constexpr std::uint64_t per_nanosecond() const noexcept {
    return static_cast<std::uint64_t>(std::min_element(worst_.begin() + 1, worst_.end()) - worst_.begin());
  }

 private:
  std::array<std::uint64_t, time_units::most + 1> worst_{};
};

/// The shared arithmetic on words; the three algorithms give it a state and names. What every call does is inlined by
/// order: left to itself, a compiler that sees several calls keeps one copy of `described`, and the three divisions
/// that a caller of the verdict does not need.
class arrival {
 public:
  /// Throws config_error, naming the field, when the rate or the size is zero or cannot be represented in these units.
  constexpr arrival(detail::field rate_field, rate r, detail::field size_field, std::uint64_t size, time_units units)
      : size_(size), scale_(units.per_nanosecond), origin_(std::clamp(units.origin, earliest, latest)) {
    detail::check_rate(rate_field, r);
    unit_interval const interval(r, scale_);
    if (!interval.is_kept())
      detail::refuse_rate(
          rate_field, r,
          "a rate whose interval is within 0.2 % of a multiple of 1/M ns, M from 1 to 14 (try a rounder count)");
    interval_ = interval.length;
    if (interval_ > most_units)
      detail::refuse_rate(rate_field, r, "at least one unit in " + std::to_string(most_units / scale_) + " ns");
    detail::check_range(size_field, size, 1, most_units / interval_);
    full_ = size * interval_;
    lag_ = std::max(full_, static_cast<word>(detail::tolerance({}).count()) * scale_);
    set_span();
  }

  /// The rate that is really kept: exactly the one asked for when it can be represented, else the next one below.
  constexpr rate true_rate() const noexcept { return {scale_, duration{static_cast<std::int64_t>(interval_)}}; }
  constexpr std::uint64_t size() const noexcept { return size_; }
  /// How long the whole allowance takes to recover, rounded up.
  constexpr duration full_use() const noexcept { return ceil(full_); }
  constexpr time_units units() const noexcept { return {scale_, origin_}; }

  friend constexpr bool operator==(arrival const&, arrival const&) = default;

 protected:
  using word = std::uint64_t;

  /// A reading, in units.
  [[gnu::always_inline]] constexpr word word_at(instant now) const noexcept {
    std::uint64_t since = detail::between(first_, now);
    if (since > span_) [[unlikely]]
      since = now < first_ ? 0 : span_;
    return first_word_ + since * scale_;
  }

  /// The word a call at n starts from. One further ahead than any debt and any lag can take it was left by a clock
  /// that has been set back since: it counts as fully used.
  [[gnu::always_inline]] constexpr word base(word w, word n) const noexcept {
    return lost(w, n) ? spent(n) : std::max(w, n);
  }
  constexpr bool lost(word w, word n) const noexcept { return w > n + 2 * full_ + lag_; }
  constexpr word spent(word n) const noexcept { return n + full_; }

  /// The latest word that may be promised at n: one allowance in debt, and half of what readings may lag. (The other
  /// half remains to a key that has promised so much.)
  constexpr word furthest(word n) const noexcept { return n + 2 * full_ + lag_ / 2; }

  /// The word after c units more, c <= B.
  [[gnu::always_inline]] constexpr word admitted(word w, word n, cost c) const noexcept {
    return std::max(w, n) + c.units * interval_;
  }
  /// The cost is compared before it is multiplied. A word that the clock lost lies above n + W anyway.
  [[gnu::always_inline]] constexpr bool fits(word w, word n, cost c) const noexcept {
    return c.units == 0 || (c.units <= size_ && admitted(w, n, c) <= n + full_);
  }

  /// The word after a charge: as if admitted, but at most one allowance in debt.
  constexpr word charged(word w, word n, cost c) const noexcept {
    word const from = base(w, n), most = std::max(from, n + 2 * full_);
    return c.units > 2 * size_ ? most : from + std::min(c.units * interval_, most - from);
  }

  /// The word after a refund: not below the instant of the charge, and exactly there means fresh. A word that is not
  /// above it does not hold that charge.
  constexpr word refunded(word w, word n, cost c, std::uint64_t interval) const noexcept {
    if (w <= n) return w;
    return c.units >= detail::ceil_divide(w - n, interval) ? 0 : w - c.units * interval;
  }
  constexpr std::uint64_t interval() const noexcept { return interval_; }
  constexpr word full() const noexcept { return full_; }

  [[gnu::always_inline]] constexpr decision described(word w, word n, cost c, bool admitted) const noexcept {
    word const from = base(w, n);
    word const after = admitted ? from + c.units * interval_ : from;
    word const used = after - n;
    decision d;
    d.limit = size_;
    d.outcome = admitted ? verdict::admitted : c.units > size_ ? verdict::never : verdict::limited;
    d.remaining = used < full_ ? (full_ - used) / interval_ : 0;
    d.retry_after = d.outcome == verdict::never ? duration::max() : admitted ? duration{} : wait(from, n, c.units);
    d.reset_after = ceil(used);
    d.next_after = d.remaining == size_ ? duration{} : wait(after, n, d.remaining + 1);
    return d;
  }

  /// A reservation takes its units at once and waits for them to come: next - n - W is the wait.
  constexpr word reserved(word w, word n, cost c) const noexcept { return base(w, n) + c.units * interval_; }
  constexpr bool fits_within(word w, word n, duration max_delay, cost c) const noexcept {
    if (c.units > size_) return false;
    word const next = reserved(w, n, c);
    return fits(w, n, c) ||
           (next <= furthest(n) && max_delay > duration::zero() && ceil(next - n - full_) <= max_delay);
  }
  constexpr decision described_within(word w, word n, duration max_delay, cost c) const noexcept {
    decision d = described(w, n, c, fits(w, n, c));
    if (d || d.outcome == verdict::never) return d;
    word const next = reserved(w, n, c);
    if (!fits_within(w, n, max_delay, c)) {  // until both what is promised and the caller's patience reach that far
      duration const too_far = next > furthest(n) ? ceil(next - furthest(n)) : duration{};
      d.retry_after = std::max(d.retry_after - std::clamp(max_delay, duration{}, d.retry_after), too_far);
      return d;
    }
    d.outcome = verdict::admitted;
    d.delay = std::exchange(d.retry_after, duration{});
    d.remaining = 0;
    d.reset_after = ceil(next - n);
    d.next_after = wait(next, n, 1);
    return d;
  }

  /// Until c units fit: ceil((from + c*C - W - n) / M) ns.
  [[gnu::always_inline]] constexpr duration wait(word from, word n, std::uint64_t c) const noexcept {
    return ceil(from - n + c * interval_ - full_);
  }

  [[gnu::always_inline]] constexpr duration ceil(word w) const noexcept {
    return duration{static_cast<std::int64_t>(detail::ceil_divide(w, scale_))};
  }

  /// How long c units take to drain, c <= B.
  constexpr duration place(cost c) const noexcept { return ceil(c.units * interval_); }

  /// The first reading, in whole nanoseconds, that is not before w; max() when the clock cannot get there.
  constexpr instant reached(word w) const noexcept {
    if (w <= first_word_) return earliest;  // readings before first_ count as first_
    std::uint64_t const since = detail::ceil_divide(w - first_word_, scale_);
    return since > span_ ? instant::max() : first_ + detail::nanoseconds_of(since);
  }

  /// Words as distances from a reading, for storage: relative ones survive a change of origin.
  constexpr word relative(word w, word n) const noexcept { return w <= n ? 0 : w - n; }
  constexpr word absolute(word distance, word n) const noexcept {
    return distance == 0 ? 0 : n + std::min(distance, furthest(0));
  }

 private:
  static constexpr std::uint64_t shift = std::uint64_t{1} << 62;
  static constexpr std::uint64_t most_units = std::uint64_t{1} << 60;

  constexpr void set_span() noexcept {
    std::uint64_t const most_back = (shift - 1) / scale_;
    std::uint64_t const most_ahead = (std::numeric_limits<word>::max() - shift - 4 * most_units) / scale_;
    std::uint64_t const back = std::min(detail::between(earliest, origin_), most_back);
    first_ = origin_ - detail::nanoseconds_of(back);
    span_ = back + std::min(detail::between(origin_, latest), most_ahead);
    first_word_ = shift - back * scale_;
  }

  std::uint64_t size_;
  std::uint64_t scale_;         ///< M: units per nanosecond
  std::uint64_t interval_ = 0;  ///< C: units of time per unit of cost
  std::uint64_t full_ = 0;      ///< W: what the whole allowance takes to recover
  std::uint64_t lag_ = 0;       ///< Λ: how far readings may lag
  instant origin_;
  instant first_{};         ///< the readings that fit a word begin here: 10 years before the origin at least
  std::uint64_t span_ = 0;  ///< and end so many nanoseconds later: 20 years after the origin at least
  std::uint64_t first_word_ = 0;
};

/// The arithmetic with a state of one word: all that a bucket or a meter needs.
class metered : public arrival {
 public:
  struct state {
    std::uint64_t word{};
    friend constexpr bool operator==(state, state) = default;
  };

  constexpr bool admits(state const& s, instant now, cost c) const noexcept { return fits(s.word, word_at(now), c); }
  [[gnu::always_inline]] constexpr bool admit(state& s, instant now, cost c) const noexcept {
    word const n = word_at(now);
    bool const fitting = fits(s.word, n, c);
    if (fitting && c.units != 0) s.word = admitted(s.word, n, c);
    return fitting;
  }
  constexpr void charge(state& s, instant now, cost c) const noexcept {
    if (c.units != 0) s.word = charged(s.word, word_at(now), c);
  }
  constexpr void refund(state& s, instant charged_at, cost c) const noexcept {
    s.word = refunded(s.word, word_at(charged_at), c, interval());
  }
  /// A unit is given back as what it was when it was charged, whatever configuration is in force by then; but where one
  /// that recovers sooner may have cut the state since, no more units than were charged.
  struct receipt {
    instant at{};
    std::uint64_t interval = 1;  ///< of a unit
    std::uint64_t full = 0;      ///< what the whole allowance took to recover
  };
  constexpr void refund(state& s, receipt const& charged, cost c) const noexcept {
    std::uint64_t const unit = charged.full > full() ? std::min(charged.interval, interval()) : charged.interval;
    s.word = refunded(s.word, word_at(charged.at), c, unit);
  }
  constexpr receipt charged_at(state const&, instant now, cost) const noexcept { return {now, interval(), full()}; }
  constexpr decision describe(state const& s, instant now, cost c) const noexcept {
    return describe(s, now, c, admits(s, now, c));
  }
  [[gnu::always_inline]] constexpr decision describe(state const& s, instant now, cost c,
                                                     bool admitted) const noexcept {
    return described(s.word, word_at(now), c, admitted);
  }
  constexpr instant fresh_at(state const& s) const noexcept { return reached(s.word); }
  constexpr bool is_fresh(state const& s, instant now) const noexcept { return s.word <= word_at(now); }
  constexpr state join(state const& a, state const& b) const noexcept { return {std::max(a.word, b.word)}; }
  [[gnu::always_inline]] constexpr bool reanchor(state& s, instant now) const noexcept {
    word const n = word_at(now);
    if (!lost(s.word, n)) return false;
    s.word = spent(n);
    return true;
  }

  /// Caps a state that another plan left at this one's full use. Says whether that changed it.
  constexpr bool adopt(state& s, instant now) const noexcept {
    word const most = spent(word_at(now));
    if (s.word <= most) return false;
    s.word = most;
    return true;
  }

  /// Reservation: admitted now if the wait, the decision's `delay`, is at most max_delay.
  constexpr bool admits_within(state const& s, instant now, duration max_delay, cost c) const noexcept {
    return fits_within(s.word, word_at(now), max_delay, c);
  }
  constexpr void reserve(state& s, instant now, cost c) const noexcept { s.word = reserved(s.word, word_at(now), c); }
  constexpr decision describe_within(state const& s, instant now, duration max_delay, cost c) const noexcept {
    return described_within(s.word, word_at(now), max_delay, c);
  }

  constexpr state relative(state const& s, instant now) const noexcept {
    return {arrival::relative(s.word, word_at(now))};
  }
  constexpr state absolute(state const& s, instant now) const noexcept {
    return {arrival::absolute(s.word, word_at(now))};
  }

 protected:
  using arrival::arrival;
};

}  // namespace penstock::inline v0_1::algorithm
