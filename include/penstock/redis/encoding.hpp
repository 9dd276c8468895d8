#pragma once
// An algorithm's configuration as arguments of the script, and the script's answer as the algorithm's state.
//
// The script only adds and compares. Whatever needs a wide product is computed here, once: a bucket's cost, size and
// reach become times in whole microseconds and a numerator, exactly those of the in-process arithmetic. And the state
// that comes back is described by the in-process algorithm, so both say the same.

#include <penstock/algorithm/all_of.hpp>
#include <penstock/algorithm/fixed_window.hpp>
#include <penstock/algorithm/leaky_meter.hpp>
#include <penstock/algorithm/leaky_queue.hpp>
#include <penstock/algorithm/sliding_counter.hpp>
#include <penstock/algorithm/sliding_log.hpp>
#include <penstock/algorithm/token_bucket.hpp>
#include <penstock/config_error.hpp>
#include <penstock/decision.hpp>
#include <penstock/redis/words.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace penstock::inline v0_1::redis {

enum class verb : char { take = 't', peek = 'p', charge = 'c', refund = 'r' };

namespace detail {

using penstock::detail::divide;
using penstock::detail::multiply;

/// The server's time as an instant.
constexpr instant from_microseconds(std::int64_t us) noexcept {
  constexpr std::int64_t most = latest.time_since_epoch().count() / 1000;
  return instant{duration{std::clamp(us, -most, most) * 1000}};
}

/// What the script calls the algorithms.
enum class kind : std::uint64_t { bucket = 1, queue, window, counter, log };

/// A limit's word: its kind and five numbers.
inline void append_limit(words& to, kind k, std::array<std::uint64_t, 5> const& told) {
  to.add_numbers(std::array{static_cast<std::uint64_t>(k), told[0], told[1], told[2], told[3], told[4]});
}

/// How A looks to the script. `rules` is the number of limits, each with a key of its own; `numbers`, how many of the
/// answer's numbers say what they found (a refund finds nothing, and says two zeros for each). append() writes a
/// limit's arguments; read() makes a state out of the answer, good for describing a call of this cost at `now`.
template <class A>
class encoding;

/// Bucket, meter and queue. One in-process unit is 1/M ns, so a time of u units is u / (1000 M) us: whole microseconds
/// and n/den with the denominator 1000 M, cut by what all intervals share. Where the interval is whole, so is each
/// time.
template <class A>
class arrival_encoding {
 public:
  static constexpr std::size_t rules = 1, numbers = 2;

  explicit arrival_encoding(typename A::config const& c, instant origin) : algorithm_(c, origin) {
    rate const kept = algorithm_.true_rate();  // M units of cost in C units of time
    interval_ = static_cast<std::uint64_t>(kept.period.count());
    std::uint64_t const microsecond = 1000 * kept.count;
    common_ = std::gcd(interval_, microsecond);
    den_ = microsecond / common_;
    full_ = algorithm_.size() * interval_;
  }

  A const& algorithm() const noexcept { return algorithm_; }

  void append(words& to, verb what, cost c) const {
    std::uint64_t const most = what == verb::take || what == verb::peek ? algorithm_.size() + 1 : 2 * algorithm_.size();
    constexpr bool queue = std::same_as<A, algorithm::leaky_queue>;
    std::array<std::uint64_t, 2> const times{std::min(c.units, most) * interval_, full_};
    std::uint64_t const us = den_ * common_;
    append_limit(to, queue ? kind::queue : kind::bucket,
                 {times[0] / us, times[1] / us, times[0] % us / common_, times[1] % us / common_, den_});
  }

  typename A::state read(reply_reader& from, instant now, cost) const {
    std::int64_t const us = from.next(), n = from.next(), read_at = now.time_since_epoch().count() / 1000;
    std::uint64_t const ahead = us > read_at ? static_cast<std::uint64_t>(us - read_at) : 0;
    std::uint64_t const distance = (ahead * den_ + static_cast<std::uint64_t>(n)) * common_;
    typename A::state s{};
    algorithm_.charge(s, now, cost{1});  // now and one interval, in the words of this algorithm
    s.word += distance - interval_;
    return s;
  }

