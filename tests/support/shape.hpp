#pragma once
// The numbers that a limit is made of, whatever its algorithm.

#include <chrono>
#include <cstdint>
#include <ostream>

namespace support {

/// `count` units come back in `period`, and at most `size` are there at once. (To windows and logs `count` is all.)
struct shape {
  std::uint64_t count = 1;
  std::chrono::nanoseconds period{1};
  std::uint64_t size = 1;
};
inline std::ostream& operator<<(std::ostream& to, shape const& s) {
  return to << s.count << " per " << s.period.count() << " ns, at most " << s.size;
}

}  // namespace support
