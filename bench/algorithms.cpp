// The six algorithms, without keys and with 100,000 of them, on one thread with the time given.

#include "support/machine.hpp"

#include <algorithm>

namespace {

using namespace bench;
namespace algorithm = penstock::algorithm;
using std::chrono::hours;
using std::chrono::nanoseconds;

constexpr std::size_t keys = 100'000;

template <class A>
struct setup;
template <>
struct setup<algorithm::token_bucket> {
  static constexpr char const* name = "token_bucket";
  static constexpr algorithm::token_bucket::config many{endless};
};
template <>
struct setup<algorithm::leaky_meter> {
  static constexpr char const* name = "leaky_meter";
  static constexpr algorithm::leaky_meter::config many{.drain = penstock::per_second(1'000'000'000), .capacity = burst};
};
template <>
struct setup<algorithm::leaky_queue> {
  static constexpr char const* name = "leaky_queue";
  static constexpr algorithm::leaky_queue::config many{.drain = penstock::per_second(1'000'000'000), .capacity = burst};
};
template <>
struct setup<algorithm::fixed_window> {
  static constexpr char const* name = "fixed_window";
  static constexpr algorithm::fixed_window::config many{.limit = penstock::per_day(1'000'000'000'000)};
};
template <>
struct setup<algorithm::sliding_counter> {
  static constexpr char const* name = "sliding_counter";
  static constexpr algorithm::sliding_counter::config many{.limit = penstock::per_day(2'000'000'000)};
};
/// About 16 entries live, with one key or with 100,000.
template <>
struct setup<algorithm::sliding_log> {
  static constexpr char const* name = "sliding_log (16 live)";
  static constexpr algorithm::sliding_log::config many{.limit = penstock::per(64, std::chrono::microseconds{16})};
  static constexpr std::uint64_t limit = 64;
};

/// Nearly nothing used, or more than there is.
template <class A>
constexpr cost before(level l) {
  if constexpr (requires { setup<A>::limit; })
    return cost{l == level::refused ? setup<A>::limit : 1};
  else if constexpr (requires { setup<A>::many.limit.count; })
    return cost{l == level::refused ? setup<A>::many.limit.count : 1};
  else
    return l == level::refused ? beyond_its_limit : for_days;
}

template <class A>
void unkeyed(benchmark::State& state, level l) {
  penstock::limiter<A, penstock::no_key, given_time> limiter(setup<A>::many, given_time());
  auto now = start<given_time>;
  limiter.charge_at(now, before<A>(l));
  nanoseconds const step = l == level::refused                       ? nanoseconds{0}
                           : std::same_as<A, algorithm::sliding_log> ? nanoseconds{1000}
                                                                     : nanoseconds{1};
  for (auto _ : state) {
    now += step;
    benchmark::DoNotOptimize(static_cast<bool>(limiter.allow_at(now)));
  }
}

template <class A>
void keyed(benchmark::State& state, level l) {
  std::size_t const count = std::min(keys, most_keys);
  penstock::limiter<A, std::uint64_t, given_time> limiter(setup<A>::many, {.max_keys = count}, given_time());
  auto now = start<given_time>;
  integers::maker key;
  for (std::size_t i = 0; i < count; ++i) limiter.charge_at(now, key(i), before<A>(l));
  // A sliding log must forget as fast as it learns: time goes on by a sixteenth of its window for each round of all
  // keys.
  bool const slowly = l == level::refused || !std::same_as<A, algorithm::sliding_log>;
  uniform stream(count);
  std::size_t calls = 0;
  for (auto _ : state) {
    if (!slowly && ++calls == count) {
      calls = 0;
      now += nanoseconds{1000};
    }
    benchmark::DoNotOptimize(static_cast<bool>(limiter.allow_at(now, key(stream.next()))));
  }
}

template <class A>
void register_algorithm() {
  for (level const l : {level::admitted, level::refused}) {
    benchmark::RegisterBenchmark(name_of("algorithm", "unkeyed", name_of_level(l), setup<A>::name).c_str(),
                                 [=](auto& s) { unkeyed<A>(s, l); });
    benchmark::RegisterBenchmark(name_of("algorithm", "keyed", name_of_level(l), setup<A>::name).c_str(),
                                 [=](auto& s) { keyed<A>(s, l); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [] {
    register_algorithm<algorithm::token_bucket>();
    register_algorithm<algorithm::leaky_meter>();
    register_algorithm<algorithm::leaky_queue>();
    register_algorithm<algorithm::fixed_window>();
    register_algorithm<algorithm::sliding_counter>();
    register_algorithm<algorithm::sliding_log>();
  });
}