 private:
  A algorithm_;
  std::uint64_t interval_, common_, den_, full_;
};
template <>
class encoding<algorithm::token_bucket> : public arrival_encoding<algorithm::token_bucket> {
 public:
  using arrival_encoding::arrival_encoding;
};
template <>
class encoding<algorithm::leaky_meter> : public arrival_encoding<algorithm::leaky_meter> {
 public:
  using arrival_encoding::arrival_encoding;
};
template <>
class encoding<algorithm::leaky_queue> : public arrival_encoding<algorithm::leaky_queue> {
 public:
  using arrival_encoding::arrival_encoding;
};

/// The window of a rate in microseconds; throws config_error when it is none, or the count is more than the script
/// counts.
inline std::uint64_t window_in_microseconds(penstock::detail::field where, rate r, std::uint64_t most_units) {
  if (r.count > most_units)
    penstock::detail::refuse_rate(where, r, "on Redis a count of at most " + std::to_string(most_units));
  if (r.period.count() % 1000 != 0) penstock::detail::refuse_rate(where, r, "on Redis a period of whole microseconds");
  return static_cast<std::uint64_t>(r.period.count()) / 1000;
}

/// The largest count of a window: twice as much, a full debt, is still below the 2^31 that the script multiplies with.
inline constexpr std::uint64_t most_units = std::uint64_t{1} << 30;

/// What the windows and the log share.
template <class A>
class window_encoding {
 public:
  static constexpr std::size_t rules = 1;

  A const& algorithm() const noexcept { return algorithm_; }

 protected:
  window_encoding(typename A::config const& c, std::uint64_t most)
      : algorithm_(c), width_(window_in_microseconds({A::name, "limit"}, c.limit, most)) {}

  void append_window(words& to, kind k, cost c, bool aligned = true) const {
    append_limit(to, k, {std::min(c.units, 2 * algorithm_.size() + 1), algorithm_.size(), width_, aligned, 0});
  }
  /// A window may end, and an entry go, one window after the last reading.
  std::int64_t next_instant(reply_reader& from) const noexcept {
    constexpr std::int64_t most = latest.time_since_epoch().count() / 1000;
    return std::clamp(from.next(), -most, most + static_cast<std::int64_t>(width_)) * 1000;
  }

  A algorithm_;
  std::uint64_t width_;
};

template <>
class encoding<algorithm::fixed_window> : public window_encoding<algorithm::fixed_window> {
 public:
  static constexpr std::size_t numbers = 2;

  explicit encoding(algorithm::fixed_window::config const& c, instant) : window_encoding(c, most_units) {}

  void append(words& to, verb, cost c) const { append_window(to, kind::window, c, algorithm_.tied_to_epoch()); }
  algorithm::fixed_window::state read(reply_reader& from, instant, cost) const {
    std::int64_t const end = next_instant(from);
    return {end, static_cast<std::uint64_t>(from.next())};
  }
};

template <>
class encoding<algorithm::sliding_counter> : public window_encoding<algorithm::sliding_counter> {
 public:
  static constexpr std::size_t numbers = 4;

  explicit encoding(algorithm::sliding_counter::config const& c, instant) : window_encoding(c, most_units) {}

  void append(words& to, verb, cost c) const { append_window(to, kind::counter, c); }
  algorithm::sliding_counter::state read(reply_reader& from, instant, cost) const {
    std::int64_t const end = next_instant(from);
    auto const previous = static_cast<std::uint32_t>(from.next()), current = static_cast<std::uint32_t>(from.next());
    from.skip();  // numbers come in twos and fours
    return {end, previous, current};
  }
};

template <>
class encoding<algorithm::sliding_log> : public window_encoding<algorithm::sliding_log> {
 public:
  /// A log keeps an entry for each unit, about 10 bytes: one of more than 100,000 blocks the server when it is filled.
  static constexpr std::uint64_t most_entries = 100'000;
  static constexpr std::size_t numbers = 4;

