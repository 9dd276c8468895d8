#pragma once
// A bounded table of keys that never allocates, never rehashes and never stops the world.
//
//   shard head    | lock, floor, counters |
//   its lines     | tag tag tag tag  state state state state | ...              four slots of one-word states a line
//
// A key's fingerprint picks a shard and two lines in it: all that a call can touch. A slot is free when its state is
// fresh: nobody ever cleans up. When both lines hold only live keys, the one with the most room left is dropped. What a
// slot held is joined into the shard's floor, from which newcomers start until it has recovered: a key that was dropped
// and returns finds no more than it is due, and the memory stays what it was.
//
// Protocol. Tags and floors, and states of more than one word, change under the shard's sequence lock: read everything,
// decide, then lock at the very version that was read. So a refusal writes nothing (but that a floor was left by a
// clock which has been set back is settled by the first newcomer to find it, refused or not). A one-word state of a key
// that is held changes by one compare-and-swap without the lock: read the state, see that the tag is still ours, swap.
// That is safe because a slot that is given away has been swapped to `busy` first, and its newcomer's word lies above
// the old one (the old one was fresh, at or before now, or was joined), so an old word does not come back. Whatever
// lowers a word (refund, forget, re-anchoring) takes the lock. Zero comes back, whenever a key is forgotten or wholly
// refunded: it is left under the lock too. One coincidence remains: a thread that sleeps between its look at the tag
// and its swap, while a refund and another key's taking the slot bring back, to the 1/M ns, the word it saw, charges
// that key.

#include <penstock/key.hpp>
#include <penstock/store.hpp>
#include <penstock/store/table_layout.hpp>
#include <penstock/store/table_snapshot.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace penstock::inline v0_1::store {

/// Can the table hold these states? Plain words, at least two of them in a line beside their tags.
template <class State>
inline constexpr bool fits_table = penstock::detail::word_state<State> && sizeof(State) <= 24;

/// The largest max_keys that a store can be asked for.
inline constexpr std::size_t most_keys = std::numeric_limits<std::size_t>::max() / 128;

/// Selects the table as a limiter's store; the default for keyed limiters whose states fit. 28 bytes a key for one-word
/// states, 60 for larger ones. Concurrency: safe from any thread; lock-free for held keys with one-word states.
struct table {
  template <limiting_algorithm A, class Key>
  class of;
};

template <limiting_algorithm A, class Key>
class table::of {
  using state = typename A::state;
  static_assert(fits_table<state>, "the table holds states of one to three plain words; use store::sharded_map");
  using layout = penstock::detail::table_layout<state>;
  using line = typename layout::line;
  static constexpr bool one_word = layout::one_word;

 public:
  using place = fingerprint;
  using spot = typename layout::spot;

  explicit of(store_options const& options) : full_(options.full), layout_(options.max_keys) {}

  [[gnu::always_inline]] place locate(fingerprint key) const noexcept { return layout_.prefetch(key); }
  /// All that a call for this key can touch.
  spot touched_by(place const& key) const noexcept { return layout_.find(key); }

  /// The fast path: a held key whose state is one word.
  template <class Step>
  [[gnu::always_inline]] attempted<state> attempt(place const& key, Step&& step)
    requires(one_word)
  {
    slot const held = find(layout_.find(key));
    if (!held) return {};
    state const seen = held.load();
    if (!held.belongs_to(key.tag) || word_of(seen) + 1 <= 1) return {};  // busy, or zero
    state next = seen, expected = seen;
    if (!step(next)) return {penstock::attempt::unchanged, seen};
    if (word_of(next) < word_of(seen)) return {};  // under the lock
    return {held.words->replace(expected, next) ? penstock::attempt::changed : penstock::attempt::overtaken, seen};
  }

  template <class Step>
  std::optional<no_room<typename A::state>> change(A const& algorithm, place const& key, instant now, Step step) {
    return settle(algorithm, key, now, step, full_);
  }
  template <class Step>
  void insist(A const& algorithm, place const& key, instant now, Step step) {
    settle(algorithm, key, now, step, when_full::inherit);
  }

  template <class Step>
  void amend(A const&, place const& key, Step step) {
    lower(key, step, key.tag);
  }
  /// The tag goes too: else the key would still be held, and not start from the floor as newcomers do. (The one key in
  /// 2^64 whose own tag is zero may then be found here, and be taken for a newcomer.)
  void forget(place const& key) {
    lower(key, [](state& s) { return s = state{}, true; }, 0);
  }

  template <class See>
  std::optional<no_room<typename A::state>> look(A const& algorithm, place const& key, instant now, See see) const {
    spot const p = layout_.find(key);
    if constexpr (one_word)
      if (slot const held = find(p))
        if (state const seen = held.load(); held.belongs_to(p.tag) && word_of(seen) + 1 > 1)
          return see(seen), std::nullopt;
    entrance const e = p.shard->lock.consistent([&] { return enter(algorithm, p, now, full_); });
    if (e.full) return no_room<state>{e.room_at, e.start};
    see(e.start);
    return {};
  }

