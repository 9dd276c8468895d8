// What a decision in Redis costs: server time, round trip, memory; what deny cache and leases save; several threads.
//
//   bench_redis [calls]    for each figure; 20000
//
// Server time is the server's own: usec_per_call of EVALSHA in INFO commandstats, what the script calls included. Leave
// the machine alone meanwhile.

#include "support/server.hpp"

#include <penstock/penstock.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace penstock::literals;
using penstock::cost;
namespace algorithm = penstock::algorithm;
namespace redis = penstock::redis;
using std::chrono::steady_clock;

int calls = 20'000;
constexpr penstock::rate many = penstock::per_second(1'000'000);  // an interval of whole microseconds, as most have
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

/// An answer of another kind is quicker or slower: what is measured must be what the table says.
void expect(auto const& answer, penstock::verdict outcome) {
  if (answer.outcome == outcome && answer.from == redis::origin::redis) return;
  std::fprintf(stderr, "not what was to be measured: %s\n", answer.error.message().c_str());
  std::exit(1);
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

/// Remembers the last command that went through it.
struct recorder {
  redis::hiredis_pool& pool;
  std::vector<std::string> last{};
  redis::result<redis::reply> execute(redis::command const& c, redis::deadline until) {
    last.assign(c.words.begin(), c.words.end());
    return pool.execute(c, until);
  }
};

/// The server's time for this command when it never waits for the next: fifty are on their way. Its caches stay warm,
/// its processor awake.
double busy_server_time(redis::hiredis_pool& pool, std::uint16_t port, std::vector<std::string> const& command) {
  std::vector<char const*> text;
  std::vector<std::size_t> length;
  for (std::string const& word : command) {
    text.push_back(word.data());
    length.push_back(word.size());
  }
  std::unique_ptr<redisContext, void (*)(redisContext*)> const to(::redisConnect("127.0.0.1", port), ::redisFree);
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    test::say(pool, {"CONFIG", "RESETSTAT"});
    for (int i = 0; i < calls / 250 + 1; ++i) {
      for (int k = 0; k < 50; ++k)
        ::redisAppendCommandArgv(to.get(), static_cast<int>(text.size()), text.data(), length.data());
      for (int k = 0; k < 50; ++k) {
        void* answer = nullptr;
        if (::redisGetReply(to.get(), &answer) != REDIS_OK ||
            static_cast<redisReply*>(answer)->type == REDIS_REPLY_ERROR)
          std::exit(1);
        ::freeReplyObject(answer);
      }
    }
    best = std::min(best, server_time(pool));
  }
  return best;
}

/// What any script costs that does nothing, and one that reads the clock, reads a key and writes it with an expiry.
void floor_of_scripts(redis::hiredis_pool& pool, std::uint16_t port) {
  for (auto const& [name, script] :
       {std::pair{"`return 1`", "return 1"},
        std::pair{"TIME, GET, PSETEX",
                  "redis.call('TIME') redis.call('GET', KEYS[1]) "
                  "redis.call('PSETEX', KEYS[1], '60000', '1764000000123456') return 1"}}) {
    std::string const sha1 = test::say(pool, {"SCRIPT", "LOAD", script}).text;
    auto const ask = [&] { test::say(pool, {"EVALSHA", sha1, "1", "floor"}); };
    auto const apart = measure(pool, ask);
    double const busy = busy_server_time(pool, port, {"EVALSHA", sha1, "1", "floor"});
    std::printf("| %-17s | %8.2f | %8.2f | | %7.1f | %7.1f | |\n", name, apart.server_us, busy, apart.median_us,
                apart.p99_us);
  }
}

template <class A>
void one(redis::hiredis_pool& pool, std::uint16_t port, typename A::config const& roomy,
         typename A::config const& tight) {
  std::string const id(A::name);
  recorder recorded{pool};
  redis::limiter<A, std::string, recorder> open(recorded, id, roomy, redis::fail_open{}, plain),
      full(recorded, id + "full", tight, redis::fail_open{}, plain);
  auto const ask = [&] { expect(open.allow("user:123456"), penstock::verdict::admitted); };
  auto const admitted = measure(pool, ask);
  double const busy = busy_server_time(pool, port, recorded.last);
  std::string const key = redis::key_of("user:123456", id);
  auto const bytes = test::number(pool, {"MEMORY", "USAGE", key, "SAMPLES", "0"});
  expect(full.allow("user:123456"), penstock::verdict::admitted);
  auto const refused = measure(pool, [&] { expect(full.allow("user:123456"), penstock::verdict::limited); });
  std::printf("| %-17s | %8.2f | %8.2f | %8.2f | %7.1f | %7.1f | %7lld |\n", A::name.data(), admitted.server_us, busy,
              refused.server_us, admitted.median_us, admitted.p99_us, static_cast<long long>(bytes));
}

