#pragma once
// What the laws are held against, as rows of a table: each algorithm, how it is configured from a shape, the model that
// says what it must answer, of the rate that it really keeps, and what holds the bound of law 2.

#include <penstock/algorithm/all_of.hpp>
#include <penstock/algorithm/fixed_window.hpp>
#include <penstock/algorithm/leaky_meter.hpp>
#include <penstock/algorithm/leaky_queue.hpp>
#include <penstock/algorithm/sliding_counter.hpp>
#include <penstock/algorithm/sliding_log.hpp>
#include <penstock/algorithm/token_bucket.hpp>

#include "all_of_model.hpp"
#include "oracle/bound.hpp"
#include "oracle/fixed_window.hpp"
#include "oracle/leaky_meter.hpp"
#include "oracle/leaky_queue.hpp"
#include "oracle/sliding_counter.hpp"
#include "oracle/sliding_log.hpp"
#include "oracle/token_bucket.hpp"
#include "support/shape.hpp"
#include "support/slow.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock::inline v0_1 {
inline std::ostream& operator<<(std::ostream& to, decision const& d) {
  constexpr char const* words[] = {"admitted", "limited", "never"};
  return to << words[static_cast<int>(d.outcome)] << " by rule " << int{d.rule} << ", limit " << d.limit
            << ", remaining " << d.remaining << ", retry_after " << d.retry_after.count() << ", reset_after "
            << d.reset_after.count() << ", next_after " << d.next_after.count() << ", delay " << d.delay.count();
}
}  // namespace penstock::inline v0_1

