// The other half: both translation units must see one type, one state and one count.

#include <penstock/penstock.hpp>

#include <cstdio>
#include <string>
#include <string_view>

bool ask_here(penstock::token_bucket<std::string>& limiter, std::string_view who);

int main() {
  penstock::token_bucket<std::string> limiter({.refill = penstock::per_day(1), .burst = 3});
  int admitted = 0;
  for (int round = 0; round < 4; ++round) {
    admitted += ask_here(limiter, "ann") ? 1 : 0;
    admitted += limiter.allow("ann") ? 1 : 0;
  }
  std::printf("%d of 8 admitted, 3 due\n", admitted);
  return admitted == 3 ? 0 : 1;
}
