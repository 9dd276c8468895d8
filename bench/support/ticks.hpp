#pragma once
// How long one call takes, in ticks of the processor; and a fence that keeps two calls from overlapping.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>
#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <atomic>
#endif

namespace bench {

#if defined(__x86_64__)
/// Nothing after it begins before everything before it has ended.
inline void fence() noexcept { _mm_lfence(); }
inline std::uint64_t begin_ticks() noexcept {
  _mm_lfence();
  std::uint64_t const t = __rdtsc();
  _mm_lfence();
  return t;
}
inline std::uint64_t end_ticks() noexcept {
  unsigned processor;
  std::uint64_t const t = __rdtscp(&processor);  // waits for what is before it
  _mm_lfence();
  return t;
}
#else
inline void fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline std::uint64_t begin_ticks() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
inline std::uint64_t end_ticks() noexcept { return begin_ticks(); }
#endif

inline double ns_a_tick() {
  static double const measured = [] {
    using clock = std::chrono::steady_clock;
    auto const begin = clock::now();
    std::uint64_t const first = begin_ticks();
    while (clock::now() - begin < std::chrono::milliseconds{50}) {
    }
    std::uint64_t const last = end_ticks();
    return std::chrono::duration<double, std::nano>(clock::now() - begin).count() / static_cast<double>(last - first);
  }();
  return measured;
}

/// What single calls took. Its memory is touched beforehand, so that recording does not disturb.
class samples {
 public:
  explicit samples(std::size_t most) : ticks_(most) {}

  template <class Call>
  void time(Call call) {
    std::uint64_t const begin = begin_ticks();
    call();
    std::uint64_t const taken = end_ticks() - begin;
    if (count_ < ticks_.size())
      ticks_[count_++] = static_cast<std::uint32_t>(std::min<std::uint64_t>(taken, 0xffff'ffff));
  }
  std::size_t size() const noexcept { return count_; }
  bool full() const noexcept { return count_ == ticks_.size(); }

  /// In nanoseconds; share from 0 to 1, of which 1 is the worst.
  double quantile(double share) {
    if (count_ == 0) return 0;
    auto const at = static_cast<std::size_t>(share * static_cast<double>(count_ - 1));
    auto const nth = ticks_.begin() + static_cast<std::ptrdiff_t>(at);
    std::nth_element(ticks_.begin(), nth, ticks_.begin() + static_cast<std::ptrdiff_t>(count_));
    return static_cast<double>(*nth) * ns_a_tick();
  }

 private:
  std::vector<std::uint32_t> ticks_;
  std::size_t count_ = 0;
};

}  // namespace bench