  store_stats stats(A const& algorithm, instant now) const {
    store_stats s{.keys = 0, .capacity = layout_.slots()};
    for (std::size_t i = 0; i < layout_.shards(); ++i) {
      auto const& shard = *layout_.head_at(i);
      s.evictions += shard.evictions.load(std::memory_order_relaxed);
      s.newcomers_refused += shard.newcomers_refused.load(std::memory_order_relaxed);
    }
    for_each(algorithm, now, [&](fingerprint, state const&) { ++s.keys; });
    return s;
  }

  /// Visits every key that is not fresh, with its tag and its state. Keys that come, go or change meanwhile may be seen
  /// or not; each is seen whole.
  template <class Visit>
  void for_each(A const& algorithm, instant now, Visit visit) const {
    for (std::size_t i = 0; i < layout_.lines(); ++i)
      for (auto const& [tag, held] : layout_.copy(i))
        if (!penstock::detail::is_fresh(algorithm, held, now)) visit(fingerprint{tag, 0}, held);
  }

  void save(A const& algorithm, instant now, penstock::detail::snapshot_writer& out) const {
    penstock::detail::save_table(layout_, algorithm, now, out);
  }
  /// Takes over what save wrote, from a table of the same shape; nothing is changed unless all of it is right. `then`
  /// is the reading to which distances refer. Not while others use the table.
  void load(A const& algorithm, instant now, instant then, penstock::detail::snapshot_reader& in) {
    penstock::detail::load_table(layout_, algorithm, now, then, in);
  }

 private:
  struct slot {
    std::atomic<std::uint64_t>* tag = nullptr;
    penstock::detail::atomic_words<state>* words = nullptr;

    explicit operator bool() const noexcept { return tag != nullptr; }
    state load() const noexcept { return words->load(); }
    bool belongs_to(std::uint64_t wanted) const noexcept { return tag->load(std::memory_order_acquire) == wanted; }
  };

  /// Where a key is held, or how it would come in.
  struct entrance {
    slot at;                  ///< the slot to write
    state seen{};             ///< what it holds
    state start{};            ///< what the key starts from
    state floor{};            ///< what the shard's floor becomes when the slot changes hands
    bool held = false;        ///< the slot is the key's own already
    bool evicts = false;      ///< it is a live key's
    bool full = false;        ///< it may not be taken
    bool floor_lost = false;  ///< the shard's floor was left by a clock that has been set back since
    instant room_at{};        ///< when full: from here on there is a free slot
  };

  [[gnu::always_inline]] static slot find(spot const& p) noexcept {
    std::size_t const i = line::find(*p.left, *p.right, p.tag);
    if (i == 2 * line::slots) return {};
    line* const l = i < line::slots ? p.left : p.right;
    return {&l->tags[i % line::slots], &l->states[i % line::slots]};
  }

  entrance enter(A const& algorithm, spot const& p, instant now, when_full full) const {
    slot const held = find(p);
    state const kept = held ? held.load() : state{};
    // A slot never used, or of a key forgotten, has the tag zero: a key that has it too is a newcomer there.
    if (held && (p.tag != 0 || !penstock::detail::is_zero(kept)))
      return {.at = held, .seen = kept, .start = kept, .held = true};
    entrance e;
    state floor = p.shard->floor.load();
    if (!penstock::detail::is_fresh(algorithm, floor, now)) {
      e.floor_lost = penstock::detail::anchor(algorithm, floor, now);
      e.start = floor;
    }
    // The first line while more than half of it is free; then the emptier one. With the tag zero, where it is found.
    auto const first = held ? free_slots{1, held, kept} : free_in(algorithm, *p.left, now);
    auto const second = held || first.count > line::slots / 2 ? first : free_in(algorithm, *p.right, now);
    if (auto const& emptier = second.count > first.count ? second : first; emptier.count != 0) {
      e.at = emptier.any;
      e.seen = emptier.seen;
      e.floor = penstock::detail::floor_after(algorithm, floor, e.seen, now);
      return e;
    }
    bool live = true;
    for (line* const l : {p.left, p.right})
      for (std::size_t i = 0; i < line::slots; ++i) {
        state const seen = l->states[i].load();
        bool const lost = penstock::detail::is_forgettable(algorithm, seen, now);
        instant const fresh_at = lost ? earliest : algorithm.fresh_at(seen);
        if (e.at && fresh_at >= e.room_at) continue;
        e.at = {&l->tags[i], &l->states[i]};
        e.seen = seen;
        e.room_at = fresh_at;
        live = !lost;
      }
    e.full = live && full == when_full::refuse;
    e.evicts = live && !e.full;
    if (!e.full) e.floor = penstock::detail::floor_after(algorithm, floor, e.seen, now);
    if (e.evicts) e.start = e.floor;
    return e;
  }

