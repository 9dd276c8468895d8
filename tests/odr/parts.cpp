// Twenty translation units ask one limiter: one type, one secret key for fingerprints, one count.

#include <penstock/penstock.hpp>

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include "parts.hpp"

int main() {
  penstock::token_bucket<std::string> limiter({.refill = penstock::per_day(1), .burst = 30});
  int admitted = 0;
  for (int round = 0; round < 2; ++round)
    for (auto* const ask : parts) admitted += ask(limiter, "ann") ? 1 : 0;
  std::printf("%d of %zu admitted, 30 due\n", admitted, 2 * parts.size());
  return parts.size() == 20 && admitted == 30 ? 0 : 1;
}
