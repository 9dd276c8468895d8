// Several threads: on different keys, on one hot key, on a limiter without a key; admitted and refused.

#include "support/threads.hpp"
#include "support/machine.hpp"

#if __has_include(<penstock/store/leased_cell.hpp>)
#include <penstock/store/leased_cell.hpp>
#define PENSTOCK_BENCH_LEASED_CELL 1
#endif

namespace {

using namespace bench;

constexpr std::size_t calls_a_thread = 2'000'000;

/// One iteration is calls_a_thread calls by each thread; make_call(n) gives what thread n calls.
template <class MakeCall>
void measure(benchmark::State& state, unsigned threads, MakeCall make_call) {
  std::size_t const calls = std::min(calls_a_thread, most_keys * 10);
  std::size_t all = 0;
  for (auto _ : state) {
    auto const elapsed = together(threads, [&](unsigned n) {
      auto call_once = make_call(n);
      for (std::size_t i = 0; i < calls; ++i) benchmark::DoNotOptimize(call_once());
    });
    state.SetIterationTime(elapsed.count());
    all += calls * threads;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(all));
}

/// Each thread counts its own time; readings that lag a little are ordinary.
struct own_time {
  given_time::time_point now = start<given_time>;
  given_time::time_point next() noexcept { return now += std::chrono::nanoseconds{1}; }
};

template <class Contender>
void different_keys(benchmark::State& state, std::size_t keys, unsigned threads) {
  auto& contender = keep::or_make<Contender>(name_of("threads", Contender::name, Contender::keys::name, keys), [&] {
    auto made = std::make_unique<Contender>(keys);
    fill(*made, keys, level::admitted);
    return made.release();
  });
  measure(state, threads, [&](unsigned n) {
    return [&contender, stream = uniform(keys, n + 1), key = typename Contender::keys::maker(),
            time = own_time()]() mutable { return contender.allow_at(time.next(), key(stream.next())); };
  });
}

template <class Contender>
void one_hot_key(benchmark::State& state, level l, unsigned threads) {
  Contender contender(1'000);
  typename Contender::keys::maker first;
  set(contender, first(0), l == level::refused);
  measure(state, threads, [&](unsigned) {
    return [&contender, key = typename Contender::keys::maker(), time = own_time()]() mutable {
      return contender.allow_at(time.next(), key(0));
    };
  });
}

template <class Store>
void unkeyed(benchmark::State& state, level l, unsigned threads) {
  penstock::token_bucket<penstock::no_key, given_time, Store> limiter(endless, given_time());
  limiter.charge_at(start<given_time>, l == level::refused ? beyond_its_limit : for_days);
  measure(state, threads, [&](unsigned) {
    return [&limiter, time = own_time()]() mutable { return static_cast<bool>(limiter.allow_at(time.next())); };
  });
}

void unkeyed_rival(benchmark::State& state, level l, unsigned threads) {
  mutex_and_double<given_time> rival;
  rival.set(l == level::refused ? -double_bucket::burst * 1e6 : double_bucket::burst / 2);
  measure(state, threads,
          [&](unsigned) { return [&rival, time = own_time()]() mutable { return rival.allow_at(time.next()); }; });
}

void swap_one_word(benchmark::State& state, unsigned threads) {
  alignas(64) std::atomic<std::uint64_t> word{0};
  measure(state, threads, [&](unsigned) {
    return [&word] {
      std::uint64_t seen = word.load(std::memory_order_acquire);
      while (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      }
      return seen;
    };
  });
}

template <class... Part>
void add(auto measured, unsigned threads, Part const&... name) {
  benchmark::RegisterBenchmark(name_of("threads", threads, name...).c_str(), measured)->UseManualTime();
}

template <class Contender>
void register_keyed(unsigned threads) {
  std::size_t const keys = std::min<std::size_t>(1'000'000, most_keys);
  add([=](auto& s) { different_keys<Contender>(s, keys, threads); }, threads, "different keys", Contender::keys::name,
      "admitted", Contender::name);
  if constexpr (std::same_as<typename Contender::keys, integers>)
    for (level const l : {level::admitted, level::refused})
      add([=](auto& s) { one_hot_key<Contender>(s, l, threads); }, threads, "one hot key", Contender::keys::name,
          name_of_level(l), Contender::name);
}

template <class Keys>
void register_all_keyed(unsigned threads) {
  register_keyed<table<Keys, given_time>>(threads);
  register_keyed<map_and_mutex<Keys, given_time>>(threads);
  register_keyed<sharded_maps<Keys, given_time>>(threads);
  register_keyed<tbb_map<Keys, given_time>>(threads);
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [] {
    for (unsigned const threads : thread_counts()) {
      add([=](auto& s) { swap_one_word(s, threads); }, threads, "unkeyed", "-", "admitted", "machine, one CAS");
      for (level const l : {level::admitted, level::refused}) {
        add([=](auto& s) { unkeyed<penstock::store::cell>(s, l, threads); }, threads, "unkeyed", "-", name_of_level(l),
            "penstock");
#if defined(PENSTOCK_BENCH_LEASED_CELL)
        add([=](auto& s) { unkeyed<penstock::store::leased_cell>(s, l, threads); }, threads, "unkeyed", "-",
            name_of_level(l), "penstock, leased_cell");
#endif
        add([=](auto& s) { unkeyed_rival(s, l, threads); }, threads, "unkeyed", "-", name_of_level(l),
            mutex_and_double<given_time>::name);
      }
    }
    for (unsigned const threads : thread_counts()) register_all_keyed<integers>(threads);
    for (unsigned const threads : thread_counts()) register_all_keyed<texts>(threads);
  });
}
