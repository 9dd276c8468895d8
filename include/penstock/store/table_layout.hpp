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
#include <limits>

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
  struct place {
    std::uint64_t tag;
    head* shard;
    std::array<line*, 2> lines;
  };

  explicit table_layout(std::size_t keys) : table_layout(lines_for(keys), 0) {}

  [[gnu::always_inline]] place locate(fingerprint key) const noexcept {
    // Independent bits: the shard from the top, one line from the bottom, the other from a product of all.
    std::uint64_t const shard = key.place >> 1 >> (63 - shard_bits_);
    std::uint64_t const first = scaled(key.place, lines_),
                        second = scaled(key.place * 0x9e37'79b9'7f4a'7c15 >> 32, lines_ - 1);
    line* const run = line_at(shard * lines_);
    place const p{key.tag, head_at(shard), {run + first, run + (second < first ? second : second + 1)}};
    prefetch_for_write(p.lines[0]);
    prefetch_for_write(p.lines[1]);
    return p;
  }

  std::size_t shards() const noexcept { return std::size_t{1} << shard_bits_; }
  std::size_t lines() const noexcept { return shards() * lines_; }
  std::size_t lines_in_shard() const noexcept { return lines_; }
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
    return head_at(i / lines_)->lock.consistent([&] {
      std::array<tagged, line::slots> copied;
      for (std::size_t k = 0; k < copied.size(); ++k)
        copied[k] = {l.tags[k].load(std::memory_order_acquire), l.states[k].load()};
      return copied;
    });
  }

 private:
  table_layout(std::size_t lines, int)
      : shard_bits_(shard_bits_for(lines)),
        lines_(std::max<std::size_t>(2, (lines - 1) / shards())),
        memory_(shards() * (lines_ + 1)),
        first_line_(memory_.template at<line>(shards())) {}

  /// The low 32 bits of `bits` scaled to 0 .. n - 1.
  static std::uint64_t scaled(std::uint64_t bits, std::uint64_t n) noexcept { return ((bits & 0xffff'ffff) * n) >> 32; }

  /// Four sevenths full with one-word states (28 bytes a key), shard heads included; about half with larger ones.
  static std::size_t lines_for(std::size_t keys) noexcept {
    constexpr std::size_t bytes_a_key = one_word ? 28 : 60;
    return keys / line_bytes * bytes_a_key + keys % line_bytes * bytes_a_key / line_bytes + 2;
  }

  /// Shards are long enough that random keys fill them evenly, and many enough that threads seldom meet.
  static unsigned shard_bits_for(std::size_t lines) noexcept {
    std::size_t const shards = std::max(std::min<std::size_t>(64, lines / 64), lines / 1024);
    return shards == 0 ? 0 : static_cast<unsigned>(std::bit_width(shards)) - 1;
  }

  unsigned shard_bits_;
  std::size_t lines_;  ///< of each shard; at least two
  zeroed_lines memory_;
  line* first_line_;
};

}  // namespace penstock::inline v0_1::detail
