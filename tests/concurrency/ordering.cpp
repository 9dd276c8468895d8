// What one thread wrote before it published something is there for whoever sees that published. A processor that keeps
// the order anyway shows nothing here; ThreadSanitizer does, on plain variables that only that order protects.

#include "threads.hpp"

#include <penstock/plan.hpp>
#include <penstock/store/lock.hpp>
#include <penstock/store/words.hpp>

#include <array>

using namespace concurrency;
using penstock::detail::atomic_words;
using penstock::detail::sequence_lock;

namespace {

struct word {
  std::uint64_t value;
};
struct two_words {
  std::uint64_t first, second;
};

constexpr std::uint64_t changed = 2;  // the version of a lock after one change

/// One thread writes and publishes, the other waits until it sees that and reads; again and again, on new memory.
template <class Published>
std::size_t misread(auto const& publish, auto const& is_published) {
  struct message {
    Published published{};
    std::uint64_t text = 0;
  };
  std::vector<message> messages(200);
  std::atomic<std::size_t> wrong{0};
  on_threads(2, [&](std::size_t thread) {
    for (message& m : messages)
      if (thread == 0) {
        m.text = 42;
        publish(m.published);
      } else {
        while (!is_published(m.published)) std::this_thread::yield();
        if (m.text != 42) ++wrong;
      }
  });
  return wrong;
}

}  // namespace

TEST_CASE("what was written before words were stored or swapped is there for who loads them", "[order]") {
  CHECK(misread<atomic_words<word>>([](auto& w) { w.store({1}); }, [](auto const& w) { return w.load().value == 1; }) ==
        0);
  CHECK(misread<atomic_words<two_words>>([](auto& w) { w.store({1, 2}); },
                                         [](auto const& w) { return w.load().second == 2; }) == 0);
  auto const swap = [](auto& w, std::uint64_t from, std::uint64_t to) {
    word seen{from};
    return w.replace(seen, {to});
  };
  CHECK(misread<atomic_words<word>>(
            [&](auto& w) {
              while (!swap(w, 0, 1)) continue;
            },
            [](auto const& w) { return w.load().value == 1; }) == 0);
  CHECK(misread<atomic_words<word>>([](auto& w) { w.store({1}); }, [&](auto& w) { return swap(w, 1, 2); }) == 0);
}

TEST_CASE("what was written under a lock is there for the next holder, and for who begins to read", "[order]") {
  auto const change = [](sequence_lock& lock) {
    lock.lock();
    lock.unlock();
  };
  CHECK(misread<sequence_lock>(change, [](auto const& lock) { return lock.read_begin() == changed; }) == 0);
  CHECK(misread<sequence_lock>(change, [](auto& lock) {
          if (!lock.lock_at(changed)) return false;
          lock.unlock();
          return true;
        }) == 0);

  sequence_lock lock;
  std::uint64_t count = 0;  // plain, and counted exactly all the same
  on_threads(4, [&](std::size_t) {
    for (int i = 0; i < 500; ++i) {
      lock.lock();
      std::uint64_t const seen = count;
      if (i % 8 == 0) std::this_thread::yield();
      count = seen + 1;
      lock.unlock();
    }
  });
  CHECK(count == 2'000);
}

TEST_CASE("a reader under a sequence lock never sees half a change", "[order]") {
  sequence_lock lock;
  std::array<atomic_words<word>, 2> halves;
  std::atomic<std::size_t> torn{0};
  std::atomic<bool> over{false};
  on_threads(3, [&](std::size_t thread) {
    if (thread == 0) {
      for (std::uint64_t i = 1; i <= 300; ++i) {
        lock.lock();
        halves[0].store({i});
        std::this_thread::yield();
        halves[1].store({i});
        lock.unlock();
        if (i % 4 == 0) std::this_thread::yield();
      }
      over = true;
      return;
    }
    while (!over) {
      auto const seen = lock.consistent([&] { return std::array{halves[0].load().value, halves[1].load().value}; });
      if (seen[0] != seen[1]) ++torn;
    }
  });
  CHECK(torn == 0);
}

TEST_CASE("who sees a new configuration in force sees all of it", "[order]") {
  using bucket = penstock::algorithm::token_bucket;
  penstock::instant const now{};
  std::size_t wrong = 0;
  for (int round = 0; round < 50; ++round) {
    bucket const first({.refill = penstock::per_second(1), .burst = 10});
    penstock::detail::plans<bucket> plans(first);
    on_threads(2, [&](std::size_t thread) {
      if (thread == 0) {
        plans.publish(first.successor({.refill = penstock::per_second(1), .burst = 20}), now);
      } else {
        while (plans.current().algorithm.size() != 20) std::this_thread::yield();
        if (plans.current().algorithm.full_use() != 20s) ++wrong;
      }
    });
  }
  CHECK(wrong == 0);
}
