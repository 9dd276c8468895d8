// Calls of a stack beside the models of its layers: all are charged, or none is; the answer is what the layers say
// together.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>
#include <penstock/stack.hpp>

#include "calls.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

using namespace fuzz;

namespace {

using penstock::decision;
using penstock::manual_clock;
using penstock::verdict;

struct request {
  std::uint8_t user, tenant;
  bool anonymous;  // then there is no tenant, and that layer is skipped
};

/// What one layer of the model says.
struct said {
  std::string_view name;
  bool skipped, shadow;
  decision answer;
  bool refuses() const { return !skipped && !shadow && !answer; }
};

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size > 1'000) return 0;
  input in(data, size);
  using rows = std::tuple<conformance::token_bucket, conformance::first_request_window, conformance::sliding_log>;
  using user_row = std::tuple_element_t<0, rows>;
  using tenant_row = std::tuple_element_t<1, rows>;
  using site_row = std::tuple_element_t<2, rows>;
  shape const of_user = some_shape(in), of_tenant = some_shape(in), of_site = some_shape(in);
  bool const on_trial = in.byte() >= 128;

  constexpr std::size_t users = 4, tenants = 2;
  manual_clock hand;
  penstock::token_bucket<std::uint8_t, manual_clock> per_user(user_row::config(of_user), {.max_keys = 256}, hand);
  penstock::fixed_window<std::uint8_t, manual_clock> per_tenant(tenant_row::config(of_tenant), {.max_keys = 256}, hand);
  penstock::sliding_log<penstock::no_key, manual_clock> site(site_row::config(of_site), hand);
  std::vector<user_row::model> user_models(users, user_row::model_of(per_user.algorithm()));
  std::vector<tenant_row::model> tenant_models(tenants, tenant_row::model_of(per_tenant.algorithm()));
  auto site_model = site_row::model_of(site.algorithm());
  auto const tenant_of = [](request const& r) { return r.anonymous ? std::nullopt : std::optional(r.tenant); };
  auto user_layer = penstock::layer("user", per_user, &request::user);
  auto stack = penstock::stack(on_trial ? std::move(user_layer).shadow() : user_layer,
                               penstock::layer("tenant", per_tenant, tenant_of), penstock::layer("site", site));

  nanoseconds const lag =
      std::min({user_row::longest_lag(per_user.algorithm()), tenant_row::longest_lag(per_tenant.algorithm()),
                site_row::longest_lag(site.algorithm())});
  moving_clock clock(site_row::full(site.algorithm()), lag);

  while (!in.done()) {
    std::uint8_t const what = in.byte(), who = in.byte();
    nanoseconds const now = clock.next(in);
    manual_clock::time_point const at{now};
    request const r{static_cast<std::uint8_t>(who % users), static_cast<std::uint8_t>((who >> 2) % tenants),
                    (who & 128) != 0};
    units const c = what & 15;
    penstock::cost const cost{c};
    auto& user_model = user_models[r.user];
    auto& tenant_model = tenant_models[r.tenant];

    if ((what >> 4) == 0) {  // one layer is used by itself as well
      per_user.charge_at(at, r.user, cost);
      user_model.charge(now.count(), c);
      continue;
    }

    // Every layer is asked first; then each that admits is charged, if none refuses.
    auto const ask_all = [&](auto of) {
      using conformance::as_decision;
      return std::array<said, 3>{{{"user", false, on_trial, as_decision(user_model.look(now.count(), of(0)))},
                                  {"tenant", r.anonymous, false,
                                   r.anonymous ? decision{} : as_decision(tenant_model.look(now.count(), of(1)))},
                                  {"site", false, false, as_decision(site_model.look(now.count(), of(2)))}}};
    };
    auto expected = ask_all([&](int) { return c; });
    said const* longest = nullptr;
    for (said const& layer : expected)
      if (layer.refuses() && (longest == nullptr || layer.answer.retry_after > longest->answer.retry_after))
        longest = &layer;
    verdict const outcome = longest == nullptr ? verdict::admitted : longest->answer.outcome;
    nanoseconds const wait = longest == nullptr ? 0ns : longest->answer.retry_after;
    std::string_view const limited_by = longest == nullptr ? "" : longest->name;
    if (outcome != verdict::admitted) {  // who would have admitted reports the present
      std::array<bool, 3> const admits{static_cast<bool>(expected[0].answer), static_cast<bool>(expected[1].answer),
                                       static_cast<bool>(expected[2].answer)};
      expected = ask_all([&](int i) { return admits[static_cast<std::size_t>(i)] ? 0 : c; });
    }
    units remaining = std::numeric_limits<units>::max();
    for (said const& layer : expected)
      if (!layer.skipped && !layer.shadow) remaining = std::min(remaining, layer.answer.remaining);

    auto const check = [&](auto const& d) {
      HOLDS(d.outcome == outcome && d.retry_after == wait && d.remaining == remaining && d.limited_by() == limited_by);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        auto const& report = d.layers()[i];
        HOLDS(report.name == expected[i].name && report.skipped == expected[i].skipped);
        HOLDS(report.shadow == expected[i].shadow);
        HOLDS(expected[i].skipped || report.decision == expected[i].answer);
      }
    };
    check(stack.peek_at(at, r, cost));
    if ((what >> 4) == 1) continue;
    check(stack.allow_at(at, r, cost));
    if (outcome != verdict::admitted) continue;
    static_cast<void>(user_model.ask(now.count(), c));
    if (!r.anonymous) static_cast<void>(tenant_model.ask(now.count(), c));
    static_cast<void>(site_model.ask(now.count(), c));
  }
  return 0;
}
