// Compiled without exceptions and without type information: every limiter works, and each kind of bad configuration
// ends the program through on_config_error. `check` says what is expected of each argument.

#include <penstock/http.hpp>
#include <penstock/penstock.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

int decided = 0;

/// Twice two units, of which there are three.
template <class Limiter>
void decides(typename Limiter::config const& config) {
  manual_clock clock;
  Limiter limiter(config, clock);
  bool const first = bool(limiter.allow("ann", cost{2})), second = bool(limiter.allow("ann", cost{2}));
  if (first && !second) ++decided;
}

int every_limiter_decides() {
  decides<token_bucket<std::string, manual_clock>>({.refill = per_hour(3), .burst = 3});
  decides<leaky_meter<std::string, manual_clock>>({.drain = per_hour(3), .capacity = 3});
  decides<leaky_queue<std::string, manual_clock>>({.drain = per_hour(3), .capacity = 3});
  decides<fixed_window<std::string, manual_clock>>({.limit = per_hour(3)});
  decides<sliding_log<std::string, manual_clock>>({.limit = per_hour(3)});
  decides<sliding_counter<std::string, manual_clock>>({.limit = per_hour(3)});

  manual_clock clock;
  token_bucket<std::string, manual_clock> mine({.refill = per_hour(3), .burst = 3}, clock);
  token_bucket<no_key, manual_clock> all({.refill = per_hour(1), .burst = 1}, clock);
  auto limits = stack(layer("mine", mine, [](std::string_view who) { return who; }), layer("all", all));
  if (limits.allow(std::string_view("ann")) && !limits.allow(std::string_view("ann"))) ++decided;
  return decided == 7 ? 0 : 1;
}

void tell(char const* sentence) { std::printf("told: %s\n", sentence); }

void tell_and_leave(char const* sentence) {
  tell(sentence);
  std::exit(7);
}

}  // namespace

int main(int, char** arguments) {
  std::string_view const what = arguments[1];
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  if (what == "nothing") {
    int const status = every_limiter_decides();
    std::printf("%s\n", status == 0 ? "every limiter decides" : "a limiter decides wrongly");
    return status;
  }
  if (what == "handler") on_config_error = tell_and_leave;
  if (what == "returning_handler") on_config_error = tell;
  if (what == "count") fixed_window<>({.limit = per_second(0)});
  if (what == "keys") token_bucket<std::string>({.refill = per_second(1), .burst = 1}, {.max_keys = 0});
  if (what == "text") static_cast<void>(parse_rate("100/fortnight"));
  if (what == "names") {
    token_bucket<> limiter({.refill = per_second(1), .burst = 1});
    stack(layer("site", limiter), layer("site", limiter));
  }
  token_bucket<>({.refill = per_second(1), .burst = 0});
  return 0;  // never reached
}
