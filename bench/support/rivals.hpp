#pragma once
// What people write when they have no library: a bucket of doubles, behind a mutex, in a map.
//
// Written as well as such code is: no temporary string for a lookup, the clock read outside the lock, the maps reserved
// beforehand. None of them ever forgets a key.

#include <oneapi/tbb/concurrent_hash_map.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace bench {

struct double_bucket {
  static constexpr double burst = 1e12, tokens_a_ns = 1.0;
  double tokens = burst;
  std::int64_t last = 0;

  bool take(std::int64_t now) noexcept {
    tokens = std::min(burst, tokens + static_cast<double>(std::max<std::int64_t>(now - last, 0)) * tokens_a_ns);
    last = std::max(last, now);
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  }
};

template <class Clock>
class mutex_and_double {
 public:
  using clock = Clock;
  static constexpr char const* name = "mutex+double";

  bool allow_at(typename Clock::time_point now) {
    std::lock_guard const guard(mutex_);
    return bucket_.take(now.time_since_epoch().count());
  }
  bool allow() { return allow_at(Clock::now()); }
  void set(double tokens) { bucket_.tokens = tokens; }

 private:
  alignas(64) std::mutex mutex_;
  double_bucket bucket_;
};

/// Finds strings by view.
template <class Key>
struct hash_of {
  using is_transparent = void;
  using view = std::conditional_t<std::is_same_v<Key, std::string>, std::string_view, Key>;
  std::size_t operator()(view key) const noexcept { return std::hash<view>{}(key); }
};
template <class Key>
using bucket_map = std::unordered_map<Key, double_bucket, hash_of<Key>, std::equal_to<>>;

template <class Key>
double_bucket& bucket_in(bucket_map<Key>& map, typename hash_of<Key>::view key) {
  if (auto const held = map.find(key); held != map.end()) return held->second;
  return map.emplace(Key(key), double_bucket{}).first->second;
}

template <class Keys, class Clock>
class map_and_mutex {
 public:
  using keys = Keys;
  using clock = Clock;
  static constexpr char const* name = "unordered_map+mutex";

  explicit map_and_mutex(std::size_t expected) { map_.reserve(expected); }
  bool allow_at(typename Clock::time_point now, typename Keys::argument key) {
    std::lock_guard const guard(mutex_);
    return bucket_in<typename Keys::type>(map_, key).take(now.time_since_epoch().count());
  }
  bool allow(typename Keys::argument key) { return allow_at(Clock::now(), key); }
  void set(typename Keys::argument key, double tokens) { bucket_in<typename Keys::type>(map_, key).tokens = tokens; }

 private:
  std::mutex mutex_;
  bucket_map<typename Keys::type> map_;
};

template <class Keys, class Clock>
class sharded_maps {
 public:
  using keys = Keys;
  using clock = Clock;
  static constexpr char const* name = "64 shards";

  explicit sharded_maps(std::size_t expected) : shards_(std::make_unique<std::array<shard, 64>>()) {
    for (auto& s : *shards_) s.map.reserve(expected / 64 + expected / 512);
  }
  bool allow_at(typename Clock::time_point now, typename Keys::argument key) {
    shard& s = shard_of(key);
    std::lock_guard const guard(s.mutex);
    return bucket_in<typename Keys::type>(s.map, key).take(now.time_since_epoch().count());
  }
  bool allow(typename Keys::argument key) { return allow_at(Clock::now(), key); }
  void set(typename Keys::argument key, double tokens) {
    bucket_in<typename Keys::type>(shard_of(key).map, key).tokens = tokens;
  }

 private:
  struct alignas(64) shard {
    std::mutex mutex;
    bucket_map<typename Keys::type> map;
  };
  /// By bits that the map inside does not use.
  shard& shard_of(typename Keys::argument key) noexcept {
    return (*shards_)[static_cast<std::uint64_t>(hash_of<typename Keys::type>{}(key)) * 0x9e37'79b9'7f4a'7c15 >> 58];
  }
  std::unique_ptr<std::array<shard, 64>> shards_;
};

/// oneTBB's map, its accessor held while the bucket changes.
template <class Keys, class Clock>
class tbb_map {
 public:
  using keys = Keys;
  using clock = Clock;
  static constexpr char const* name = "oneTBB";

  explicit tbb_map(std::size_t expected) : map_(expected) {}
  bool allow_at(typename Clock::time_point now, typename Keys::argument key) {
    typename map::accessor held;
    if (!map_.find(held, key)) map_.insert(held, typename Keys::type(key));
    return held->second.take(now.time_since_epoch().count());
  }
  bool allow(typename Keys::argument key) { return allow_at(Clock::now(), key); }
  void set(typename Keys::argument key, double tokens) {
    typename map::accessor held;
    map_.insert(held, typename Keys::type(key));
    held->second.tokens = tokens;
  }

 private:
  struct compare {
    using is_transparent = void;
    using view = typename hash_of<typename Keys::type>::view;
    static std::size_t hash(view key) noexcept { return hash_of<typename Keys::type>{}(key); }
    static bool equal(view a, view b) noexcept { return a == b; }
  };
  using map = oneapi::tbb::concurrent_hash_map<typename Keys::type, double_bucket, compare>;
  map map_;
};

}  // namespace bench
