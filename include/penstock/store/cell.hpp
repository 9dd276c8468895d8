#pragma once
// One state, for limiters without a key.
//
// A state of one word is changed by compare-and-swap; larger ones under a sequence lock, which readers and refusals do
// not write; states that own memory (the sliding log) under the same lock, readers too.

#include <penstock/store.hpp>
#include <penstock/store/lock.hpp>
#include <penstock/store/words.hpp>

#include <cstddef>
#include <mutex>
#include <optional>

namespace penstock::inline v0_1::store {

/// Selects the cell as a limiter's store. The default of unkeyed limiters.
/// Concurrency: safe from any thread. Lock-free for one-word states.
struct cell {
  template <limiting_algorithm A, class Key>
  class of;
};

namespace detail {
using namespace penstock::detail;

/// What all three kinds of cell have in common: there is always room, and nothing to find.
template <class Derived, class A>
class cell_base {
 public:
  using state = typename A::state;
  struct place {};

  template <class Step>
  std::optional<no_room<typename A::state>> change(A const&, place, instant, Step step) {
    self().update(step);
    return {};
  }
  template <class Step>
  void insist(A const&, place, instant, Step step) {
    self().update(step);
  }
  template <class Step>
  void amend(A const&, place, Step step) {
    self().update(step);
  }
  template <class See>
  std::optional<no_room<typename A::state>> look(A const&, place, instant, See see) const {
    static_cast<Derived const&>(*this).read(see);
    return {};
  }
  store_stats stats(A const& algorithm, instant now) const {
    store_stats s{.keys = 0, .capacity = 1};
    static_cast<Derived const&>(*this).read(
        [&](state const& seen) { s.keys = is_fresh(algorithm, seen, now) ? 0 : 1; });
    return s;
  }

 private:
  Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

template <class A>
class word_cell : public cell_base<word_cell<A>, A> {
 public:
  using state = typename A::state;

  template <class Step>
  [[gnu::always_inline]] attempted<state> attempt(typename word_cell::place, Step step) {
    state const seen = words_.load();
    state next = seen, expected = seen;
    if (!step(next)) return {penstock::attempt::unchanged, seen};
    return {words_.replace(expected, next) ? penstock::attempt::changed : penstock::attempt::overtaken, seen};
  }
  template <class Step>
  void update(Step step) {
    state seen = words_.load();
    for (backoff wait;; wait()) {
      state next = seen;
      if (!step(next) || words_.replace(seen, next)) return;
    }
  }
  template <class See>
  void read(See see) const {
    see(words_.load());
  }

 private:
  alignas(64) atomic_words<state> words_;
};

template <class A>
class sequence_cell : public cell_base<sequence_cell<A>, A> {
 public:
  using state = typename A::state;

  /// A step that changes nothing is tried on a reading first, so that a refusal writes nothing.
  template <class Step>
  void update(Step step) {
    state next = load();
    if (!step(next)) return;
    std::lock_guard const guard(lock_);
    next = words_.load();
    if (step(next)) words_.store(next);
  }
  template <class See>
  void read(See see) const {
    see(load());
  }

 private:
  state load() const {
    return lock_.consistent([&] { return words_.load(); });
  }
  alignas(64) sequence_lock lock_;
  atomic_words<state> words_;
};

template <class A>
class locked_cell : public cell_base<locked_cell<A>, A> {
 public:
  using state = typename A::state;

  template <class Step>
  void update(Step step) {
    std::lock_guard const guard(lock_);
    step(state_);
  }
  template <class See>
  void read(See see) const {
    std::lock_guard const guard(lock_);
    see(state_);
  }

 private:
  alignas(64) mutable sequence_lock lock_;
  state state_{};
};

template <class A, bool Words = word_state<typename A::state>>
struct choose_cell {
  using type = locked_cell<A>;
};
template <class A>
struct choose_cell<A, true> {
  using type = std::conditional_t<word_count<typename A::state> == 1, word_cell<A>, sequence_cell<A>>;
};

}  // namespace detail

template <limiting_algorithm A, class Key>
class cell::of : public detail::choose_cell<A>::type {};

}  // namespace penstock::inline v0_1::store
