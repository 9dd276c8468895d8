// Bytes a key from the resident set, and allocations per call. Each case runs in a process of its own: what an
// allocator has kept from the case before would hide what this one takes.

#include "support/contenders.hpp"
#include "support/run.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Every form of new ends here. Out of line: g++ warns of a new and a free that it sees together.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace bench;

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

struct result {
  double bytes_a_key = 0, allocations_a_call = 0, held = 1;
};

/// Fills it, then calls each key once more.
template <class Make, class Call>
result measure(std::size_t keys, Make make, Call call_key) {
  call_key(*make(1'000), 0);  // so that the program's own pages are there already
  double const before = resident_bytes();
  auto contender = make(keys);
  for (std::size_t i = 0; i < keys; ++i) call_key(*contender, i);
  result r;
  r.bytes_a_key = (resident_bytes() - before) / static_cast<double>(keys);
  std::uint64_t const allocated = allocations.load();
  for (std::size_t i = 0; i < keys; ++i) call_key(*contender, i);
  r.allocations_a_call = static_cast<double>(allocations.load() - allocated) / static_cast<double>(keys);
  if constexpr (requires { contender->stats(); })
    r.held = static_cast<double>(contender->stats().keys) / static_cast<double>(keys);
  return r;
}

template <class Measure>
void in_a_child(benchmark::State& state, Measure measure_it) {
  for (auto _ : state) {
    int ends[2];
    if (::pipe(ends) != 0) return state.SkipWithError("no pipe");
    pid_t const child = ::fork();
    if (child == 0) {
      result const r = measure_it();
      bool const sent = ::write(ends[1], &r, sizeof r) == static_cast<ssize_t>(sizeof r);
      ::_exit(sent ? 0 : 1);
    }
    result r;
    bool const received = child > 0 && ::read(ends[0], &r, sizeof r) == static_cast<ssize_t>(sizeof r);
    ::close(ends[0]);
    ::close(ends[1]);
    if (child > 0) ::waitpid(child, nullptr, 0);
    if (!received) return state.SkipWithError("no child");
    state.counters["bytes a key"] = r.bytes_a_key;
    state.counters["allocations a call"] = r.allocations_a_call;
    state.counters["held"] = r.held;
  }
}

template <class Limiter, class Keys>
void register_limiter(char const* name, typename Limiter::config config, std::size_t keys) {
  benchmark::RegisterBenchmark(
      name_of("memory", Keys::name, name, keys).c_str(),
      [=](auto& s) {
        in_a_child(s, [=] {
          return measure(
              keys,
              [=](std::size_t most) {
                return std::make_unique<Limiter>(config, penstock::store_options{.max_keys = most},
                                                 given_time(start<given_time>));
              },
              [](auto& limiter, std::size_t i) {
                typename Keys::maker key;
                benchmark::DoNotOptimize(static_cast<bool>(limiter.allow_at(start<given_time>, key(i))));
              });
        });
      })
      ->Iterations(1)
      ->Repetitions(1);  // counts, not times: they do not vary
}

template <class Contender>
void register_rival(std::size_t keys) {
  benchmark::RegisterBenchmark(name_of("memory", Contender::keys::name, Contender::name, keys).c_str(),
                               [=](auto& s) {
                                 in_a_child(s, [=] {
                                   return measure(
                                       keys, [](std::size_t most) { return std::make_unique<Contender>(most); },
                                       [](auto& contender, std::size_t i) {
                                         typename Contender::keys::maker key;
                                         benchmark::DoNotOptimize(contender.allow_at(start<given_time>, key(i)));
                                       });
                                 });
                               })
      ->Iterations(1)
      ->Repetitions(1);  // counts, not times: they do not vary
}

template <class Keys>
void register_all(std::size_t keys) {
  using key = typename Keys::type;
  constexpr penstock::rate many = penstock::per_day(1'000);
  register_limiter<penstock::token_bucket<key, given_time>, Keys>("penstock, token_bucket", {.refill = many}, keys);
  register_limiter<penstock::leaky_meter<key, given_time>, Keys>("penstock, leaky_meter", {.drain = many}, keys);
  register_limiter<penstock::leaky_queue<key, given_time>, Keys>("penstock, leaky_queue", {.drain = many}, keys);
  register_limiter<penstock::fixed_window<key, given_time>, Keys>("penstock, fixed_window", {.limit = many}, keys);
  register_limiter<penstock::sliding_counter<key, given_time>, Keys>("penstock, sliding_counter", {.limit = many},
                                                                     keys);
  register_limiter<penstock::sliding_log<key, given_time>, Keys>("penstock, sliding_log (1 entry)", {.limit = many},
                                                                 keys);
  register_rival<map_and_mutex<Keys, given_time>>(keys);
  register_rival<sharded_maps<Keys, given_time>>(keys);
  register_rival<tbb_map<Keys, given_time>>(keys);
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [] {
    std::size_t const keys = most_keys;
    register_all<integers>(keys);
    register_all<texts>(keys);
  });
}
