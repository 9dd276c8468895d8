#pragma once
// Keyed, bounded, for states of any kind: shards of a map, each behind a lock.
//
// The default for states that own memory or do not fit a line of the table (sliding_log). Where the table will do, it
// is faster and allocates nothing.

#include <penstock/store/bounded_map.hpp>
#include <penstock/store/lock.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>

namespace penstock::inline v0_1::store {

/// Selects the sharded map as a limiter's store. Holds max_keys keys, a little more where shards fill unevenly.
/// Concurrency: safe from any thread; two keys of one shard wait for each other. Allocates when a key is new, and
/// throws std::bad_alloc from there, the state unchanged.
struct sharded_map {
  template <limiting_algorithm A, class Key>
  class of;
};

template <limiting_algorithm A, class Key>
class sharded_map::of {
 public:
  using place = fingerprint;

  explicit of(store_options const& options)
      : shards_(std::bit_floor(std::clamp<std::size_t>(options.max_keys / 256, 1, 64))),
        shard_(std::make_unique<shard[]>(shards_)) {
    // Six standard deviations above the mean, so that max_keys random keys find room.
    std::size_t const mean = (options.max_keys + shards_ - 1) / shards_;
    std::size_t const most =
        shards_ == 1 ? mean : mean + 6 * static_cast<std::size_t>(std::sqrt(static_cast<double>(mean)));
    for (std::size_t i = 0; i < shards_; ++i) shard_[i].states.limit_to(most, options.full);
  }

  static place locate(fingerprint key) noexcept { return key; }

  template <class Step>
  std::optional<no_room<typename A::state>> change(A const& algorithm, place key, instant now, Step step) {
    return at(key).with([&](auto& states) { return states.change(algorithm, key, now, step, false); });
  }
  template <class Step>
  void insist(A const& algorithm, place key, instant now, Step step) {
    at(key).with([&](auto& states) { return states.change(algorithm, key, now, step, true); });
  }
  template <class Step>
  void amend(A const&, place key, Step step) {
    at(key).with([&](auto& states) { states.amend(key, step); });
  }
  void forget(place key) {
    at(key).with([&](auto& states) { states.forget(key); });
  }
  template <class See>
  std::optional<no_room<typename A::state>> look(A const& algorithm, place key, instant now, See see) const {
    return at(key).with([&](auto const& states) { return states.look(algorithm, key, now, see); });
  }
  /// Visits every key that is not fresh; its shard is locked meanwhile.
  template <class Visit>
  void for_each(A const& algorithm, instant now, Visit visit) const {
    for (std::size_t i = 0; i < shards_; ++i)
      shard_[i].with([&](auto const& states) { states.for_each(algorithm, now, visit); });
  }
  store_stats stats(A const& algorithm, instant now) const {
    store_stats s;
    for (std::size_t i = 0; i < shards_; ++i)
      shard_[i].with([&](auto const& states) { states.add_stats(algorithm, now, s); });
    return s;
  }

 private:
  struct alignas(64) shard {
    auto with(auto use) {
      std::lock_guard const guard(lock);
      return use(states);
    }
    auto with(auto use) const {
      std::lock_guard const guard(lock);
      return use(states);
    }
    mutable penstock::detail::sequence_lock lock;
    penstock::detail::bounded_map<A> states;
  };

  /// By the high bits: the map inside uses the low ones.
  shard& at(fingerprint key) const noexcept { return shard_[static_cast<std::size_t>(key.place >> 32) % shards_]; }

  std::size_t shards_;
  std::unique_ptr<shard[]> shard_;
};

}  // namespace penstock::inline v0_1::store