  explicit encoding(algorithm::sliding_log::config const& c, instant) : window_encoding(c, most_entries) {}

  void append(words& to, verb, cost c) const { append_window(to, kind::log, c); }

  /// Not the log, but one that says the same of this cost: the script sends the instants on which an answer depends.
  algorithm::sliding_log::state read(reply_reader& from, instant, cost c) const {
    algorithm::sliding_log::state s;
    auto const used = static_cast<std::uint64_t>(from.next()), limit = algorithm_.size();
    std::int64_t const goes_next = next_instant(from), fits = next_instant(from), last = next_instant(from);
    if (used == 0) return s;
    std::uint64_t const wanted = used + std::clamp(c.units, std::uint64_t{1}, limit),
                        rank = wanted > limit ? std::min(wanted - limit, used) : 1;
    if (rank > 1) s.add(goes_next, rank - 1);
    if (used > rank) s.add(fits, used - rank);
    s.add(used == rank ? fits : last, 1);
    return s;
  }
};

/// Rules on one key: a limit each.
template <class... Rules>
class encoding<algorithm::all_of<Rules...>> {
  using A = algorithm::all_of<Rules...>;

 public:
  static constexpr std::size_t rules = (encoding<Rules>::rules + ...), numbers = (encoding<Rules>::numbers + ...);

  explicit encoding(typename A::config const& c, instant origin)
      : algorithm_(c, origin),
        rules_(std::apply(
            [&](auto const&... of_rule) { return std::tuple<encoding<Rules>...>(encoding<Rules>(of_rule, origin)...); },
            c.rules)) {}

  A const& algorithm() const noexcept { return algorithm_; }

  void append(words& to, verb what, cost c) const {
    std::apply([&](auto const&... rule) { (rule.append(to, what, c), ...); }, rules_);
  }
  typename A::state read(reply_reader& from, instant now, cost c) const {
    typename A::state all;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((penstock::detail::part<I>(all) = std::get<I>(rules_).read(from, now, c)), ...);
    }(std::index_sequence_for<Rules...>{});
    return all;
  }

 private:
  A algorithm_;
  std::tuple<encoding<Rules>...> rules_;
};

/// Do units taken ahead mean what they meant? Only to whom time alone gives them back.
template <class A>
inline constexpr bool can_lease = std::same_as<A, algorithm::token_bucket> || std::same_as<A, algorithm::leaky_meter>;

/// The instant under which a charge is kept, as the script is told to refund it.
constexpr instant instant_of(instant charged_at) noexcept { return charged_at; }
constexpr instant instant_of(auto const& receipt) noexcept { return receipt.at; }

template <class Receipt>
inline constexpr bool is_of_rules = false;
template <class... Receipts>
inline constexpr bool is_of_rules<penstock::detail::parts<Receipts...>> = true;

/// A receipt's instants, rule by rule.
template <class Receipt>
constexpr instant* write_instants(Receipt const& receipt, instant* to) noexcept {
  if constexpr (is_of_rules<Receipt>) {
    to = write_instants(receipt.first, to);
    if constexpr (requires { receipt.rest; }) to = write_instants(receipt.rest, to);
    return to;
  } else {
    *to = instant_of(receipt);
    return to + 1;
  }
}

/// The largest cost that ever fits.
template <class A>
constexpr std::uint64_t largest_cost(A const& algorithm) noexcept {
  if constexpr (requires { algorithm.size(); }) {
    return algorithm.size();
  } else {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    algorithm.for_each_rule([&](auto const& rule) { least = std::min(least, largest_cost(rule)); });
    return least;
  }
}

/// What follows from the state that the script found: the answer to the call, the present if it comes to nothing, and
/// the instants under which a charge was kept.
template <class A>
struct decoded {
  decision answer, present;
  std::array<instant, encoding<A>::rules> charged_at{};
};

}  // namespace detail
}  // namespace penstock::inline v0_1::redis
