#pragma once
// A table of two lines, and keys that all live there: what happens in it can be told slot by slot.

#include <penstock/store/table.hpp>

#include <cstdint>
#include <optional>

namespace one_table {

template <class A>
using table_of = penstock::store::table::of<A, std::uint64_t>;

/// Keys that differ in their tags alone.
inline penstock::fingerprint key(std::uint64_t number) { return {number, 0}; }

template <class A>
void charge(table_of<A>& table, A const& a, std::uint64_t number, penstock::instant at, std::uint64_t units) {
  table.change(a, table.locate(key(number)), at, [&](auto& s) { return a.charge(s, at, penstock::cost{units}), true; });
}

/// What a call at this reading would begin with; there must be room.
template <class A>
typename A::state seen(table_of<A> const& table, A const& a, std::uint64_t number, penstock::instant at) {
  std::optional<typename A::state> found;
  table.look(a, table.locate(key(number)), at, [&](auto const& s) { found = s; });
  return found.value();
}

}  // namespace one_table
