#pragma once
// Numbers as the script packs them: doubles, the least byte first.

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace test {

inline std::string packed(std::vector<double> const& numbers) {
  std::string bytes;
  for (double const number : numbers)
    for (int byte = 0; byte < 8; ++byte)
      bytes.push_back(static_cast<char>(std::bit_cast<std::uint64_t>(number) >> 8 * byte & 0xff));
  return bytes;
}

}  // namespace test
