#pragma once
// Counts what this thread takes from operator new, which allocations.cpp replaces for the whole program; and lets it
// fail.

#include <cstddef>
#include <limits>
#include <new>

struct allocations {
  std::size_t made = 0;      ///< calls of operator new
  std::ptrdiff_t bytes = 0;  ///< taken and not given back
};

/// Since the thread began.
allocations allocations_so_far() noexcept;

/// How many more allocations this thread gets before one fails, once.
std::size_t& allocations_left() noexcept;
inline constexpr std::size_t all_succeed = std::numeric_limits<std::size_t>::max();

/// Did f() throw because its allocation number `nth`, from 0, failed?
bool throws_at_allocation(std::size_t nth, auto f) {
  allocations_left() = nth;
  bool threw = false;
  try {
    f();
  } catch (std::bad_alloc const&) {
    threw = true;
  }
  allocations_left() = all_succeed;
  return threw;
}

/// What f() took.
allocations allocations_of(auto f) {
  allocations const before = allocations_so_far();
  f();
  allocations const after = allocations_so_far();
  return {after.made - before.made, after.bytes - before.bytes};
}
