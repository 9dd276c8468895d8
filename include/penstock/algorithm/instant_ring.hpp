#pragma once
// A ring of {instant, units}, oldest first, that can be searched by age and by amount: the memory of a sliding log.
//
// Each entry holds the running sum of the units up to itself, so that "how many since t" and "by when will u units be
// gone" are binary searches. It grows by doubling and gives memory back when three quarters of it are idle.

#include <cstddef>
#include <cstdint>
#include <utility>

namespace penstock::inline v0_1::detail {

class instant_ring {
  struct entry {
    std::int64_t at;
    std::uint64_t sum;
  };

  /// The first index for which `holds`, once true, stays true.
  constexpr std::size_t first(auto holds) const noexcept {
    std::size_t low = 0, high = size_;
    while (low < high) {
      std::size_t const middle = low + (high - low) / 2;
      holds(middle) ? high = middle : low = middle + 1;
    }
    return low;
  }

 public:
  constexpr instant_ring() noexcept = default;
  constexpr instant_ring(instant_ring const& other) : dropped_(other.dropped_) {
    if (other.size_ != 0) reallocate(other, other.capacity_);
  }
  constexpr instant_ring(instant_ring&& other) noexcept { swap(other); }
  constexpr instant_ring& operator=(instant_ring other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~instant_ring() { delete[] entries_; }

  constexpr std::size_t size() const noexcept { return size_; }
  constexpr std::size_t capacity() const noexcept { return capacity_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr std::int64_t at(std::size_t i) const noexcept { return slot(i).at; }
  constexpr std::int64_t newest() const noexcept { return at(size_ - 1); }
  constexpr std::uint64_t units(std::size_t i) const noexcept { return slot(i).sum - sum_before(i); }

  /// Units of the entries from i on.
  constexpr std::uint64_t units_from(std::size_t i) const noexcept {
    return (empty() ? dropped_ : slot(size_ - 1).sum) - sum_before(i);
  }

  /// The first entry that is later than t.
  constexpr std::size_t first_after(std::int64_t t) const noexcept {
    return first([&](std::size_t i) { return at(i) > t; });
  }

  /// The entry from `from` on with which `wanted` units are reached; size() when there are fewer.
  constexpr std::size_t reaching(std::size_t from, std::uint64_t wanted) const noexcept {
    std::uint64_t const before = sum_before(from);
    return first([&](std::size_t i) { return i >= from && slot(i).sum - before >= wanted; });
  }

  /// Adds units at t, which is not before the newest entry. Throws std::bad_alloc, nothing changed.
  constexpr void add(std::int64_t t, std::uint64_t units) {
    if (empty() || newest() != t) {
      if (size_ == capacity_) reallocate(*this, capacity_ == 0 ? 4 : 2 * capacity_);
      std::uint64_t const sum = units_from(0) + dropped_;
      ++size_;
      slot(size_ - 1) = {t, sum};
    }
    slot(size_ - 1).sum += units;
  }

  /// Drops the first n entries.
  constexpr void drop_front(std::size_t n) noexcept {
    dropped_ = sum_before(n);
    head_ = capacity_ == 0 ? 0 : (head_ + n) % capacity_;
    size_ -= n;
    give_back();
  }

  /// Takes up to `units` from entry i.
  constexpr void take(std::size_t i, std::uint64_t wanted) noexcept {
    std::uint64_t const taken = wanted < units(i) ? wanted : units(i);
    for (std::size_t k = i; k < size_; ++k) slot(k).sum -= taken;
    if (units(i) != 0) return;
    for (std::size_t k = i + 1; k < size_; ++k) slot(k - 1) = slot(k);
    --size_;
    give_back();
  }

  friend constexpr bool operator==(instant_ring const& a, instant_ring const& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (a.at(i) != b.at(i) || a.units(i) != b.units(i)) return false;
    return true;
  }

 private:
  constexpr entry& slot(std::size_t i) const noexcept {
    std::size_t const place = head_ + i;
    return entries_[place < capacity_ ? place : place - capacity_];
  }
  constexpr std::uint64_t sum_before(std::size_t i) const noexcept { return i == 0 ? dropped_ : slot(i - 1).sum; }

  constexpr void reallocate(instant_ring const& from, std::size_t capacity) {
    auto* const entries = new entry[capacity];
    for (std::size_t i = 0; i < from.size_; ++i) entries[i] = from.slot(i);
    std::size_t const size = from.size_;
    delete[] entries_;
    entries_ = entries;
    capacity_ = capacity;
    head_ = 0;
    size_ = size;
  }

  constexpr void give_back() noexcept {
    if (size_ == 0) {
      delete[] std::exchange(entries_, nullptr);
      capacity_ = head_ = 0;
      dropped_ = 0;
    } else if (capacity_ > 16 && size_ <= capacity_ / 4) {
#if defined(__cpp_exceptions)
      try {
        reallocate(*this, capacity_ / 2);
      } catch (...) {  // no memory to move to: keep what there is
      }
#else
      reallocate(*this, capacity_ / 2);
#endif
    }
  }

  constexpr void swap(instant_ring& other) noexcept {
    std::swap(entries_, other.entries_);
    std::swap(capacity_, other.capacity_);
    std::swap(head_, other.head_);
    std::swap(size_, other.size_);
    std::swap(dropped_, other.dropped_);
  }

  entry* entries_ = nullptr;
  std::size_t capacity_ = 0, head_ = 0, size_ = 0;
  std::uint64_t dropped_ = 0;  ///< the running sum before the first entry
};

}  // namespace penstock::inline v0_1::detail