template <std::size_t... I>
void stack_of(redis::hiredis_pool& pool, std::uint16_t port, std::index_sequence<I...>) {
  using bucket = redis::token_bucket<std::string, recorder>;
  recorder recorded{pool};
  std::vector<std::unique_ptr<bucket>> limits;
  for (std::size_t i = 0; i < sizeof...(I); ++i)
    limits.push_back(std::make_unique<bucket>(recorded, "stack" + std::to_string(i), bucket::config{.refill = many},
                                              redis::fail_open{}, plain));
  auto const self = [](std::string const& who) { return std::string_view(who); };
  static constexpr char const* names[] = {"a", "b", "c", "d", "e"};
  auto atomic = redis::stack(penstock::layer(names[I], *limits[I], self)...);
  auto apart = redis::sequential(penstock::layer(names[I], *limits[I], self)...);
  std::string const user = "user:123456";
  auto const ask = [&] { expect(atomic.allow(user), penstock::verdict::admitted); };
  auto const together = measure(pool, ask);
  double const busy = busy_server_time(pool, port, recorded.last);
  auto const one_by_one = measure(pool, [&] { (void)apart.allow(user); });
  std::printf("| %zu | %8.2f | %8.2f | %7.1f | %7.1f | %7.1f |\n", sizeof...(I), together.server_us, busy,
              together.median_us, together.p99_us, one_by_one.median_us);
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

  std::printf(
      "| one limit | admitted, server us | the same, busy | refused, server us | round trip us, median | p99 | bytes a "
      "key |\n");
  floor_of_scripts(pool, server.port());
  one<algorithm::token_bucket>(pool, server.port(), {.refill = many}, {.refill = "1/d"_rate});
  one<algorithm::leaky_meter>(pool, server.port(), {.drain = many}, {.drain = "1/d"_rate});
  one<algorithm::leaky_queue>(pool, server.port(), {.drain = many}, {.drain = "1/d"_rate});
  one<algorithm::fixed_window>(pool, server.port(), {.limit = "10000000/d"_rate}, {.limit = "1/1000 d"_rate});
  one<algorithm::sliding_counter>(pool, server.port(), {.limit = "10000000/d"_rate}, {.limit = "1/1000 d"_rate});
  one<algorithm::sliding_log>(pool, server.port(), {.limit = "1000/10 ms"_rate}, {.limit = "1/d"_rate});

  std::printf(
      "\n| limits in a stack | server us | the same, busy | round trip us, median | p99 | one call each us |\n");
  stack_of(pool, server.port(), std::make_index_sequence<1>{});
  stack_of(pool, server.port(), std::make_index_sequence<2>{});
  stack_of(pool, server.port(), std::make_index_sequence<3>{});
  stack_of(pool, server.port(), std::make_index_sequence<4>{});
  stack_of(pool, server.port(), std::make_index_sequence<5>{});

  std::printf("\n| threads | decisions a second | with leases of 32 |\n");
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

  std::printf("\n| without a round trip | ns a call |\n");
  redis::token_bucket<std::string> denied(pool, "denied", {.refill = "1/d"_rate}, redis::fail_open{}, {.timeout = 1s});
  for (int i = 0; i < 2; ++i) (void)denied.allow("user:123456");
  std::printf("| deny cache | %.0f |\n", nanoseconds([&] { (void)denied.allow("user:123456"); }));
  redis::token_bucket<std::string> lent(pool, "lent", {.refill = penstock::per_second(10'000'000)}, redis::fail_open{},
                                        {.timeout = 1s, .lease = {.units = 10'000'000, .valid_for = 10min}});
  std::printf("| lease | %.0f |\n", nanoseconds([&] { (void)lent.allow("user:123456"); }));
  penstock::token_bucket<std::string> here({.refill = many});
  double const in_process = nanoseconds([&] { (void)here.allow("user:123456"); });
  std::printf("| in process | %.0f |\n", in_process);
  redis::token_bucket<std::string> away(
      pool, "away", {.refill = many}, redis::local{0.5},
      {.timeout = 5ms, .deny_cache = 0, .breaker = {.first_pause = 1min, .longest_pause = 1min}});
  server.stop();
  steady_clock::duration slowest{};
  for (int i = 0; i < 8; ++i) {
    auto const begun = steady_clock::now();
    (void)away.allow("user:123456");
    slowest = std::max(slowest, steady_clock::now() - begun);
  }
  double const open = nanoseconds([&] { (void)away.allow("user:123456"); });
  std::printf("| breaker open, `local` | %.0f, which is %.0f more than in process |\n", open, open - in_process);
  std::printf("\nslowest call of those before the breaker opened, at a deadline of 5 ms: %.2f ms\n",
              std::chrono::duration<double, std::milli>(slowest).count());
}
