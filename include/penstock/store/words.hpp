#pragma once
// A small state as atomic words: what a reader may look at while a writer changes it.

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace penstock::inline v0_1::detail {

/// States that can be kept as words: copied by their bytes, and fresh when all bytes are zero.
template <class State>
concept word_state = std::is_trivially_copyable_v<State> && std::is_default_constructible_v<State> &&
                     sizeof(State) % sizeof(std::uint64_t) == 0;

template <word_state State>
inline constexpr std::size_t word_count = sizeof(State) / sizeof(std::uint64_t);

template <word_state State>
constexpr bool is_zero(State const& s) noexcept {
  return std::bit_cast<std::array<std::uint64_t, word_count<State>>>(s) ==
         std::array<std::uint64_t, word_count<State>>{};
}

template <word_state State>
class atomic_words {
 public:
  using plain = std::array<std::uint64_t, word_count<State>>;

  [[gnu::always_inline]] State load() const noexcept {
    plain words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_acquire);
    return std::bit_cast<State>(words);
  }
  void store(State const& s) noexcept {
    auto const words = std::bit_cast<plain>(s);
    for (std::size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_release);
  }
  /// Replaces seen by next, or reads what there is now into seen. One word only.
  [[gnu::always_inline]] bool replace(State& seen, State const& next) noexcept
    requires(word_count<State> == 1)
  {
    auto expected = std::bit_cast<plain>(seen)[0];
    if (words_[0].compare_exchange_weak(expected, std::bit_cast<plain>(next)[0], std::memory_order_acq_rel,
                                        std::memory_order_acquire))
      return true;
    seen = std::bit_cast<State>(plain{expected});
    return false;
  }

 private:
  std::array<std::atomic<std::uint64_t>, word_count<State>> words_{};
};

}  // namespace penstock::inline v0_1::detail
