#pragma once
// A pool of connections: opened when needed, at most so many, the one used last given out first.
//
// One absolute deadline covers the wait for a connection, its making, sending and receiving. A connection on which
// anything failed is closed: what comes over it later would be taken for the answer to another question.

#include <penstock/redis/transport.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace penstock::inline v0_1::redis {

struct pool_options {
  std::size_t size = 8;
  std::chrono::nanoseconds connect_timeout =
      std::chrono::milliseconds{100};  ///< goes on while calls that waited for it have given up
  std::chrono::nanoseconds check_after =
      std::chrono::seconds{15};  ///< a connection idle for longer is looked at before use
};

struct pool_stats {
  std::size_t open = 0, idle = 0;
  std::uint64_t made = 0, dropped = 0;  ///< connections so far
};

namespace detail {

/// A Connection is made by begin(endpoint, deadline) (null when that fails at once) and has: establish(deadline) ->
/// optional<io_error>, idempotent; round_trip(words, deadline) -> result<reply>; is_pending(), made but not
/// established; is_broken(); has_input(), something to read that nobody asked for, or the end. Concurrency: safe from
/// any thread.
template <class Connection, class Endpoint>
class pool {
 public:
  pool(Endpoint endpoint, pool_options const& o) : endpoint_(std::move(endpoint)), options_(o) {}
  pool(pool const&) = delete;
  pool& operator=(pool const&) = delete;

  /// Sends one command; `first`, if not empty, just before it on the same connection.
  result<reply> run(std::span<std::string_view const> first, std::span<std::string_view const> words, deadline until) {
    auto taken = take(until);
    if (!taken) return taken.error();
    loan l(*this, std::move(*taken));
    if (auto const failed = l.connection->establish(until)) return *failed;
    if (!first.empty())
      if (auto const before = l.connection->round_trip(first, until); !before)
        return io_error{before.error().code, sent::no};
    return l.connection->round_trip(words, until);
  }

  pool_stats stats() const {
    std::lock_guard const guard(mutex_);
    return {open_, idle_.size(), made_, dropped_};
  }

 private:
  using clock = std::chrono::steady_clock;
  using pointer = std::unique_ptr<Connection>;
  struct idle {
    pointer connection;
    clock::time_point since;
  };

  /// Gives the connection back, or drops it, however the call ends.
  struct loan {
    pool& home;
    pointer connection;
    loan(pool& h, pointer c) : home(h), connection(std::move(c)) {}
    loan(loan const&) = delete;
    loan& operator=(loan const&) = delete;
    ~loan() { home.put(std::move(connection)); }
  };

  result<pointer> take(deadline until) {
    std::unique_lock lock(mutex_);
    for (;;) {
      while (!idle_.empty()) {
        idle last = std::move(idle_.back());
        idle_.pop_back();
        clock::time_point const now = clock::now();
        if (!last.connection->is_broken() &&
            (last.connection->is_pending() || now - last.since < options_.check_after || !last.connection->has_input()))
          return std::move(last.connection);
        drop();
      }
      if (open_ < options_.size) {
        ++open_;
        ++made_;
        lock.unlock();
        pointer made = Connection::begin(endpoint_, clock::now() + options_.connect_timeout);
        if (made) return made;
        lock.lock();
        drop();
        return io_error{errc::refused, sent::no};
      }
      if (free_.wait_until(lock, until) == std::cv_status::timeout && idle_.empty() && open_ >= options_.size)
        return io_error{errc::pool_timeout, sent::no};
    }
  }

  void put(pointer connection) {
    std::lock_guard const guard(mutex_);
    if (connection->is_broken())
      drop();
    else if (connection->is_pending())
      idle_.push_front({std::move(connection), clock::now()});
    else
      idle_.push_back({std::move(connection), clock::now()});
    free_.notify_one();
  }

  void drop() {
    --open_;
    ++dropped_;
    free_.notify_one();
  }

  Endpoint endpoint_;
  pool_options options_;
  mutable std::mutex mutex_;
  std::condition_variable free_;
  std::deque<idle> idle_;
  std::size_t open_ = 0;
  std::uint64_t made_ = 0, dropped_ = 0;
};

}  // namespace detail
}  // namespace penstock::inline v0_1::redis
