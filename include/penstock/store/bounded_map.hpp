#pragma once
// A bounded map of states of any kind, for one thread: what sharded_map puts behind locks and unsynchronized uses bare.
//
// Room for a newcomer is found in constant time: a cursor walks the buckets and looks at up to eight keys a call. Fresh
// ones are dropped; when there is none, the one with the most room left is (or the newcomer is refused, by choice).
// What was dropped is joined into the floor that newcomers start from until it has recovered: also a state that is
// fresh at this reading, because another reading may lag behind it.

#include <penstock/key.hpp>
#include <penstock/store.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

namespace penstock::inline v0_1::detail {

template <limiting_algorithm A>
class bounded_map {
 public:
  using state = typename A::state;

  void limit_to(std::size_t most, when_full full) {
    most_ = most;
    full_ = full;
  }

  /// See the concept state_store. `insist` finds room where the policy would refuse.
  template <class Step>
  std::optional<no_room<typename A::state>> change(A const& algorithm, fingerprint key, instant now, Step step,
                                                   bool insist) {
    if (auto const held = states_.find(key); held != states_.end()) {
      step(held->second);
      return {};
    }
    anchor(algorithm, floor_, now);  // kept, whatever becomes of the call: else it would be lost at every reading
    state newcomer = inherited(algorithm, now);
    if (states_.size() < most_) {
      if (!step(newcomer)) return {};
      make_own(algorithm, newcomer, now);
      drop_if_fresh(algorithm, now);  // before the newcomer is in: it may find no memory
      states_.emplace(key, std::move(newcomer));
      return {};
    }
    victim const v = find_victim(algorithm, now);
    if (!v.forgettable && full_ == when_full::refuse && !insist) {
      ++newcomers_refused_;
      return no_room<state>{v.fresh_at, std::move(newcomer)};
    }
    state floor = floor_after(algorithm, floor_, v.at->second, now);
    if (!v.forgettable) newcomer = floor;
    if (!step(newcomer)) return {};
    make_own(algorithm, newcomer, now);
    cursor_ = v.next_bucket;
    auto node = states_.extract(v.at);  // its memory serves the newcomer: nothing is allocated once the map is full
    node.key() = key;
    node.mapped() = std::move(newcomer);
    states_.insert(std::move(node));
    floor_ = std::move(floor);
    if (!v.forgettable) ++evictions_;
    return {};
  }

  /// A key whose units were all given back stays held: as a newcomer it would start from the floor.
  template <class Step>
  void amend(fingerprint key, Step step) {
    if (auto const held = states_.find(key); held != states_.end()) step(held->second);
  }
  void forget(fingerprint key) { states_.erase(key); }

  template <class See>
  std::optional<no_room<typename A::state>> look(A const& algorithm, fingerprint key, instant now, See see) const {
    if (auto const held = states_.find(key); held != states_.end()) {
      see(std::as_const(held->second));
      return {};
    }
    state newcomer = inherited(algorithm, now);
    if (states_.size() >= most_) {
      victim const v = find_victim(algorithm, now);
      if (!v.forgettable && full_ == when_full::refuse) return no_room<state>{v.fresh_at, std::move(newcomer)};
      if (!v.forgettable) newcomer = floor_after(algorithm, floor_, v.at->second, now);
    }
    see(std::as_const(newcomer));
    return {};
  }

  template <class Visit>
  void for_each(A const& algorithm, instant now, Visit visit) const {
    for (auto const& [key, held] : states_)
      if (!is_fresh(algorithm, held, now)) visit(key, held);
  }

  void add_stats(A const& algorithm, instant now, store_stats& s) const {
    for_each(algorithm, now, [&](fingerprint, state const&) { ++s.keys; });
    s.capacity += most_;
    s.evictions += evictions_;
    s.newcomers_refused += newcomers_refused_;
  }

 private:
  /// Fingerprints are hashes already.
  struct by_place {
    std::size_t operator()(fingerprint key) const noexcept { return static_cast<std::size_t>(key.place); }
  };
  using map = std::unordered_map<fingerprint, state, by_place>;

  struct victim {
    typename map::const_iterator at;
    bool forgettable;
    instant fresh_at;
    std::size_t next_bucket;  ///< where to look on, past those that were looked at
  };

  state inherited(A const& algorithm, instant now) const {
    if (is_fresh(algorithm, floor_, now)) return {};
    state newcomer = floor_;
    anchor(algorithm, newcomer, now);
    return newcomer;
  }

  /// Each newcomer pays for a look at one bucket, so that idle keys leave while there is still room.
  void drop_if_fresh(A const& algorithm, instant now) {
    if (states_.empty()) return;
    std::size_t const bucket = ++cursor_ % states_.bucket_count();
    for (auto at = states_.begin(bucket); at != states_.end(bucket); ++at)
      if (is_fresh(algorithm, at->second, now)) {
        floor_ = floor_after(algorithm, floor_, at->second, now);
        states_.erase(fingerprint{at->first});
        return;
      }
  }

  /// The key with the most room among the next eight; the map is not empty.
  victim find_victim(A const& algorithm, instant now) const {
    victim best{states_.end(), false, instant::max(), 0};
    std::size_t const enough = std::min<std::size_t>(states_.size(), 8);
    std::size_t seen = 0, bucket = cursor_ % states_.bucket_count();
    for (; seen < enough; bucket = (bucket + 1) % states_.bucket_count())
      for (auto at = states_.begin(bucket); at != states_.end(bucket); ++at, ++seen) {
        bool const forgettable = is_forgettable(algorithm, at->second, now);
        // One that the clock left behind goes after those that are fresh, and before those that live.
        instant const fresh_at =
            forgettable ? std::min(now, algorithm.fresh_at(at->second)) : algorithm.fresh_at(at->second);
        if (best.at == states_.end() || fresh_at < best.fresh_at)
          best = {states_.find(at->first), forgettable, fresh_at, 0};
      }
    best.next_bucket = bucket;
    return best;
  }

  map states_;
  std::size_t most_ = 0;
  std::size_t cursor_ = 0;
  when_full full_{};
  state floor_{};
  std::uint64_t evictions_ = 0, newcomers_refused_ = 0;
};

}  // namespace penstock::inline v0_1::detail
