#pragma once
// A pool of connections: opened when needed, at most so many, the one used last given out first; callers that must wait
// are served in the order in which they came.
//
// One absolute deadline covers the wait for a connection, its making, sending and receiving. A connection on which
// anything failed is closed: what comes over it later would be taken for the answer to another question.

#include <penstock/config_error.hpp>
#include <penstock/redis/check_time.hpp>
#include <penstock/redis/transport.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::inline v0_1::redis {

struct pool_options {
  std::size_t size = 8;
  std::chrono::nanoseconds connect_timeout =
      std::chrono::milliseconds{100};  ///< goes on while calls that waited for it have given up
  std::chrono::nanoseconds check_after =
      std::chrono::seconds{15};  ///< a connection idle for longer is looked at before use
};

struct pool_stats {
  std::size_t open = 0, idle = 0, waiting = 0;  ///< connections, those not in use, calls that wait for one
  std::uint64_t made = 0, dropped = 0;          ///< connections so far
};

namespace detail {

inline pool_options const& checked(pool_options const& o) {
  penstock::detail::check_range({"redis::pool_options", "size"}, o.size, 1, 10'000);
  check_time({"redis::pool_options", "connect_timeout"}, o.connect_timeout, std::chrono::nanoseconds{1}, longest_time);
  check_time({"redis::pool_options", "check_after"}, o.check_after, {}, longest_time);
  return o;
}

/// A Connection is made by begin(endpoint, deadline), null when that fails at once, and has:
///   establish(deadline) -> optional<io_error>   idempotent; what is not done at the deadline goes on, up to begin()'s
///   round_trip(words, answer_size, deadline) -> result<reply>
///   is_pending(), is_overdue(now)               not established; and its own time is over
///   came_through(deadline)                      one look at such a one: it has got further, and has until then to end
///   has_input()                                 something to read that nobody asked for, or the end
///   is_broken()
/// Concurrency: safe from any thread.
template <class Connection, class Endpoint>
class pool {
 public:
  pool(Endpoint endpoint, pool_options const& o) : endpoint_(std::move(endpoint)), options_(checked(o)) {
    idle_.reserve(options_.size);  // so that giving a connection back cannot fail
  }
  pool(pool const&) = delete;
  pool& operator=(pool const&) = delete;

  /// Sends one command; `first`, if not empty, just before it on the same connection. If that is answered by an error
  /// it is the answer, and the command is not sent.
  result<reply> run(std::span<std::string_view const> first, command const& c, deadline until) {
    loan l(*this);
    if (auto const failed = l.obtain(until)) return *failed;
    if (auto const failed = l.connection->establish(until)) return *failed;
    if (clock::now() >= until) return io_error{errc::timeout, sent::no};
    l.in_talk = true;
    auto answer = talk(*l.connection, first, c, until);
    l.in_talk = false;
    return answer;
  }

  pool_stats stats() const {
    std::lock_guard const guard(mutex_);
    return {open_, idle_.size(), waiting_, made_, dropped_};
  }

 private:
  using clock = std::chrono::steady_clock;
  using pointer = std::unique_ptr<Connection>;
  struct idle {
    pointer connection;
    clock::time_point since;
  };

  /// A call's turn: a place in the pool, with a connection or for one to be made.
  struct turn {
    bool given = false;
    pointer connection;
  };
  struct waiter : turn {
    std::condition_variable woken;
    waiter* next = nullptr;
  };

  /// A place in the pool and the connection in it; given back, or dropped, however the call ends.
  struct loan {
    pool& home;
    bool held = false;
    bool in_talk = false;  ///< an answer may be on its way, also when an exception ends the call
    pointer connection;
    explicit loan(pool& h) : home(h) {}
    loan(loan const&) = delete;
    loan& operator=(loan const&) = delete;
    ~loan() {
      if (held) home.put(in_talk ? nullptr : std::move(connection));
    }

    std::optional<io_error> obtain(deadline until) {
      turn mine = home.take(until);
      if (!mine.given) return io_error{errc::pool_timeout, sent::no};
      held = true;
      connection = std::move(mine.connection);
      if (connection == nullptr)
        connection = Connection::begin(home.endpoint_, clock::now() + home.options_.connect_timeout);
      if (connection == nullptr) return io_error{errc::refused, sent::no};
      return {};
    }
  };

  /// At a connection that was idle: it is dropped if it is of no use, also when that is found out by an exception.
  struct look {
    pool& home;
    bool is_usable = false;
    explicit look(pool& h) noexcept : home(h) {}
    look(look const&) = delete;
    look& operator=(look const&) = delete;
    ~look() {
      if (is_usable) return;
      home.drop();
      home.broken_at_ = clock::now();
    }
  };

  static result<reply> talk(Connection& over, std::span<std::string_view const> first, command const& c,
                            deadline until) {
    if (!first.empty()) {
      auto before = over.round_trip(first, 0, until);
      if (!before) return io_error{before.error().code, sent::no};
      if (before->is == reply::kind::error) return before;
    }
    return over.round_trip(c.words, c.answer_size, until);
  }

  /// Nobody waits while there is something to be had, so nobody can overtake who waits.
  turn take(deadline until) {
    std::unique_lock lock(mutex_);
    while (!idle_.empty()) {
      idle last = std::move(idle_.back());
      idle_.pop_back();
      look at_it(*this);
      at_it.is_usable = is_usable(last);
      if (at_it.is_usable) return {true, std::move(last.connection)};
    }
    if (open_ < options_.size) {
      ++open_;
      ++made_;
      return {true, nullptr};
    }
    waiter me;
    enqueue(me);
    while (!me.given && me.woken.wait_until(lock, until) != std::cv_status::timeout) {
    }
    if (!me.given) dequeue(me);
    return {me.given, std::move(me.connection)};
  }

  bool is_usable(idle const& i) {
    clock::time_point const now = clock::now();
    Connection& c = *i.connection;
    if (c.is_broken()) return false;
    if (c.is_pending()) return !c.is_overdue(now) || c.came_through(now + options_.connect_timeout);
    bool const trusted = now - i.since < options_.check_after && i.since > broken_at_;
    return trusted || !c.has_input();
  }

  void put(pointer connection) noexcept {
    std::lock_guard const guard(mutex_);
    if (connection == nullptr || connection->is_broken()) {
      // Whatever ended it may have ended those that were idle then: they are looked at before use.
      if (connection != nullptr) broken_at_ = clock::now();
      drop();
      if (first_ == nullptr) return;
      ++open_;
      ++made_;
      hand_over(nullptr);
    } else if (first_ != nullptr) {
      hand_over(std::move(connection));
    } else {
      auto const place = connection->is_pending() ? idle_.begin() : idle_.end();  // those that are ready go first
      idle_.insert(place, {std::move(connection), clock::now()});
    }
  }

  void drop() noexcept {
    --open_;
    ++dropped_;
  }

  void hand_over(pointer connection) noexcept {
    waiter& next = *first_;
    dequeue(next);
    next.given = true;
    next.connection = std::move(connection);
    next.woken.notify_one();  // under the lock: the waiter may be gone as soon as it can be had
  }
  void enqueue(waiter& w) noexcept {
    waiter** end = &first_;
    while (*end != nullptr) end = &(*end)->next;
    *end = &w;
    ++waiting_;
  }
  void dequeue(waiter& w) noexcept {
    waiter** at = &first_;
    while (*at != &w) at = &(*at)->next;
    *at = w.next;
    --waiting_;
  }

  Endpoint endpoint_;
  pool_options options_;
  mutable std::mutex mutex_;
  std::vector<idle> idle_;
  waiter* first_ = nullptr;  ///< of those that wait, in the order in which they came
  clock::time_point broken_at_ = clock::time_point::min();
  std::size_t open_ = 0, waiting_ = 0;
  std::uint64_t made_ = 0, dropped_ = 0;
};

}  // namespace detail
}  // namespace penstock::inline v0_1::redis
