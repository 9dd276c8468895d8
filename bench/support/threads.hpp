#pragma once
// Several threads that start together, each on a processor of its own where there are enough.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>
#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace bench {

inline void pin_to_processor([[maybe_unused]] unsigned n) noexcept {
#if defined(__linux__)
  cpu_set_t allowed;
  if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0) return;
  auto const count = static_cast<unsigned>(CPU_COUNT(&allowed));
  unsigned skip = count == 0 ? 0 : n % count;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof one, &one));  // a wish
      return;
    }
#endif
}

/// Runs work(n) on thread n of `count`, all at once; from the first start to the last end.
template <class Work>
std::chrono::duration<double> together(unsigned count, Work work) {
  using clock = std::chrono::steady_clock;
  struct alignas(64) span {
    clock::time_point begin, end;
  };
  std::vector<span> spans(count);
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> threads;
  for (unsigned n = 0; n < count; ++n)
    threads.emplace_back([&, n] {
      pin_to_processor(n);
      ++ready;
      while (ready.load() < count) std::this_thread::yield();
      spans[n].begin = clock::now();
      work(n);
      spans[n].end = clock::now();
    });
  for (auto& thread : threads) thread.join();
  auto const first =
      std::min_element(spans.begin(), spans.end(), [](auto& a, auto& b) { return a.begin < b.begin; })->begin;
  auto const last = std::max_element(spans.begin(), spans.end(), [](auto& a, auto& b) { return a.end < b.end; })->end;
  return last - first;
}

}  // namespace bench
