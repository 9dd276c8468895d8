// What a call of a limiter without a key costs, on one thread.

#include "support/machine.hpp"

#include <mutex>

namespace {

using namespace bench;

template <class Limiter>
bool verdict_of(Limiter& limiter, typename Limiter::time_point now) {
  if constexpr (std::same_as<typename Limiter::clock_type, given_time>)
    return static_cast<bool>(limiter.allow_at(now));
  else
    return static_cast<bool>(limiter.allow());
}

template <class Limiter>
void take(benchmark::State& state, level l) {
  Limiter limiter(endless, typename Limiter::clock_type());
  limiter.charge(l == level::refused ? beyond_its_limit : for_days);
  auto now = start<typename Limiter::clock_type>;
  for (auto _ : state) {
    now += std::chrono::nanoseconds{1};
    benchmark::DoNotOptimize(verdict_of(limiter, now));
  }
}

/// All that a decision says, not the verdict alone.
void take_all_fields(benchmark::State& state, level l) {
  penstock::token_bucket<penstock::no_key, given_time> limiter(endless, given_time());
  limiter.charge(l == level::refused ? beyond_its_limit : for_days);
  auto now = start<given_time>;
  for (auto _ : state) {
    now += std::chrono::nanoseconds{1};
    benchmark::DoNotOptimize(limiter.allow_at(now));
  }
}

template <class Clock>
void take_from_rival(benchmark::State& state, level l) {
  mutex_and_double<Clock> rival;
  rival.set(l == level::refused ? -double_bucket::burst * 1e6 : double_bucket::burst / 2);
  auto now = start<given_time>;
  for (auto _ : state) {
    now += std::chrono::nanoseconds{1};
    if constexpr (std::same_as<Clock, given_time>)
      benchmark::DoNotOptimize(rival.allow_at(now));
    else
      benchmark::DoNotOptimize(rival.allow());
  }
}

template <class Clock, class Store = penstock::default_store>
void register_ours(char const* name) {
  using limiter = penstock::token_bucket<penstock::no_key, Clock, Store>;
  for (level const l : {level::admitted, level::refused})
    benchmark::RegisterBenchmark(name_of("unkeyed", name_of_level(l), clock_name<Clock>, name).c_str(),
                                 [=](auto& s) { take<limiter>(s, l); });
}

template <class Clock>
void register_rival() {
  for (level const l : {level::admitted, level::refused})
    benchmark::RegisterBenchmark(
        name_of("unkeyed", name_of_level(l), clock_name<Clock>, mutex_and_double<Clock>::name).c_str(),
        [=](auto& s) { take_from_rival<Clock>(s, l); });
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [] {
    machine::register_word_and_clocks();
    register_ours<given_time>("penstock");
    for (level const l : {level::admitted, level::refused})
      benchmark::RegisterBenchmark(name_of("unkeyed", name_of_level(l), "given", "penstock, all fields").c_str(),
                                   [=](auto& s) { take_all_fields(s, l); });
    register_ours<given_time, penstock::store::unsynchronized>("penstock, unsynchronized");
    register_ours<std::chrono::steady_clock>("penstock");
    register_ours<penstock::tsc_clock>("penstock");
    register_ours<penstock::coarse_clock>("penstock");
    register_rival<given_time>();
    register_rival<std::chrono::steady_clock>();
    register_rival<penstock::tsc_clock>();
  });
}
