#pragma once
// What the targets have in common that make calls of bytes: small limits, and a clock that mostly goes forward.

#include <penstock/store/snapshot.hpp>

#include "conformance/rows.hpp"
#include "input.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace fuzz {

using namespace std::chrono_literals;
using conformance::nanoseconds;
using conformance::shape;
using conformance::units;

/// Few units, in a time that may be no whole number of nanoseconds to each.
inline shape some_shape(input& in) {
  constexpr nanoseconds periods[] = {1ns, 7ns, 1000ns, 999'999'937ns, 1s, 10s, 200s, 1h};
  shape s{1 + in.below(12), periods[in.below(8)], 1 + in.below(12)};
  if (s.period < 1000ns) s.count = 1 + s.count % 3;  // so that it can be kept
  return s;
}

/// The next reading: it stands, or goes on by a share of W or by a few nanoseconds, or lags.
class moving_clock {
 public:
  explicit moving_clock(nanoseconds full, nanoseconds longest_lag) : full_(full), lag_(longest_lag) {}

  nanoseconds next(input& in) {
    std::uint8_t const how = in.byte();
    switch (how >> 5) {
      case 0:
      case 1:
        return newest_;
      case 2:
        return newest_ += nanoseconds{how & 31};
      case 3:
        return newest_ += full_ / (1 + (how & 31));
      case 4:
        return newest_ += full_ + nanoseconds{(how & 31) - 16};
      case 5:
        return newest_ += (how & 31) * (full_ / 16);
      case 6:
        return newest_ - std::min(lag_, full_ / (1 + (how & 31)));
      default:
        return newest_ - std::min(lag_, nanoseconds{how & 31});
    }
  }
  /// A clock that is set, by as much as the input says, within a year.
  nanoseconds set(input& in) {
    constexpr std::int64_t year = 31'557'600'000'000'000;
    return newest_ = nanoseconds{in.signed_number() % year};
  }
  nanoseconds newest() const { return newest_; }

 private:
  nanoseconds full_, lag_, newest_ = 1h;
};

/// Gives a limiter a secret that is known, so that its keys have the same places in every run: by a snapshot of it that
/// has another secret. (Only a table has snapshots.)
template <class Limiter>
void know_the_secret(Limiter& limiter) {
  auto bytes = limiter.snapshot();
  constexpr std::size_t secret = 3;  // the words before it: mark, version, kind of states
  constexpr std::uint64_t words[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x9e3779b97f4a7c15};
  auto const write = [&](std::size_t at, std::uint64_t word) {
    for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::byte>(word >> 8 * i);
  };
  for (std::size_t i = 0; i < std::size(words); ++i) write(8 * (secret + i), words[i]);
  std::size_t const signature = bytes.size() - 8;
  write(signature, penstock::detail::checksum(std::span(bytes).first(signature)));
  limiter.restore(bytes);
}

}  // namespace fuzz
