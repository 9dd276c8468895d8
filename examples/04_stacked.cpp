// Many limits, one answer: a request goes through when its user, its tenant and the site allow it, and, if it is a
// login, its address too. One that is refused takes nothing from anybody.

#include <penstock/penstock.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

using namespace penstock::literals;
using namespace std::chrono_literals;

struct request {
  std::string_view method, path, address;
  std::optional<std::string> user{}, tenant{};  // nobody, before the login
};

penstock::manual_clock wall_clock;  // a service leaves this out, and has std::chrono::steady_clock

template <class Key = penstock::no_key>
using bucket = penstock::token_bucket<Key, penstock::manual_clock>;

bucket<std::string> per_user({.refill = "1/s"_rate, .burst = 5}, wall_clock);
bucket<std::string> per_tenant({.refill = "2/s"_rate, .burst = 12}, wall_clock);
bucket<> site({.refill = "1000/s"_rate}, wall_clock);
penstock::sliding_log<std::string, penstock::manual_clock> logins({.limit = "10 per 15 minutes"_rate}, wall_clock);

/// A layer whose key is absent does not apply.
std::optional<std::string_view> login_address(request const& r) {
  if (r.method == "POST" && r.path == "/login") return r.address;
  return std::nullopt;
}

auto limits = penstock::stack(penstock::layer("user", per_user, &request::user),
                              penstock::layer("tenant", per_tenant, &request::tenant),
                              penstock::layer("login", logins, login_address), penstock::layer("site", site));

void send(int times, request const& r) {
  std::string_view const who = r.user ? std::string_view(*r.user) : r.address;
  std::printf("%.*s %.*s:", int(who.size()), who.data(), int(r.path.size()), r.path.data());
  for (int sent = 0; sent < times; ++sent)
    if (auto const d = limits.allow(r); !d) {
      auto const seconds = static_cast<int>(ceil<std::chrono::seconds>(d.retry_after).count());
      std::printf(" %d of %d, then 429 for the %s, Retry-After: %d\n", sent, times, d.limited_by().data(), seconds);
      return;
    }
  std::printf(" all %d\n", times);
}

int main() {
  for (char const* user : {"ann", "bob", "eve"}) send(6, {"GET", "/orders", "198.18.0.1", user, "acme"});
  send(100, {"POST", "/login", "198.18.0.66"});  // somebody guesses passwords
  send(3, {"POST", "/login", "198.18.0.2"});
  std::printf("the site has counted %d\n", static_cast<int>(1000 - site.peek(penstock::cost{0}).remaining));
  wall_clock.advance(15min);
  send(11, {"POST", "/login", "198.18.0.66"});
}
