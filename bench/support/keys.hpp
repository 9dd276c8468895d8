#pragma once
// Which key comes next, at a cost that disappears beside what is measured.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Every key as often as any other. A linear congruential generator (Knuth's MMIX): one multiplication and one
/// addition, independent of whatever the calls load, so that a processor can run ahead as it would in a server.
class uniform {
 public:
  static constexpr char const* name = "uniform";
  explicit uniform(std::size_t keys, std::uint64_t seed = 1) : keys_(keys), x_(seed * 0x9e37'79b9'7f4a'7c15) {}
  std::size_t next() noexcept {
    x_ = x_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::size_t>((x_ >> 32) * keys_ >> 32);
  }

 private:
  std::uint64_t keys_, x_;
};

/// A few keys much more often: the k-th with a probability of 1/k^0.99, as in YCSB. Drawn beforehand into an array that
/// is then read in order; W. Hoermann and G. Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", 1996.
class zipf {
 public:
  static constexpr char const* name = "zipf";
  explicit zipf(std::size_t keys, std::uint64_t seed = 1) : draws_(std::size_t{1} << 22), at_(seed) {
    constexpr double exponent = 0.99;
    auto const n = static_cast<double>(keys);
    auto const integral = [](double x) { return (std::pow(x, 1 - exponent) - 1) / (1 - exponent); };
    auto const inverse = [](double y) { return std::pow(1 + y * (1 - exponent), 1 / (1 - exponent)); };
    double const low = integral(1.5) - 1, high = integral(n + 0.5);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> between(low, high);
    for (auto& draw : draws_) {
      for (;;) {
        double const u = between(random);
        double const k = std::clamp(std::floor(inverse(u) + 0.5), 1.0, n);
        if (u < integral(k + 0.5) - std::pow(k, -exponent)) continue;
        // Popular keys must not be neighbours: spread the ranks.
        draw = static_cast<std::uint32_t>((static_cast<std::uint64_t>(k) * 2654435761 >> 5) % keys);
        break;
      }
    }
  }
  std::size_t next() noexcept { return draws_[++at_ & (draws_.size() - 1)]; }

 private:
  std::vector<std::uint32_t> draws_;
  std::size_t at_;
};

/// Key number i as an integer: spread over all 64 bits, as identifiers are.
struct integers {
  static constexpr char const* name = "integer";
  using type = std::uint64_t;
  using argument = std::uint64_t;
  class maker {
   public:
    argument operator()(std::size_t i) noexcept { return (static_cast<std::uint64_t>(i) + 1) * 0x9e37'79b9'7f4a'7c15; }
  };
};

/// Key number i as a text of 16 bytes: "request:" and eight letters. Written into a buffer by the call that uses it, so
/// that reading the text from memory is not part of what is measured.
struct texts {
  static constexpr char const* name = "text";
  using type = std::string;
  using argument = std::string_view;
  class maker {
   public:
    argument operator()(std::size_t i) noexcept {
      std::uint64_t x = static_cast<std::uint64_t>(i);  // spread the eight half bytes over eight bytes
      x = (x | x << 16) & 0x0000'ffff'0000'ffff;
      x = (x | x << 8) & 0x00ff'00ff'00ff'00ff;
      x = ((x | x << 4) & 0x0f0f'0f0f'0f0f'0f0f) + 0x6161'6161'6161'6161;
      std::memcpy(text_.data() + 8, &x, 8);
      return {text_.data(), text_.size()};
    }

   private:
    std::array<char, 16> text_{'r', 'e', 'q', 'u', 'e', 's', 't', ':'};
  };
};

}  // namespace bench
