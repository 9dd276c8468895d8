// What a call costs with text keys of 16 bytes, on one thread; and what hashing them costs by itself.

#include "support/keyed.hpp"

int main(int argc, char** argv) {
  return bench::run(argc, argv, [] {
    bench::keyed::register_all<bench::texts>();
    benchmark::RegisterBenchmark("machine/siphash/text", [](benchmark::State& state) {
      auto const& secret = penstock::detail::hash_secret::process();
      bench::uniform stream(1'000'000);
      bench::texts::maker key;
      for (auto _ : state) benchmark::DoNotOptimize(penstock::detail::fingerprint_of(key(stream.next()), secret));
    });
  });
}
