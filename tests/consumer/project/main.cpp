#include <penstock/penstock.hpp>

int main() {
  penstock::token_bucket<> limiter({.refill = penstock::per_day(1), .burst = 1});
  bool const first = bool(limiter.allow());
  bool const second = bool(limiter.allow());
  return first && !second ? 0 : 1;
}
