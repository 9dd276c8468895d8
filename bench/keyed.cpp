// What a call costs with integer keys, on one thread: key counts, distributions, levels, clocks; and the rivals.

#include "support/keyed.hpp"

int main(int argc, char** argv) {
  return bench::run(argc, argv, [] { bench::keyed::register_all<bench::integers>(); });
}
