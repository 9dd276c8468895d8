// Limits in a dashboard: counts by layer, in Prometheus' text format. This job writes a page for node_exporter's
// textfile collector (metrics > /var/lib/node_exporter/mailer.prom); a server answers GET /metrics with the same text.

#include <penstock/penstock.hpp>

#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;
using penstock::layer;

struct mail {
  std::string from, domain;
};

int main() {
  penstock::manual_clock clock;  // a service leaves this out, and has std::chrono::steady_clock
  penstock::token_bucket<std::string, penstock::manual_clock> per_sender({.refill = penstock::per_minute(5)},
                                                                         {.max_keys = 10'000}, clock);
  penstock::token_bucket<std::string, penstock::manual_clock> per_domain({.refill = penstock::per_minute(20)},
                                                                         {.max_keys = 1'000}, clock);
  penstock::sliding_counter<std::string, penstock::manual_clock> stricter({.limit = penstock::per_hour(8)},
                                                                          {.max_keys = 10'000}, clock);

  // The last one is on trial: it decides and is counted, and refuses nobody.
  auto limits = penstock::stack(layer("sender", per_sender, &mail::from), layer("domain", per_domain, &mail::domain),
                                layer("stricter sender", stricter, &mail::from).shadow());
  penstock::counters seen(limits);
  auto watched = penstock::observed(limits, seen);

  for (int minute = 0; minute < 3; ++minute) {
    for (std::string const from : {"ann", "bob", "eve"})
      for (int sent = 0; sent < (from == "eve" ? 9 : 3); ++sent)
        if (auto const d = watched.allow(mail{from, "example.org"}); !d)
          std::fprintf(stderr, "%s has to wait\n", from.c_str());
    clock.advance(1min);
  }
  std::fputs(seen.prometheus().c_str(), stdout);
}