namespace conformance {

using namespace std::chrono_literals;
using penstock::decision;
using penstock::verdict;
using std::chrono::nanoseconds;
using units = std::uint64_t;

// ---- how long to try ------------------------------------------------------------------------------------------------

using support::sanitized;
using support::slow;

/// Random steps: as many as the test says; where they are slow a tenth, a hundredth of millions. PENSTOCK_HEAVY=20
/// makes all of it 20 times longer.
inline std::size_t steps(std::size_t usual) {
  static std::size_t const times = [] {
    char const* const heavy = std::getenv("PENSTOCK_HEAVY");
    return heavy == nullptr ? std::size_t{1} : std::max<std::size_t>(1, std::strtoul(heavy, nullptr, 10));
  }();
  return (!slow ? usual : usual > 1'000'000 ? usual / 100 : usual / 10) * times;
}

// ---- the rows -------------------------------------------------------------------------------------------------------

using support::shape;

/// Of every kind: a bare tick, nanoseconds, a rate that must be rounded, windows shorter and longer than a minute.
inline std::vector<shape> shapes() {
  return {{1, 1ns, 1}, {1, 7ns, 1}, {2, 7ns, 5}, {7, 1000ns, 9}, {3, 10s, 3}, {12'345, 1s, 40}, {3, 200s, 5}};
}

enum class store_kind : std::uint8_t { cell, table, sharded_map, unsynchronized_map, unsynchronized_state };
inline char const* name_of(store_kind s) {
  constexpr char const* names[] = {"cell", "table", "sharded_map", "unsynchronized, keyed", "unsynchronized, unkeyed"};
  return names[static_cast<int>(s)];
}
inline constexpr bool is_keyed(store_kind s) { return s != store_kind::cell && s != store_kind::unsynchronized_state; }

/// Λ of law 6.
inline nanoseconds tolerance(nanoseconds full) { return std::max<nanoseconds>(full, 60s); }

/// Λ in whole nanoseconds, of a bucket with such a size: a full allowance may take a fraction longer.
inline nanoseconds longest_lag(penstock::rate kept, units size) {
  auto const full = oracle::floor_div(oracle::wide(size) * kept.period.count(), kept.count);
  return tolerance(nanoseconds{oracle::to_nanoseconds(full)});
}

template <class Algorithm>
struct row_over {
  using algorithm = Algorithm;
  using state = typename Algorithm::state;

  static std::vector<store_kind> stores() {
    if constexpr (std::is_trivially_copyable_v<state>)
      return {store_kind::cell, store_kind::table, store_kind::sharded_map, store_kind::unsynchronized_map,
              store_kind::unsynchronized_state};
    else
      return {store_kind::cell, store_kind::sharded_map, store_kind::unsynchronized_map,
              store_kind::unsynchronized_state};
  }
  /// The most that one call can be admitted with.
  static units size(Algorithm const& a) { return a.size(); }
  /// W: how long a full allowance takes to recover.
  static nanoseconds full(Algorithm const& a) { return a.full_use(); }
  /// How far a reading may lag without meaning that the clock was set back.
  static nanoseconds longest_lag(Algorithm const& a) { return tolerance(a.full_use()); }
};

/// What holds the bound of law 2, fed with what was admitted.
template <class... Checkers>
class bounds {
 public:
  explicit bounds(Checkers... each) : each_(std::move(each)...) {}
  void admit(nanoseconds at, units c, nanoseconds) {
    std::apply([&](auto&... one) { (one.admit(at.count(), c), ...); }, each_);
  }
  bool holds() const {
    return std::apply([](auto const&... one) { return (one.holds() && ...); }, each_);
  }

 private:
  std::tuple<Checkers...> each_;
};

template <class Algorithm, class Model>
struct arrival_row : row_over<Algorithm> {
  using model = Model;
  static model model_of(Algorithm const& a) { return {a.true_rate().count, a.true_rate().period.count(), a.size()}; }
  static nanoseconds longest_lag(Algorithm const& a) { return conformance::longest_lag(a.true_rate(), a.size()); }
  /// Both of the rate that is kept and of the one asked for.
  static auto bound_of(shape const& s, Algorithm const& a) {
    return bounds(oracle::bound::bucket(a.true_rate().count, a.true_rate().period.count(), a.size()),
                  oracle::bound::bucket(s.count, s.period.count(), s.size));
  }
};

template <class Algorithm, class Model>
struct window_row : row_over<Algorithm> {
  using model = Model;
  static typename Algorithm::config config(shape const& s) { return {.limit = {s.count, s.period}}; }
};

struct token_bucket : arrival_row<penstock::algorithm::token_bucket, oracle::token_bucket> {
  static algorithm::config config(shape const& s) { return {.refill = {s.count, s.period}, .burst = s.size}; }
};

struct leaky_meter : arrival_row<penstock::algorithm::leaky_meter, oracle::leaky_meter> {
  static algorithm::config config(shape const& s) { return {.drain = {s.count, s.period}, .capacity = s.size}; }
};

struct leaky_queue : arrival_row<penstock::algorithm::leaky_queue, oracle::leaky_queue> {
  static algorithm::config config(shape const& s) { return {.drain = {s.count, s.period}, .capacity = s.size}; }
  class queue_bounds {
   public:
    queue_bounds(shape const& s, algorithm const& a)
        : admitted_(arrival_row::bound_of(s, a)), apart_(a.true_rate().count, a.true_rate().period.count()) {}
    void admit(nanoseconds at, units c, nanoseconds delay) {
      admitted_.admit(at, c, delay);
      apart_.promise((at + delay).count(), c);
    }
    bool holds() const { return admitted_.holds() && apart_.holds(); }

   private:
    decltype(arrival_row::bound_of(std::declval<shape>(), std::declval<algorithm>())) admitted_;
    oracle::bound::departures apart_;
  };
  static queue_bounds bound_of(shape const& s, algorithm const& a) { return {s, a}; }
};

struct aligned_window : window_row<penstock::algorithm::fixed_window, oracle::fixed_window> {
  static model model_of(algorithm const& a) { return {a.size(), a.full_use().count(), true}; }
  static auto bound_of(shape const& s, algorithm const&) {
    return bounds(oracle::bound::fixed_window(s.count, s.period.count(), true));
  }
};

struct first_request_window : window_row<penstock::algorithm::fixed_window, oracle::fixed_window> {
  static algorithm::config config(shape const& s) {
    return {.limit = {s.count, s.period}, .starts = penstock::window_start::first_request};
  }
  static model model_of(algorithm const& a) { return {a.size(), a.full_use().count(), false}; }
  static auto bound_of(shape const& s, algorithm const&) {
    return bounds(oracle::bound::fixed_window(s.count, s.period.count(), false));
  }
};

struct sliding_log : window_row<penstock::algorithm::sliding_log, oracle::sliding_log> {
  static model model_of(algorithm const& a) { return {a.size(), a.full_use().count()}; }
  static auto bound_of(shape const& s, algorithm const&) {
    return bounds(oracle::bound::sliding_log(s.count, s.period.count()));
  }
};

struct sliding_counter : window_row<penstock::algorithm::sliding_counter, oracle::sliding_counter> {
  static model model_of(algorithm const& a) { return {a.size(), full(a).count()}; }
  /// Its state lasts for two windows, W is one.
  static nanoseconds full(algorithm const& a) { return a.full_use() / 2; }
  static nanoseconds longest_lag(algorithm const& a) { return tolerance(full(a)); }
  /// Of its estimate it says only this much that a bound can be made of; the rest is held against the model.
  static auto bound_of(shape const& s, algorithm const&) {
    return bounds(oracle::bound::fixed_window(s.count, s.period.count(), true));
  }
};

/// A bucket and a window on one key, such that now the one and now the other binds.
struct bucket_and_window
    : row_over<penstock::algorithm::all_of<penstock::algorithm::token_bucket, penstock::algorithm::fixed_window>> {
  using model = all_of_model<oracle::token_bucket, oracle::fixed_window>;
  static algorithm::config config(shape const& s) {
    return {token_bucket::config(s), aligned_window::config(window(s))};
  }
  static model model_of(algorithm const& a) {
    return {token_bucket::model_of(a.rule<0>()), aligned_window::model_of(a.rule<1>())};
  }
  static units size(algorithm const& a) { return a.rule<0>().size(); }
  /// Each rule has its own.
  static nanoseconds longest_lag(algorithm const& a) {
    return std::min(token_bucket::longest_lag(a.rule<0>()), aligned_window::longest_lag(a.rule<1>()));
  }
  static auto bound_of(shape const& s, algorithm const&) {
    return bounds(oracle::bound::bucket(s.count, s.period.count(), s.size),
                  oracle::bound::fixed_window(window(s).count, window(s).period.count(), true));
  }
  static shape window(shape const& s) { return {s.size + 1 + s.count / 2, 2 * s.period, 0}; }
};

/// A log and a bucket: a state that owns memory beside one that does not.
struct log_and_bucket
    : row_over<penstock::algorithm::all_of<penstock::algorithm::sliding_log, penstock::algorithm::token_bucket>> {
  using model = all_of_model<oracle::sliding_log, oracle::token_bucket>;
  static algorithm::config config(shape const& s) { return {sliding_log::config(log(s)), token_bucket::config(s)}; }
  static model model_of(algorithm const& a) {
    return {sliding_log::model_of(a.rule<0>()), token_bucket::model_of(a.rule<1>())};
  }
  static units size(algorithm const& a) { return a.rule<1>().size(); }
  static nanoseconds longest_lag(algorithm const& a) {
    return std::min(sliding_log::longest_lag(a.rule<0>()), token_bucket::longest_lag(a.rule<1>()));
  }
  static auto bound_of(shape const& s, algorithm const&) {
    return bounds(oracle::bound::sliding_log(log(s).count, log(s).period.count()),
                  oracle::bound::bucket(s.count, s.period.count(), s.size));
  }
  static shape log(shape const& s) { return {s.size + 1 + s.count / 2, 2 * s.period, 0}; }
};

#define EVERY_BARE_ALGORITHM                                                                \
  conformance::aligned_window, conformance::first_request_window, conformance::sliding_log, \
      conformance::sliding_counter, conformance::token_bucket, conformance::leaky_meter, conformance::leaky_queue
#define EVERY_ALGORITHM EVERY_BARE_ALGORITHM, conformance::bucket_and_window, conformance::log_and_bucket

/// The algorithm of a row, as the limiter makes it whose clock reads `start` at construction.
template <class Row>
typename Row::algorithm algorithm_of(shape const& s, nanoseconds start = 0ns) {
  return typename Row::algorithm(Row::config(s),
                                 penstock::to_instant(std::chrono::time_point<penstock::timeline, nanoseconds>(start)));
}

}  // namespace conformance
