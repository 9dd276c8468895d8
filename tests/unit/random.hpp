#pragma once
// Random steps that are the same on every machine: the engines of the standard library are, its distributions are not.

#include <bit>
#include <chrono>
#include <cstdint>
#include <random>

class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::chrono::nanoseconds up_to(std::chrono::nanoseconds most) {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most.count()) + 1))};
  }
  /// As often small as large: of random length, at most `digits` bits.
  std::uint64_t of_any_size(unsigned digits = 64) { return bits() >> (64 - digits) >> below(digits); }

 private:
  std::mt19937_64 engine_;
};