  struct free_slots {
    std::size_t count = 0;
    slot any;
    state seen{};
  };
  static free_slots free_in(A const& algorithm, line& l, instant now) {
    free_slots found;
    for (std::size_t i = 0; i < line::slots; ++i) {
      state const seen = l.states[i].load();
      if (!penstock::detail::is_fresh(algorithm, seen, now)) continue;
      ++found.count;
      found.any = {&l.tags[i], &l.states[i]};
      found.seen = seen;
    }
    return found;
  }

  template <class Step>
  std::optional<no_room<state>> settle(A const& algorithm, place const& key, instant now, Step& step, when_full full) {
    if constexpr (one_word)
      for (penstock::detail::backoff wait;; wait()) {
        auto const what = attempt(key, step).what;
        if (what == penstock::attempt::elsewhere) break;
        if (what != penstock::attempt::overtaken) return {};
      }
    spot const p = layout_.find(key);
    for (penstock::detail::backoff wait;; wait()) {
      std::uint64_t const version = p.shard->lock.read_begin();
      entrance const e = enter(algorithm, p, now, full);
      if (!p.shard->lock.unchanged_since(version)) continue;
      if (e.floor_lost) {  // that is kept, whatever becomes of the call: else it would be so at every reading
        settle_floor(algorithm, p, version, now);
        continue;
      }
      if (e.full) {
        p.shard->newcomers_refused.fetch_add(1, std::memory_order_relaxed);
        return no_room<state>{e.room_at, e.start};
      }
      state next = e.start;
      if (!step(next)) return {};  // a refusal writes nothing
      if (!e.held) penstock::detail::make_own(algorithm, next, now);
      if (e.held ? write(p, version, e.at, e.seen, next, p.tag) : bring_in(p, version, e, next)) return {};
    }
  }

  /// Makes a floor that the clock left behind what it counts as now, unless something came between since `version`.
  static void settle_floor(A const& algorithm, spot const& p, std::uint64_t version, instant now) noexcept {
    if (!p.shard->lock.lock_at(version)) return;
    state floor = p.shard->floor.load();
    penstock::detail::anchor(algorithm, floor, now);
    p.shard->floor.store(floor);
    p.shard->lock.unlock();
  }

  template <class Step>
  void lower(place const& key, Step step, std::uint64_t tag) {
    spot const p = layout_.find(key);
    for (penstock::detail::backoff wait;; wait()) {
      std::uint64_t const version = p.shard->lock.read_begin();
      slot const held = find(p);
      state const seen = held ? held.load() : state{};
      if (!p.shard->lock.unchanged_since(version)) continue;
      if (!held) return;
      state next = seen;
      if (!step(next) || write(p, version, held, seen, next, tag)) return;
    }
  }

  /// Changes the state and the tag of a held key under the lock. False when something came between since `version`.
  static bool write(spot const& p, std::uint64_t version, slot const& at, state const& seen, state const& next,
                    std::uint64_t tag) noexcept {
    if (!p.shard->lock.lock_at(version)) return false;
    bool written = true;
    if constexpr (one_word) {
      state expected = seen;
      written = at.words->replace(expected, next);
    } else {
      at.words->store(next);
    }
    if (written && tag != p.tag) at.tag->store(tag, std::memory_order_release);
    p.shard->lock.unlock();
    return written;
  }

  /// Gives a slot to a newcomer. False when something came between since `version`.
  static bool bring_in(spot const& p, std::uint64_t version, entrance const& e, state const& next) noexcept {
    if (!p.shard->lock.lock_at(version)) return false;
    bool claimed = true;
    if constexpr (one_word) {  // its old key may still be swapping
      state expected = e.seen;
      claimed = e.at.words->replace(expected, std::bit_cast<state>(busy));
    }
    if (claimed) {
      p.shard->floor.store(e.floor);
      if (e.evicts) p.shard->evictions.fetch_add(1, std::memory_order_relaxed);
      e.at.tag->store(p.tag, std::memory_order_release);
      e.at.words->store(next);
    }
    p.shard->lock.unlock();
    return claimed;
  }

  /// A word that stands in a slot only while it changes hands, under the lock. (A state that is this word by itself is
  /// merely slow: it takes the long way.)
  static constexpr std::uint64_t busy = std::numeric_limits<std::uint64_t>::max();
  static std::uint64_t word_of(state const& s) noexcept
    requires(one_word)
  {
    return std::bit_cast<std::uint64_t>(s);
  }

  when_full full_;
  layout layout_;
};

}  // namespace penstock::inline v0_1::store
