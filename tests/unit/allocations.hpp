#pragma once
// Counts what this thread takes from operator new, which allocations.cpp replaces for the whole program.

#include <cstddef>

struct allocations {
  std::size_t made = 0;      ///< calls of operator new
  std::ptrdiff_t bytes = 0;  ///< taken and not given back
};

/// Since the thread began.
allocations allocations_so_far() noexcept;

/// What f() took.
allocations allocations_of(auto f) {
  allocations const before = allocations_so_far();
  f();
  allocations const after = allocations_so_far();
  return {after.made - before.made, after.bytes - before.bytes};
}
