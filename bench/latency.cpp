// Single calls: what one takes alone, and how long the slowest of many take while new keys flood in.

#include "support/machine.hpp"
#include "support/threads.hpp"
#include "support/ticks.hpp"

#include <atomic>

namespace {

using namespace bench;

void report(benchmark::State& state, samples& taken) {
  state.counters["p50"] = taken.quantile(0.5);
  state.counters["p99"] = taken.quantile(0.99);
  state.counters["p99.99"] = taken.quantile(0.9999);
  state.counters["worst"] = taken.quantile(1);
}

template <class Contender>
std::unique_ptr<Contender> reserved(std::size_t keys) {
  return std::make_unique<Contender>(keys);
}

/// Nothing is called: what the measuring takes, and what the system does to a thread by itself.
void nothing(benchmark::State& state, std::size_t calls) {
  for (auto _ : state) {
    samples taken(calls);
    auto const begin = std::chrono::steady_clock::now();
    while (!taken.full()) taken.time([] {});
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    report(state, taken);
  }
}

/// New keys, each seen once, into something empty until it is full; each call timed by itself. Then the same again with
/// only the whole timed: the throughput. `expected` is what a map is told beforehand; tables are always told.
template <class Contender>
void new_keys(benchmark::State& state, std::size_t keys, std::size_t expected) {
  for (auto _ : state) {
    samples taken(keys);
    auto contender = reserved<Contender>(expected);
    typename Contender::keys::maker key;
    auto const now = start<given_time>;
    for (std::size_t i = 0; i < keys; ++i) {
      auto const k = key(i);
      taken.time([&] { benchmark::DoNotOptimize(contender->allow_at(now, k)); });
    }
    contender.reset();
    contender = reserved<Contender>(expected);
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < keys; ++i) benchmark::DoNotOptimize(contender->allow_at(now, key(i)));
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    report(state, taken);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(keys));
}

/// Newcomers at a table that is full of live keys.
template <class Keys>
void newcomers(benchmark::State& state, std::size_t keys, penstock::when_full full) {
  for (auto _ : state) {
    table<Keys, given_time> ours(keys, full);
    fill(ours, keys, level::admitted);
    std::size_t const calls = keys / 4;
    samples taken(calls);
    typename Keys::maker key;
    for (std::size_t i = 0; !taken.full(); ++i) {
      auto const k = key(2 * keys + i);
      taken.time([&] { benchmark::DoNotOptimize(ours.allow_at(start<given_time>, k)); });
    }
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < calls; ++i)
      benchmark::DoNotOptimize(ours.allow_at(start<given_time>, key(4 * keys + i)));
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    state.SetItemsProcessed(static_cast<std::int64_t>(calls));
    report(state, taken);
  }
}

/// Calls for keys that are held, timed one by one, while another thread brings in new keys as fast as it can.
template <class Contender>
void held_keys_in_a_flood(benchmark::State& state, std::size_t keys, std::size_t expected) {
  for (auto _ : state) {
    auto contender = reserved<Contender>(expected);
    std::size_t const held = keys / 2;
    fill(*contender, held, level::admitted);
    samples taken(std::max<std::size_t>(held / 5, 1'000));
    std::atomic<bool> done{false};
    auto const elapsed = together(2, [&](unsigned n) {
      typename Contender::keys::maker key;
      if (n == 0) {
        uniform stream(held);
        while (!taken.full()) {
          auto const k = key(stream.next());
          taken.time([&] { benchmark::DoNotOptimize(contender->allow_at(start<given_time>, k)); });
        }
        done = true;
      } else {
        for (std::size_t i = held; !done.load(std::memory_order_relaxed); ++i) {
          if (i == 4 * keys) i = held;
          benchmark::DoNotOptimize(contender->allow_at(start<given_time>, key(i)));
        }
      }
    });
    state.SetIterationTime(elapsed.count());
    report(state, taken);
  }
}

template <class Contender>
void alone(benchmark::State& state, std::size_t keys) {
  auto& contender = keep::or_make<Contender>(name_of("alone", Contender::name, Contender::keys::name, keys), [&] {
    auto made = std::make_unique<Contender>(keys);
    fill(*made, keys, level::admitted);
    return made.release();
  });
  static uniform stream(keys);
  typename Contender::keys::maker key;
  auto now = start<given_time>;
  for (auto _ : state) {
    now += std::chrono::nanoseconds{1};
    auto const k = key(stream.next());
    benchmark::DoNotOptimize(contender.allow_at(now, k));
    fence();
  }
}

void load_alone(benchmark::State& state, std::size_t keys) {
  machine::memory& lines = machine::of_size(keys);
  static uniform stream(lines.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(lines[stream.next() % lines.size()].word.load(std::memory_order_acquire));
    fence();
  }
}

template <class Measured, class... Part>
void once(Measured measured, Part const&... name) {
  benchmark::RegisterBenchmark(name_of(name...).c_str(), measured)->Iterations(1)->UseManualTime();
}

template <class Contender>
void register_alone(std::size_t keys) {
  benchmark::RegisterBenchmark(name_of("alone", Contender::keys::name, Contender::name, keys).c_str(),
                               [=](auto& s) { alone<Contender>(s, keys); });
}

template <class Contender>
void register_floods(std::size_t keys) {
  bool constexpr ours = requires(Contender & c) { c.limiter; };
  once([=](auto& s) { new_keys<Contender>(s, keys, keys); }, "flood", "new keys", Contender::keys::name,
       Contender::name, keys);
  once([=](auto& s) { held_keys_in_a_flood<Contender>(s, keys, keys); }, "flood", "held keys", Contender::keys::name,
       Contender::name, keys);
  if constexpr (!ours) {  // who does not know how many will come
    once([=](auto& s) { new_keys<Contender>(s, keys, 0); }, "flood", "new keys", Contender::keys::name,
         name_of(Contender::name) + ", growing", keys);
    once([=](auto& s) { held_keys_in_a_flood<Contender>(s, keys, 0); }, "flood", "held keys", Contender::keys::name,
         name_of(Contender::name) + ", growing", keys);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [] {
    std::size_t const keys = most_keys;
    benchmark::RegisterBenchmark(name_of("machine", "dependent_load", keys).c_str(),
                                 [=](auto& s) { machine::dependent_load(s, keys); });
    benchmark::RegisterBenchmark(name_of("alone", "-", "machine, one load", keys).c_str(),
                                 [=](auto& s) { load_alone(s, keys); });
    register_alone<table<integers, given_time>>(keys);
    register_alone<table<texts, given_time>>(keys);
    register_alone<map_and_mutex<texts, given_time>>(keys);
    register_alone<sharded_maps<texts, given_time>>(keys);
    register_alone<tbb_map<texts, given_time>>(keys);
    once([=](auto& s) { nothing(s, keys); }, "flood", "nothing", "-", "machine", keys);
    register_floods<table<integers, given_time>>(keys);
    once([=](auto& s) { newcomers<integers>(s, keys, penstock::when_full::inherit); }, "flood", "full, inherit",
         "integer", "penstock", keys);
    once([=](auto& s) { newcomers<integers>(s, keys, penstock::when_full::refuse); }, "flood", "full, refuse",
         "integer", "penstock", keys);
    register_floods<map_and_mutex<integers, given_time>>(keys);
    register_floods<sharded_maps<integers, given_time>>(keys);
    register_floods<tbb_map<integers, given_time>>(keys);
  });
}
