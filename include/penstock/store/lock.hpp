#pragma once
// A lock of one word that doubles as a sequence: odd while held, two higher after each change.
//
// Writers are short and never block inside, so waiting spins a little and then yields: with more threads than
// processors, whoever spins on keeps the holder from running. Readers do not write: they read the word, then the data,
// then the word again (H.-J. Boehm, "Can seqlocks get along with programming language memory models?", 2012). The data
// are atomics, read with acquire and written with release, which needs no fences.

#include <atomic>
#include <cstdint>
#include <thread>

namespace penstock::inline v0_1::detail {

/// Called each time somebody must wait; the first few are free.
class backoff {
 public:
  void operator()() noexcept {
    if (++tries_ > 16) std::this_thread::yield();
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    else
      __builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
    else
      asm volatile("yield");
#endif
  }

 private:
  int tries_ = 0;
};

class sequence_lock {
 public:
  void lock() noexcept {
    backoff wait;
    for (;;) {
      std::uint64_t seen = word_.load(std::memory_order_relaxed);
      if (!(seen & 1) &&
          word_.compare_exchange_weak(seen, seen | 1, std::memory_order_acquire, std::memory_order_relaxed))
        return;
      wait();
    }
  }
  void unlock() noexcept { word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  /// The version to read under; waits while somebody writes.
  std::uint64_t read_begin() const noexcept {
    for (backoff wait;; wait())
      if (std::uint64_t const version = word_.load(std::memory_order_acquire); !(version & 1)) return version;
  }
  /// After reading (atomics, with acquire): did nobody write meanwhile?
  bool unchanged_since(std::uint64_t version) const noexcept {
    return word_.load(std::memory_order_relaxed) == version;
  }
  /// Locks if nobody wrote since: what was read under `version` still holds.
  bool lock_at(std::uint64_t version) noexcept {
    return word_.compare_exchange_strong(version, version | 1, std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// Runs read() until no change lay between its beginning and its end; writes nothing. read() must touch atomics only
  /// and may see them in the middle of a change, in which case its result is dropped.
  template <class Read>
  auto consistent(Read read) const noexcept {
    for (backoff wait;; wait()) {
      std::uint64_t const version = read_begin();
      auto result = read();
      if (unchanged_since(version)) return result;
    }
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace penstock::inline v0_1::detail
