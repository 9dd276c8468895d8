#pragma once
// One thread, many keys: integers in keyed.cpp, texts in texts.cpp.

#include "machine.hpp"

#include <array>
#include <concepts>
#include <span>

namespace bench::keyed {

template <class Contender>
Contender& filled(std::size_t keys, level l) {
  return keep::or_make<Contender>(
      name_of(Contender::name, Contender::keys::name, clock_name<typename Contender::clock>, keys, name_of_level(l)),
      [&] {
        auto made = std::make_unique<Contender>(keys);
        fill(*made, keys, l);
        return made.release();
      });
}

/// Continues from one repetition to the next: the same million keys again and again would come from the cache.
template <class Stream>
Stream& stream_of(std::size_t keys) {
  static std::size_t size = 0;
  static std::unique_ptr<Stream> stream;
  if (size != keys) stream = std::make_unique<Stream>(keys);
  size = keys;
  return *stream;
}

template <class Contender, class Stream>
void hits(benchmark::State& state, std::size_t keys, level l) {
  Contender& contender = filled<Contender>(keys, l);
  Stream& stream = stream_of<Stream>(keys);
  typename Contender::keys::maker key;
  auto now = start<typename Contender::clock>;
  for (auto _ : state) {
    now += std::chrono::nanoseconds{1};
    benchmark::DoNotOptimize(call(contender, now, key(stream.next())));
  }
}

/// All that a decision says.
template <class Keys>
void hits_all_fields(benchmark::State& state, std::size_t keys) {
  auto& ours = filled<table<Keys, given_time>>(keys, level::admitted);
  uniform& stream = stream_of<uniform>(keys);
  typename Keys::maker key;
  auto now = start<given_time>;
  for (auto _ : state) {
    now += std::chrono::nanoseconds{1};
    benchmark::DoNotOptimize(ours.limiter.allow_at(now, key(stream.next())));
  }
}

template <class Limiter, class Element>
concept takes_batches = requires(Limiter& limiter, typename Limiter::time_point now, std::span<Element const> keys,
                                 std::span<penstock::decision> decisions) {
  limiter.allow_each(keys, decisions);
  limiter.allow_each_at(now, keys, decisions);
};

/// Batches of texts are taken as views where that is possible: that is what a parser has at hand.
template <class Keys, class Clock>
struct batch {
  using limiter = penstock::token_bucket<typename Keys::type, Clock>;
  static constexpr bool of_arguments = takes_batches<limiter, typename Keys::argument>;
  static constexpr bool possible = of_arguments || takes_batches<limiter, typename Keys::type>;
  using element = std::conditional_t<of_arguments, typename Keys::argument, typename Keys::type>;

  template <std::size_t Size>
  static void hits(benchmark::State& state, std::size_t count, level l) {
    auto& ours = filled<table<Keys, Clock>>(count, l);
    uniform& stream = stream_of<uniform>(count);
    std::array<typename Keys::maker, Size> key;
    std::array<element, Size> keys{};
    std::array<penstock::decision, Size> decisions;
    auto now = start<Clock>;
    for (auto _ : state) {
      now += std::chrono::nanoseconds{1};
      for (std::size_t i = 0; i < Size; ++i) keys[i] = key[i](stream.next());
      if constexpr (std::same_as<Clock, given_time>)
        ours.limiter.allow_each_at(now, std::span<element const>(keys), std::span<penstock::decision>(decisions));
      else
        ours.limiter.allow_each(std::span<element const>(keys), std::span<penstock::decision>(decisions));
      benchmark::DoNotOptimize(decisions.data());
      benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(Size));
  }
};

template <class Contender, class Stream = uniform>
void register_hits(std::size_t keys, level l) {
  benchmark::RegisterBenchmark(name_of(Contender::keys::name, Stream::name, name_of_level(l),
                                       clock_name<typename Contender::clock>, Contender::name, keys)
                                   .c_str(),
                               [=](auto& s) { hits<Contender, Stream>(s, keys, l); });
}

template <class Keys>
void register_ours(std::size_t keys) {
  for (level const l : {level::admitted, level::refused, level::half}) {
    register_hits<table<Keys, given_time>>(keys, l);
    register_hits<table<Keys, given_time>, zipf>(keys, l);
    if (l != level::admitted) continue;
    benchmark::RegisterBenchmark(
        name_of(Keys::name, "uniform", "admitted", "given", "penstock, all fields", keys).c_str(),
        [=](auto& s) { hits_all_fields<Keys>(s, keys); });
    if constexpr (batch<Keys, given_time>::possible)
      benchmark::RegisterBenchmark(
          name_of(Keys::name, "uniform", "admitted", "given", "penstock, batches of 32", keys).c_str(),
          [=](auto& s) { batch<Keys, given_time>::template hits<32>(s, keys, l); });
  }
  register_hits<table<Keys, penstock::tsc_clock>>(keys, level::admitted);
  if constexpr (batch<Keys, penstock::tsc_clock>::possible)
    benchmark::RegisterBenchmark(
        name_of(Keys::name, "uniform", "admitted", "tsc_clock", "penstock, batches of 32", keys).c_str(),
        [=](auto& s) { batch<Keys, penstock::tsc_clock>::template hits<32>(s, keys, level::admitted); });
  register_hits<table<Keys, std::chrono::steady_clock>>(keys, level::admitted);
}

template <template <class, class> class Rival, class Keys>
void register_rival(std::size_t keys) {
  register_hits<Rival<Keys, given_time>>(keys, level::admitted);
  register_hits<Rival<Keys, given_time>, zipf>(keys, level::admitted);
  if (keys == 1'000'000) {  // filling them takes longer than measuring: the other axes at this size only
    register_hits<Rival<Keys, given_time>>(keys, level::refused);
    register_hits<Rival<Keys, penstock::tsc_clock>>(keys, level::admitted);
    register_hits<Rival<Keys, std::chrono::steady_clock>>(keys, level::admitted);
  }
}

template <class Keys>
void register_all() {
  machine::register_memory();
  benchmark::RegisterBenchmark(name_of("machine", "key", Keys::name).c_str(), [](benchmark::State& state) {
    uniform stream(1'000'000);
    typename Keys::maker key;
    for (auto _ : state) benchmark::DoNotOptimize(key(stream.next()));
  });
  for (std::size_t const keys : key_counts()) {
    register_ours<Keys>(keys);
    register_rival<map_and_mutex, Keys>(keys);
    register_rival<sharded_maps, Keys>(keys);
    register_rival<tbb_map, Keys>(keys);
  }
}

}  // namespace bench::keyed
