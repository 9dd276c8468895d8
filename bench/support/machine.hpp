#pragma once
// The machine's own limits, registered by each program beside what they are the measure of.

#include "contenders.hpp"
#include "run.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bench::machine {

/// As much memory as a table of one-word states for that many keys, on huge pages where they can be had.
class memory {
 public:
  static constexpr std::size_t bytes_a_key = 28;
  struct alignas(64) line {
    std::atomic<std::uint64_t> word{0};
    std::uint32_t next = 0;
  };

  explicit memory(std::size_t keys) : count_(std::max<std::size_t>(1, keys * bytes_a_key / sizeof(line))) {
    constexpr std::size_t huge = std::size_t{2} << 20;
    raw_ = ::operator new(count_ * sizeof(line), std::align_val_t{huge});
#if defined(__linux__)
    static_cast<void>(::madvise(raw_, count_ * sizeof(line), MADV_HUGEPAGE));
#endif
    lines_ = new (raw_) line[count_];
    // One random cycle through all lines (S. Sattolo, 1986).
    for (std::size_t i = 0; i < count_; ++i) lines_[i].next = static_cast<std::uint32_t>(i);
    uniform random(count_);
    for (std::size_t i = count_; i-- > 1;) {
      std::size_t const j = static_cast<std::size_t>((random.next() * static_cast<std::uint64_t>(i)) / count_);
      std::swap(lines_[i].next, lines_[j].next);
    }
  }
  ~memory() { ::operator delete(raw_, std::align_val_t{std::size_t{2} << 20}); }
  memory(memory const&) = delete;
  memory& operator=(memory const&) = delete;

  std::size_t size() const noexcept { return count_; }
  line& operator[](std::size_t i) noexcept { return lines_[i]; }

 private:
  std::size_t count_;
  void* raw_;
  line* lines_;
};

inline memory& of_size(std::size_t keys) {
  return keep::or_make<memory>(name_of("machine", keys), [&] { return new memory(keys); });
}

/// A line at random, its word read, then swapped: what no table can do with less.
inline void load_and_update(benchmark::State& state, std::size_t keys) {
  memory& lines = of_size(keys);
  uniform random(lines.size());
  for (auto _ : state) {
    auto& word = lines[random.next()].word;
    std::uint64_t seen = word.load(std::memory_order_acquire);
    benchmark::DoNotOptimize(word.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel));
  }
}

/// The same with eighty simple instructions between the load and the swap, which wait for nothing. A processor looks a
/// few hundred instructions ahead, so the longer a call is, the fewer calls have their memory on its way at once: this,
/// not the arithmetic, is what a hash and a decision cost out of the cache.
inline void load_work_and_update(benchmark::State& state, std::size_t keys) {
  memory& lines = of_size(keys);
  uniform random(lines.size());
  for (auto _ : state) {
    auto& word = lines[random.next()].word;
    std::uint64_t seen = word.load(std::memory_order_acquire), work = 0;
    for (int i = 0; i < 20; ++i) {  // four instructions a turn
      benchmark::DoNotOptimize(work);
      work = static_cast<std::uint64_t>(i);
    }
    benchmark::DoNotOptimize(word.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel));
  }
}

inline void load(benchmark::State& state, std::size_t keys) {
  memory& lines = of_size(keys);
  uniform random(lines.size());
  for (auto _ : state) benchmark::DoNotOptimize(lines[random.next()].word.load(std::memory_order_acquire));
}

/// Each address known only when the line before has come.
inline void dependent_load(benchmark::State& state, std::size_t keys) {
  memory& lines = of_size(keys);
  std::uint32_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(at = lines[at].next);
}

inline void register_memory() {
  for (std::size_t const keys : key_counts()) {
    benchmark::RegisterBenchmark(name_of("machine", "load", keys).c_str(), [=](auto& s) { load(s, keys); });
    benchmark::RegisterBenchmark(name_of("machine", "load+update", keys).c_str(),
                                 [=](auto& s) { load_and_update(s, keys); });
    benchmark::RegisterBenchmark(name_of("machine", "load+80 instructions+update", keys).c_str(),
                                 [=](auto& s) { load_work_and_update(s, keys); });
    benchmark::RegisterBenchmark(name_of("machine", "dependent_load", keys).c_str(),
                                 [=](auto& s) { dependent_load(s, keys); });
  }
}

template <class Clock>
void register_clock() {
  benchmark::RegisterBenchmark(name_of("machine", clock_name<Clock>).c_str(), [](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(Clock::now());
  });
}

/// One word in the cache, and the clocks.
inline void register_word_and_clocks() {
  benchmark::RegisterBenchmark("machine/word/load", [](benchmark::State& state) {
    alignas(64) std::atomic<std::uint64_t> word{0};
    benchmark::DoNotOptimize(&word);
    for (auto _ : state) benchmark::DoNotOptimize(word.load(std::memory_order_acquire));
  });
  benchmark::RegisterBenchmark("machine/word/cas", [](benchmark::State& state) {
    alignas(64) std::atomic<std::uint64_t> word{0};
    benchmark::DoNotOptimize(&word);
    for (auto _ : state) {
      std::uint64_t seen = word.load(std::memory_order_acquire);
      benchmark::DoNotOptimize(word.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel));
    }
  });
  register_clock<std::chrono::steady_clock>();
  register_clock<penstock::tsc_clock>();
  register_clock<penstock::coarse_clock>();
#if defined(__x86_64__)
  benchmark::RegisterBenchmark("machine/rdtsc", [](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(__rdtsc());
  });
#endif
}

}  // namespace bench::machine
