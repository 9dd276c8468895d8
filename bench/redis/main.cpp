// What a decision in Redis costs: server time, round trip, memory; what deny cache and leases save; several threads.
//
//   bench_redis [calls]    for each figure; 20000
//
// Server time is the server's own (INFO commandstats, which counts the script and what it calls once each). Leave the
// machine alone meanwhile.

#include "support/server.hpp"

#include <penstock/penstock.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace penstock::literals;
using penstock::cost;
namespace algorithm = penstock::algorithm;
namespace redis = penstock::redis;
using std::chrono::steady_clock;

int calls = 20'000;
redis::options const plain{.timeout = 1s, .deny_cache = 0};

struct figures {
  double server_us = 0, median_us = 0, p99_us = 0;
};

double server_time(redis::hiredis_pool& pool) {
  auto const info = test::say(pool, {"INFO", "commandstats"}).text;
  auto const at = info.find("cmdstat_evalsha:");
  if (at == std::string::npos) return 0;
  auto const per_call = info.find("usec_per_call=", at);
  return std::stod(info.substr(per_call + 14));
}

/// Runs ask() `calls` times, after a few to warm up.
figures measure(redis::hiredis_pool& pool, auto ask) {
  for (int i = 0; i < std::max(calls / 20, 1); ++i) ask();
  test::say(pool, {"CONFIG", "RESETSTAT"});
  std::vector<double> us;
  for (int i = 0; i < calls; ++i) {
    auto const begun = steady_clock::now();
    ask();
    us.push_back(std::chrono::duration<double, std::micro>(steady_clock::now() - begun).count());
  }
  std::sort(us.begin(), us.end());
  return {server_time(pool), us[us.size() / 2], us[us.size() * 99 / 100]};
}

template <class A>
void one(redis::hiredis_pool& pool, typename A::config const& roomy, typename A::config const& tight) {
  static int count = 0;
  std::string const id = "one" + std::to_string(++count);
  redis::limiter<A, std::string, redis::hiredis_pool> open(pool, id, roomy, redis::fail_open{}, plain), full(pool, id + "full", tight, redis::fail_open{}, plain);
  auto const admitted = measure(pool, [&] { (void)open.allow("user:123456"); });
  std::string const key = redis::key_of("user:123456", id);
  auto const bytes = test::number(pool, {"MEMORY", "USAGE", key, "SAMPLES", "0"});
  (void)full.allow("user:123456");
  auto const refused = measure(pool, [&] { (void)full.allow("user:123456"); });
  std::printf("| %-15s | %8.2f | %8.2f | %7.1f | %7.1f | %7lld |\n", A::name.data(), admitted.server_us, refused.server_us, admitted.median_us, admitted.p99_us, static_cast<long long>(bytes));
}

template <std::size_t... I>
void stack_of(redis::hiredis_pool& pool, std::vector<std::unique_ptr<redis::token_bucket<std::string>>>& limits, std::index_sequence<I...>) {
  auto const self = [](std::string const& who) { return std::string_view(who); };
  static constexpr const char* names[] = {"a", "b", "c", "d", "e"};
  auto atomic = redis::stack(penstock::layer(names[I], *limits[I], self)...);
  auto apart = redis::sequential(penstock::layer(names[I], *limits[I], self)...);
  std::string const user = "user:123456";
  auto const together = measure(pool, [&] { (void)atomic.allow(user); });
  auto const one_by_one = measure(pool, [&] { (void)apart.allow(user); });
  std::printf("| %zu | %8.2f | %7.1f | %7.1f | %7.1f |\n", sizeof...(I), together.server_us, together.median_us, together.p99_us, one_by_one.median_us);
}

