// Tokens of a language model: what a request costs is known only when it has been answered. Reserve an estimate, settle
// the true number; a request that fails costs nothing. Fifty thousand at once, five thousand a minute in the long run.

#include <penstock/penstock.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using penstock::cost;
using std::chrono::seconds;

penstock::manual_clock wall_clock;  // a service leaves this out, and has std::chrono::steady_clock

constexpr auto sustained = penstock::per_minute(5'000);
penstock::token_bucket<std::string, penstock::manual_clock> tokens({.refill = sustained, .burst = 50'000}, wall_clock);

/// Stands for the model: answers, and says how many tokens it took.
std::uint64_t ask_model(std::string_view prompt, std::uint64_t answer) {
  if (prompt.empty()) throw std::runtime_error("the model did not answer");
  wall_clock.advance(2s);
  return prompt.size() / 4 + answer;
}

void complete(char const* user, std::string_view prompt, std::uint64_t at_most, std::uint64_t answer) {
  cost const estimate{prompt.size() / 4 + at_most};
  auto lease = tokens.reserve(user, estimate, 5min);  // after five minutes the work counts as done
  if (!lease) {
    auto const& d = lease.answer();
    if (d.outcome == penstock::verdict::never)
      std::printf("%s: 400, more than anybody has at once\n", user);
    else
      std::printf("%s: 429, Retry-After: %d\n", user, int(ceil<seconds>(d.retry_after).count()));
    return;
  }
  try {
    std::uint64_t const used = ask_model(prompt, answer);
    lease.commit(cost{used});  // less comes back at once, more becomes a debt
    std::printf("%s: 200, reserved %d, used %d", user, int(estimate.units), int(used));
  } catch (std::runtime_error const& e) {
    lease.cancel();  // as if it had not been asked; to leave the scope does the same
    std::printf("%s: 502, %s", user, e.what());
  }
  std::printf(", %d left\n", int(tokens.peek(user, cost{0}).remaining));
}

int main() {
  std::string const question(400, '?'), book(120'000, 'x');
  complete("ann", question, 4'000, 700);  // estimates are generous
  complete("ann", "", 4'000, 0);
  complete("ann", book, 16'000, 18'500);  // and sometimes too low
  complete("ann", question, 4'000, 700);
  wall_clock.advance(1min);
  complete("ann", question, 4'000, 700);
  complete("bob", book, 30'000, 0);
}
