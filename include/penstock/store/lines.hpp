#pragma once
// One zeroed allocation of cache lines, and a cache line of tagged slots: what the table is made of.

#include <penstock/store/words.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace penstock::inline v0_1::detail {

inline constexpr std::size_t line_bytes = 64;

[[gnu::always_inline]] inline void prefetch_for_write([[maybe_unused]] void const* at) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(at, 1);
#endif
}

/// Lines that read as zero and cost no memory until touched. Throws std::bad_alloc.
class zeroed_lines {
 public:
  explicit zeroed_lines(std::size_t lines) {
    std::size_t bytes = (lines + 1) * line_bytes;
    raw_.reset(std::calloc(lines + 1, line_bytes));
    if (!raw_) {
#if defined(__cpp_exceptions)
      throw std::bad_alloc();
#else
      std::abort();
#endif
    }
    first_ = raw_.get();
    first_ = std::align(line_bytes, lines * line_bytes, first_, bytes);
#if defined(__linux__)
    advise_huge_pages(lines * line_bytes);
#endif
  }
  template <class T>
  T* at(std::size_t line) const noexcept {
    static_assert(sizeof(T) == line_bytes && alignof(T) == line_bytes);
    return static_cast<T*>(first_) + line;
  }

 private:
#if defined(__linux__)
  /// With four-kilobyte pages, a table out of cache misses the TLB on every call too.
  void advise_huge_pages(std::size_t bytes) const noexcept {
    constexpr std::uintptr_t page = 4096, huge = std::uintptr_t{2} << 20;
    if (bytes < 2 * huge) return;
    auto const begin = (reinterpret_cast<std::uintptr_t>(first_) + page - 1) / page * page;
    auto const end = (reinterpret_cast<std::uintptr_t>(first_) + bytes) / page * page;
    static_cast<void>(
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));  // advice: may be declined
  }
#endif
  struct release {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<void, release> raw_;
  void* first_ = nullptr;
};

#if defined(__SANITIZE_THREAD__)
inline constexpr bool compare_tags_one_by_one = true;
#elif defined(__has_feature)
inline constexpr bool compare_tags_one_by_one = __has_feature(thread_sanitizer);
#else
inline constexpr bool compare_tags_one_by_one = false;
#endif

/// A cache line of slots, tags first: four states of one word, or two of two or three.
template <word_state State>
struct alignas(line_bytes) slot_line {
  static constexpr std::size_t slots = line_bytes / (sizeof(std::uint64_t) + sizeof(State));

  std::array<std::atomic<std::uint64_t>, slots> tags;
  std::array<atomic_words<State>, slots> states;

  /// Which of the slots of two lines has this tag: its number, the second line's counted on; or 2 * slots. A hint while
  /// others write: whoever uses the slot must look at its tag again.
  [[gnu::always_inline]] static std::size_t find(slot_line const& a, slot_line const& b, std::uint64_t tag) noexcept {
#if defined(__SSE2__)
    if constexpr (slots == 4 && !compare_tags_one_by_one) {
      // No branch between the two lines: one that is mispredicted would wait for the cache miss. SSE2 compares halves.
      __m128i const wanted = _mm_set1_epi64x(static_cast<long long>(tag));
      auto const halves = static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(a.equal(wanted), b.equal(wanted))));
      unsigned const found = halves & halves >> 1 & 0x5555U;
      return found == 0 ? 2 * slots : static_cast<unsigned>(std::countr_zero(found)) / 2;
    }
#endif
    std::size_t found = 2 * slots;
    for (std::size_t i = slots; i-- > 0;) found = b.tags[i].load(std::memory_order_acquire) == tag ? slots + i : found;
    for (std::size_t i = slots; i-- > 0;) found = a.tags[i].load(std::memory_order_acquire) == tag ? i : found;
    return found;
  }

#if defined(__SSE2__)
 private:
  [[gnu::always_inline]] __m128i equal(__m128i wanted) const noexcept {
    auto const* const at = reinterpret_cast<__m128i const*>(tags.data());
    return _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(at), wanted),
                           _mm_cmpeq_epi32(_mm_load_si128(at + 1), wanted));
  }
#endif
};

}  // namespace penstock::inline v0_1::detail
