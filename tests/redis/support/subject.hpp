#pragma once
// A limiter of 100 units over a pool of its own, asked under a clock; and the server's side of a conversation.

#include "packed.hpp"
#include "server.hpp"

#include <support/catch.hpp>

#include <penstock/penstock.hpp>

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace test {

using namespace penstock::literals;
using penstock::cost;
using penstock::verdict;
using redis_limiter = redis::token_bucket<std::string>;
using std::chrono::steady_clock;

constexpr auto timeout = 40ms;
constexpr auto told = 7s;  // what the policy tells
/// How late a call may come back. It is late by what it does after its last wait, microseconds, and by the time until
/// the scheduler runs it again: that other programs decide, so it gets room here, and check_waited() looks at the rest.
constexpr auto slack = 60ms;

inline redis::options settings(std::chrono::nanoseconds t = timeout) {
  return {.timeout = t, .deny_cache = 0, .breaker = {.failures_in_a_row = 1000, .window_calls = 1000}};
}

/// The calls that ended at their deadline, and by how much they came late: said at the end.
class lateness {
 public:
  void note(std::chrono::nanoseconds late) {
    worst_ = std::max(worst_, late);
    best_ = std::min(best_, late);
    ++calls_;
  }
  std::chrono::nanoseconds best() const noexcept { return best_; }
  ~lateness() {
    using ms = std::chrono::duration<double, std::milli>;
    if (calls_ != 0)
      std::printf("%d calls ended at their deadline, late by %.3f ms (least) to %.3f ms (most)\n", calls_,
                  ms(best_).count(), ms(worst_).count());
  }

 private:
  std::chrono::nanoseconds worst_ = std::chrono::nanoseconds::min(), best_ = std::chrono::nanoseconds::max();
  int calls_ = 0;
};
inline lateness& all_lateness() {
  static lateness one;
  return one;
}

struct subject {
  explicit subject(redis::endpoint const& at, redis::pool_options const& pooled = {},
                   redis::options const& o = settings())
      : pool(at, pooled), limited(pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, o) {}

  /// Asks, and sees to it that the answer came in time.
  redis::remote_decision ask(std::string_view key = "k") {
    auto const [waits_before, work_before] = spent();
    auto const begun = steady_clock::now();
    auto const d = limited.allow(key);
    took = steady_clock::now() - begun;
    auto const [waits_after, work_after] = spent();
    waits = waits_after - waits_before;
    work = work_after - work_before;
    if (d.error == redis::errc::timeout) all_lateness().note(took - limit);
    CHECK(took < limit + slack);
    return d;
  }
  /// The call that ended at its deadline slept until then, in few waits, and did not spin.
  void check_waited() const {
    CHECK(took >= limit);
    CHECK(waits >= 1);
    CHECK(waits <= 8);
    if (limit >= timeout) CHECK(work < took / 2);  // not tighter: a virtual machine bills what its host took
  }
  redis::hiredis_pool pool;
  redis_limiter limited;
  std::chrono::nanoseconds took{}, limit = timeout, work{};
  long waits = 0;

 private:
  /// By this thread: how often it went to sleep, and the processor's time that it used.
  static std::pair<long, std::chrono::nanoseconds> spent() {
    rusage r{};
    ::getrusage(RUSAGE_THREAD, &r);
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return {r.ru_nvcsw, std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
  }
};

inline void check_degraded(redis::remote_decision const& d, redis::errc why) {
  CHECK(d.outcome == verdict::limited);
  CHECK(d.from == redis::origin::policy);
  CHECK(d.retry_after == told);
  CHECK(d.error == why);
}
inline void check_admitted(redis::remote_decision const& d, std::uint64_t remaining) {
  CHECK(d.error.message() == std::error_code{}.message());
  CHECK(d.outcome == verdict::admitted);
  CHECK(d.from == redis::origin::redis);
  CHECK(d.remaining == remaining);
}
/// The script's answer, as the server sends it.
inline std::string answer(std::vector<double> const& numbers) {
  std::string const bytes = packed(numbers);
  return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}
inline std::uint64_t used(server const& s) {
  subject witness(s.at(), {}, settings(5s));
  return 100 - witness.limited.peek("k", cost{0}).remaining;
}

}  // namespace test
