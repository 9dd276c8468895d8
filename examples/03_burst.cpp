// What "10 per second" lets through at worst. Each algorithm meets the same 80 requests: a burst across the end of a
// second, and later a steady overload at four times the limit.

#include <penstock/penstock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using penstock::duration;

constexpr std::size_t limit = 10;
constexpr penstock::rate rate = penstock::per_second(limit);

std::vector<duration> requests() {
  std::vector<duration> at;
  for (int i = 0; i < 40; ++i) at.push_back(950ms + i * 2500us);
  for (int i = 0; i < 40; ++i) at.push_back(5s + i * 25ms);
  return at;
}

/// When the admitted requests go on their way; the queue holds them back for a while.
template <class Algorithm>
std::vector<duration> departures(typename Algorithm::config const& config) {
  penstock::manual_clock clock;
  penstock::limiter<Algorithm, penstock::no_key, penstock::manual_clock> limiter(config, clock);
  std::vector<duration> at;
  for (duration const now : requests()) {
    clock.set(now);
    if (auto const d = limiter.allow()) at.push_back(now + d.delay);
  }
  return at;
}

/// The most in any interval [t, t + 1 s). One that holds the most can be moved on until it starts at a departure.
std::size_t most_in_a_second(std::vector<duration> const& at) {
  std::size_t most = 0;
  for (auto first = at.begin(); first != at.end(); ++first)
    most = std::max(most, static_cast<std::size_t>(std::lower_bound(first, at.end(), *first + 1s) - first));
  return most;
}

void row(char const* name, std::vector<duration> const& at, char const* why) {
  std::size_t const most = most_in_a_second(at);
  std::string const bar = std::string(std::min(most, limit), '=') + std::string(most - std::min(most, limit), '#');
  std::printf("%-15s %4zu  %-20s  %s\n", name, most, bar.c_str(), why);
}

int main() {
  namespace algorithm = penstock::algorithm;
  std::puts("The most requests let through in any one second, of 80, at a limit of 10 per second\n");
  row("fixed_window", departures<algorithm::fixed_window>({.limit = rate}), "two full windows meet at 1 s");
  row("sliding_log", departures<algorithm::sliding_log>({.limit = rate}), "exact, remembers each request");
  row("sliding_counter", departures<algorithm::sliding_counter>({.limit = rate}), "guesses an even spread");
  row("token_bucket", departures<algorithm::token_bucket>({.refill = rate, .burst = limit}), "a burst, then the rate");
  row("leaky_meter", departures<algorithm::leaky_meter>({.drain = rate, .capacity = limit}), "the bucket's mirror");
  row("leaky_queue", departures<algorithm::leaky_queue>({.drain = rate, .capacity = limit}), "smooth: one each 100 ms");
  std::puts("\n= within the limit, # above it");
}
