// The smallest possible test frame: a failed check names its line, and the program's exit status says whether all held.
#pragma once

#include <cstdint>
#include <cstdio>
#include <random>

namespace oracle::test {

inline int failures = 0;

inline void check(bool held, char const* what, int line) {
  if (held) return;
  if (++failures <= 20) std::printf("line %d: not so: %s\n", line, what);
}

inline int verdict() {
  if (failures != 0) std::printf("%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}

// Uniform in [least, most], the same on every machine (the distributions of the standard library are not).
class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  std::int64_t roll(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace oracle::test

#define CHECK(...) ::oracle::test::check((__VA_ARGS__), #__VA_ARGS__, __LINE__)
