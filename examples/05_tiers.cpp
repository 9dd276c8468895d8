// Plans: what a customer may do depends on what the customer pays, and that changes. A key that changes its plan keeps
// the moment at which it will have recovered: it is neither locked out nor given a fresh allowance.

#include <penstock/penstock.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

using namespace penstock::literals;
using namespace std::chrono_literals;

enum class plan { free, basic, enterprise };
constexpr char const* names[] = {"free", "basic", "enterprise"};

penstock::manual_clock wall_clock;  // a service leaves this out, and has std::chrono::steady_clock

penstock::tiered<penstock::token_bucket, plan, std::string, penstock::manual_clock> api(
    {{plan::free, {"100/min"_rate}}, {plan::basic, {"1000/min"_rate}}, {plan::enterprise, {"10000/min"_rate}}},
    {.max_keys = 100'000}, wall_clock);

std::map<std::string, plan, std::less<>> customers{{"ann", plan::free}, {"bob", plan::basic}};

void call(std::string_view customer, int times) {
  plan const on = customers.find(customer)->second;
  int served = 0;
  penstock::decision d;
  for (; served < times; ++served)
    if (d = api.allow(on, customer); !d) break;
  std::printf("%-4s %-10s %5d of %5d calls, %5d left", customer.data(), names[static_cast<int>(on)], served, times,
              static_cast<int>(d.remaining));
  if (!d) std::printf(", again in %d ms", static_cast<int>(d.retry_after / 1ms));
  std::puts("");
}

int main() {
  call("ann", 40);
  call("bob", 40);

  customers["ann"] = plan::enterprise;  // 40 % of a minute are used, and stay so
  call("ann", 1);
  call("ann", 10'000);

  customers["ann"] = plan::free;
  call("ann", 1);
  wall_clock.advance(30s);
  call("ann", 100);

  api.reconfigure(plan::free, {.refill = "100/min"_rate, .burst = 20});  // less at once for those who do not pay
  wall_clock.advance(1h);
  call("ann", 100);
}
