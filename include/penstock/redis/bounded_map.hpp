#pragma once
// A small bounded map from fingerprints to values that expire: what a limiter remembers about keys between calls.
//
// Lines of four slots; a full line drops the value that expires first. Losing one may cost a round trip, the rest of a
// lease, or a wrong refusal for as long as refusals are remembered.

#include <penstock/key.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <vector>

namespace penstock::inline v0_1::redis::detail {

/// Value is default-constructible and has `until`, a time_point of steady_clock. Concurrency: safe from any thread; a
/// lock of one in 64 is held while a function runs.
template <class Value>
class bounded_map {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// For at least max_values; 0 holds none.
  explicit bounded_map(std::size_t max_values) : lines_(max_values == 0 ? 0 : std::bit_ceil((max_values + 3) / 4)) {}

  bool empty() const noexcept { return lines_.empty(); }

  /// use(value) on the value of this key that has not expired; false without one.
  template <class Use>
  bool find(fingerprint key, time_point now, Use use) {
    if (empty()) return false;
    std::size_t const at = place(key);
    std::lock_guard const guard(locks_[at % locks_.size()]);
    for (slot& s : lines_[at])
      if (s.key == key && s.value.until > now) return use(s.value), true;
    return false;
  }

  /// use(value) on the value of this key, a new one if there was none or it had expired.
  template <class Use>
  void put(fingerprint key, time_point now, Use use) {
    if (empty()) return;
    std::size_t const at = place(key);
    std::lock_guard const guard(locks_[at % locks_.size()]);
    auto& line = lines_[at];
    auto chosen = std::find_if(line.begin(), line.end(), [&](slot const& s) { return s.key == key; });
    if (chosen == line.end())
      chosen = std::min_element(line.begin(), line.end(),
                                [](slot const& a, slot const& b) { return a.value.until < b.value.until; });
    if (chosen->key != key || chosen->value.until <= now) *chosen = {key, Value{}};
    use(chosen->value);
  }

  void erase(fingerprint key) {
    find(key, time_point::min(), [](Value& v) { v = Value{}; });
  }

 private:
  struct slot {
    fingerprint key{};
    Value value{};
  };
  std::size_t place(fingerprint key) const noexcept {
    return static_cast<std::size_t>(key.place ^ key.place >> 32) & (lines_.size() - 1);
  }

  std::vector<std::array<slot, 4>> lines_;
  std::array<std::mutex, 64> locks_;
};

}  // namespace penstock::inline v0_1::redis::detail