/// Nanoseconds a call that needs no round trip, at best of a few runs.
double nanoseconds(auto ask) {
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    auto const begun = steady_clock::now();
    for (int i = 0; i < calls; ++i) ask();
    best = std::min(best, std::chrono::duration<double, std::nano>(steady_clock::now() - begun).count() / calls);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) calls = std::stoi(argv[1]);
  test::server server;
  redis::hiredis_pool pool(server.at(), {.size = 16});
  auto const many = penstock::per_second(10'000'000);

  std::printf("one limit | admitted, server us | refused, server us | round trip us, median | p99 | bytes a key\n");
  one<algorithm::token_bucket>(pool, {.refill = many}, {.refill = "1/d"_rate});
  one<algorithm::leaky_meter>(pool, {.drain = many}, {.drain = "1/d"_rate});
  one<algorithm::leaky_queue>(pool, {.drain = many}, {.drain = "1/d"_rate});
  one<algorithm::fixed_window>(pool, {.limit = "10000000/d"_rate}, {.limit = "1/1000 d"_rate});
  one<algorithm::sliding_counter>(pool, {.limit = "10000000/d"_rate}, {.limit = "1/1000 d"_rate});
  one<algorithm::sliding_log>(pool, {.limit = "1000/10 ms"_rate}, {.limit = "1/d"_rate});

  std::printf("\nlimits in a stack | server us | round trip us, median | p99 | one call each us\n");
  std::vector<std::unique_ptr<redis::token_bucket<std::string>>> limits;
  for (int i = 0; i < 5; ++i) limits.push_back(std::make_unique<redis::token_bucket<std::string>>(pool, "stack" + std::to_string(i), redis::token_bucket<std::string>::config{.refill = many}, redis::fail_open{}, plain));
  stack_of(pool, limits, std::make_index_sequence<1>{});
  stack_of(pool, limits, std::make_index_sequence<2>{});
  stack_of(pool, limits, std::make_index_sequence<3>{});
  stack_of(pool, limits, std::make_index_sequence<4>{});
  stack_of(pool, limits, std::make_index_sequence<5>{});

  std::printf("\nthreads | decisions a second | with leases of 32\n");
  for (int threads : {1, 2, 4, 8, 16}) {
    double rates[2];
    for (bool const leases : {false, true}) {
      redis::options o = plain;
      if (leases) o.lease = {.units = 32, .valid_for = 1s};
      redis::token_bucket<std::string> limited(pool, "threads", {.refill = many}, redis::fail_open{}, o);
      auto const begun = steady_clock::now();
      std::vector<std::thread> running;
      for (int t = 0; t < threads; ++t)
        running.emplace_back([&] {
          for (int i = 0; i < calls / threads; ++i) (void)limited.allow("user:123456");
        });
      for (auto& t : running) t.join();
      rates[leases] = calls / std::chrono::duration<double>(steady_clock::now() - begun).count();
    }
    std::printf("| %d | %.0f | %.0f |\n", threads, rates[0], rates[1]);
  }

  std::printf("\nwithout a round trip | ns a call\n");
  redis::token_bucket<std::string> denied(pool, "denied", {.refill = "1/d"_rate}, redis::fail_open{}, {.timeout = 1s});
  for (int i = 0; i < 2; ++i) (void)denied.allow("user:123456");
  std::printf("| deny cache | %.0f |\n", nanoseconds([&] { (void)denied.allow("user:123456"); }));
  redis::token_bucket<std::string> lent(pool, "lent", {.refill = many}, redis::fail_open{}, {.timeout = 1s, .lease = {.units = 10'000'000, .valid_for = 10min}});
  std::printf("| lease | %.0f |\n", nanoseconds([&] { (void)lent.allow("user:123456"); }));
  penstock::token_bucket<std::string> here({.refill = many});
  std::printf("| in process | %.0f |\n", nanoseconds([&] { (void)here.allow("user:123456"); }));
  redis::token_bucket<std::string> away(pool, "away", {.refill = many}, redis::local{0.5}, {.timeout = 5ms, .deny_cache = 0, .breaker = {.first_pause = 1min, .longest_pause = 1min}});
  server.stop();
  steady_clock::duration slowest{};
  for (int i = 0; i < 8; ++i) {
    auto const begun = steady_clock::now();
    (void)away.allow("user:123456");
    slowest = std::max(slowest, steady_clock::now() - begun);
  }
  std::printf("| breaker open, local policy | %.0f |\n", nanoseconds([&] { (void)away.allow("user:123456"); }));
  std::printf("\nslowest call of those before the breaker opened, at a deadline of 5 ms: %.2f ms\n", std::chrono::duration<double, std::milli>(slowest).count());
}
