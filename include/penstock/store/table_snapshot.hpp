#pragma once
// A table's part of a snapshot: its shape, the floors of its shards, and its keys slot by slot.

#include <penstock/algorithm.hpp>
#include <penstock/config_error.hpp>
#include <penstock/store/snapshot.hpp>
#include <penstock/store/table_layout.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace penstock::inline v0_1::detail {

/// Under traffic. Floors stand before the entries, but are read after them: a key that is dropped meanwhile is in one
/// or the other.
template <limiting_algorithm A>
void save_table(table_layout<typename A::state> const& table, A const& algorithm, instant now, snapshot_writer& out) {
  using state = typename A::state;
  out.word(table.shards());
  out.word(table.lines_in_shard());
  auto floors = out.leave_out(table.shards() * word_count<state>);
  for (std::size_t i = 0; i < table.lines(); ++i)
    for (std::size_t index = i * slot_line<state>::slots; auto const& [tag, held] : table.copy(i)) {
      if (!is_fresh(algorithm, held, now)) {
        out.word(index);
        out.word(tag);
        out.state(algorithm.relative(held, now));
      }
      ++index;
    }
  for (std::size_t i = 0; i < table.shards(); ++i) {
    auto const& head = *table.head_at(i);
    floors.state(algorithm.relative(head.lock.consistent([&] { return head.floor.load(); }), now));
  }
}

/// Not while others use the table.
template <limiting_algorithm A>
void load_table(table_layout<typename A::state>& table, A const& algorithm, instant now, instant then,
                snapshot_reader& in) {
  using state = typename A::state;
  constexpr std::size_t slots = slot_line<state>::slots, words = word_count<state>;
  in.expect("shards (max_keys)", table.shards());
  in.expect("lines (max_keys)", table.lines_in_shard());
  if (in.left() < table.shards() * words || (in.left() - table.shards() * words) % (2 + words) != 0)
    refuse("snapshot: it ends too early");
  auto check = in;
  for (std::size_t i = 0; i < table.shards(); ++i) check.state<state>();
  for (std::uint64_t before = 0; check.left() != 0;) {
    std::uint64_t const index = check.word();
    if (index >= table.slots() || index + 1 <= before) refuse("snapshot: its slots are out of order");
    before = index + 1;
    check.word();
    check.state<state>();
  }
  auto const arrived = [&](state const& relative) {
    state const s = algorithm.absolute(relative, then);
    return is_fresh(algorithm, s, now) ? state{} : s;
  };
  for (std::size_t i = 0; i < table.shards(); ++i) table.head_at(i)->floor.store(arrived(in.state<state>()));
  for (std::size_t i = 0; i < table.lines(); ++i)
    for (std::size_t k = 0; k < slots; ++k) {
      table.line_at(i)->tags[k].store(0, std::memory_order_release);
      table.line_at(i)->states[k].store(state{});
    }
  while (in.left() != 0) {
    auto const index = static_cast<std::size_t>(in.word());
    auto& line = *table.line_at(index / slots);
    line.tags[index % slots].store(in.word(), std::memory_order_release);
    line.states[index % slots].store(arrived(in.state<state>()));
  }
}

}  // namespace penstock::inline v0_1::detail
