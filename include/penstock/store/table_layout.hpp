#pragma once
// Where the table keeps what: one run of cache lines.
//
//   shard heads   | lock, floor, counters | lock, floor, counters | ...         one line each
//   lines         | tag tag tag tag  state state state state | ...              four slots of one-word states a line
//                   `-------------- a shard's run of lines ------------'
//
// A key's fingerprint picks a shard and two lines in it: all that a call can touch.

#include <penstock/key.hpp>
#include <penstock/store/lines.hpp>
#include <penstock/store/lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace penstock::inline v0_1::detail {

template <word_state State>
class table_layout {
 public:
  using line = slot_line<State>;
  static constexpr bool one_word = word_count<State> == 1;

  struct alignas(line_bytes) head {
    sequence_lock lock;
    atomic_words<State> floor;
    std::atomic<std::uint64_t> evictions, newcomers_refused;
  };

  /// All that a call can touch.
  struct spot {
    std::uint64_t tag;
    head* shard;
    line *left, *right;
  };

  explicit table_layout(std::size_t keys) : table_layout(lines_for(keys), 0) {}

  /// Where a key can be: one line in each half of a shard's run.
  [[gnu::always_inline]] spot find(fingerprint key) const noexcept {
    // Independent bits: the shard from the top, the lines from the bottom.
    auto const shard = static_cast<std::size_t>(key.place >> 48 & shard_mask_);
    line* const run = first_line_ + shard * lines_in_shard();
    return {key.tag, head_at(shard), run + scaled(key.place), run + half_ + scaled(key.place >> 24)};
  }
  /// Sets the memory that the key needs on its way.
  [[gnu::always_inline]] fingerprint prefetch(fingerprint key) const noexcept {
    spot const s = find(key);
    prefetch_for_write(s.left);
    prefetch_for_write(s.right);
    return key;
  }

  std::size_t shards() const noexcept { return shard_mask_ + 1; }
  std::size_t lines() const noexcept { return shards() * lines_in_shard(); }
  std::size_t lines_in_shard() const noexcept { return 2 * half_; }
  std::size_t slots() const noexcept { return lines() * line::slots; }
  head* head_at(std::size_t shard) const noexcept { return memory_.template at<head>(shard); }
  line* line_at(std::size_t i) const noexcept { return first_line_ + i; }

  struct tagged {
    std::uint64_t tag;
    State held;
  };
  /// A line as it was at one moment (but for one-word states, each of which may be a little newer).
  std::array<tagged, line::slots> copy(std::size_t i) const {
    line const& l = *line_at(i);
    return head_at(i / lines_in_shard())->lock.consistent([&] {
      std::array<tagged, line::slots> copied;
      for (std::size_t k = 0; k < copied.size(); ++k)
        copied[k] = {l.tags[k].load(std::memory_order_acquire), l.states[k].load()};
      return copied;
    });
  }

 private:
  table_layout(std::size_t lines, int)
      : shard_mask_(shards_for(lines) - 1),
        half_(std::max<std::size_t>(1, (lines / shards() - 1) / 2)),
        memory_(shards() * (lines_in_shard() + 1)),
        first_line_(memory_.template at<line>(shards())) {}

  /// 24 bits scaled to a line of half a run.
  [[gnu::always_inline]] std::size_t scaled(std::uint64_t bits) const noexcept {
    return static_cast<std::size_t>((bits & 0xff'ffff) * half_ >> 24);
  }

  /// Four sevenths full with one-word states (28 bytes a key), shard heads included; about half with larger ones.
  static std::size_t lines_for(std::size_t keys) noexcept {
    constexpr std::size_t bytes_a_key = one_word ? 28 : 60;
    return keys / line_bytes * bytes_a_key + keys % line_bytes * bytes_a_key / line_bytes + 2;
  }

  /// Shards are long enough that random keys fill them evenly, and many enough that threads seldom meet.
  static std::size_t shards_for(std::size_t lines) noexcept {
    std::size_t const shards = std::max(std::min<std::size_t>(64, lines / 64), lines / 1024);
    return std::bit_floor(std::clamp<std::size_t>(shards, 1, std::size_t{1} << 16));
  }

  std::size_t shard_mask_;
  std::size_t half_;  ///< lines in each half of a shard's run
  zeroed_lines memory_;
  line* first_line_;
};

}  // namespace penstock::inline v0_1::detail
