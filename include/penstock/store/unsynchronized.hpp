#pragma once
// Keyed or not, for one thread: no atomics, no locks.

#include <penstock/store/bounded_map.hpp>

#include <optional>

namespace penstock::inline v0_1::store {

/// Selects a store for limiters that one thread uses: an event loop, a simulation, a shard of one's own.
/// Concurrency: none. Keyed, it holds exactly max_keys keys.
struct unsynchronized {
  template <limiting_algorithm A, class Key>
  class of;
};

template <limiting_algorithm A, class Key>
class unsynchronized::of {
 public:
  using place = fingerprint;

  explicit of(store_options const& options) { states_.limit_to(options.max_keys, options.full); }

  static place locate(fingerprint key) noexcept { return key; }

  template <class Step>
  std::optional<no_room<typename A::state>> change(A const& algorithm, place key, instant now, Step step) {
    return states_.change(algorithm, key, now, step, false);
  }
  template <class Step>
  void insist(A const& algorithm, place key, instant now, Step step) {
    states_.change(algorithm, key, now, step, true);
  }
  template <class Step>
  void amend(A const&, place key, Step step) {
    states_.amend(key, step);
  }
  void forget(place key) { states_.forget(key); }
  template <class See>
  std::optional<no_room<typename A::state>> look(A const& algorithm, place key, instant now, See see) const {
    return states_.look(algorithm, key, now, see);
  }
  template <class Visit>
  void for_each(A const& algorithm, instant now, Visit visit) const {
    states_.for_each(algorithm, now, visit);
  }
  store_stats stats(A const& algorithm, instant now) const {
    store_stats s;
    states_.add_stats(algorithm, now, s);
    return s;
  }

 private:
  penstock::detail::bounded_map<A> states_;
};

template <limiting_algorithm A>
class unsynchronized::of<A, no_key> {
 public:
  using state = typename A::state;
  struct place {};

  template <class Step>
  std::optional<no_room<typename A::state>> change(A const&, place, instant, Step step) {
    step(state_);
    return {};
  }
  template <class Step>
  void insist(A const&, place, instant, Step step) {
    step(state_);
  }
  template <class Step>
  void amend(A const&, place, Step step) {
    step(state_);
  }
  template <class See>
  std::optional<no_room<typename A::state>> look(A const&, place, instant, See see) const {
    see(state_);
    return {};
  }
  store_stats stats(A const& algorithm, instant now) const {
    return {.keys = penstock::detail::is_fresh(algorithm, state_, now) ? std::size_t{0} : std::size_t{1},
            .capacity = 1};
  }

 private:
  state state_{};
};

}  // namespace penstock::inline v0_1::store
