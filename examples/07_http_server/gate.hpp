#pragma once
// The middleware of examples 07 and 08: what is limited, by what, and what the client is told. No framework is in here.

#include <penstock/http.hpp>
#include <penstock/observe.hpp>
#include <penstock/penstock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What of a request decides. All of it is known before a byte of the body has been read.
struct request_head {
  penstock::http::address_key address;
  std::string_view method, path;
  std::optional<std::string_view> principal;  ///< whose API key this is; only of keys that were verified
};

template <penstock::clock_source Clock>
struct limiters {
  using address = penstock::http::address_key;
  using rate = penstock::rate;

  explicit limiters(Clock clock, std::uint64_t times)
      : per_address({.refill = penstock::per_second(50 * times), .burst = 1000 * times}, {.max_keys = 100'000}, clock),
        per_principal({.limit = penstock::per_day(10'000 * times)}, {.max_keys = 10'000}, clock),
        reads({.refill = penstock::per_minute(100 * times)}, {.max_keys = 100'000}, clock),
        logins({.limit = penstock::per(10 * times, std::chrono::minutes{15})}, {.max_keys = 10'000}, clock) {}

  penstock::token_bucket<address, Clock> per_address;
  penstock::fixed_window<std::string, Clock> per_principal;
  penstock::token_bucket<address, Clock> reads;
  penstock::sliding_log<address, Clock> logins;
};

/// A layer whose projection gives nothing does not apply to the request.
template <class Clock>
auto stack_of(limiters<Clock>& all) {
  using key = std::optional<penstock::http::address_key>;
  auto const cost_of = [](request_head const& r) { return penstock::cost{r.path == "/export" ? 25u : 1u}; };
  return penstock::stack(
      penstock::layer("address", all.per_address, &request_head::address),
      penstock::layer("daily", all.per_principal, &request_head::principal),
      penstock::layer("read", all.reads, [](request_head const& r) { return r.method == "GET" ? key(r.address) : key(); }).costs(cost_of),
      penstock::layer("login", all.logins, [](request_head const& r) { return r.path == "/login" ? key(r.address) : key(); }));
}

template <class Clock>
class gate {
 public:
  /// `times` as much of everything, for load tests.
  explicit gate(Clock clock, std::uint64_t times = 1) : limiters_(std::move(clock), times), limits_(stack_of(limiters_)) {}

  /// The whole answer to a refused request; of an admitted one (status 200) the fields to add to its answer.
  /// Concurrency: safe from any thread.
  penstock::http::response admit(request_head const& head) {
    auto const d = penstock::observed(limits_, seen_).allow(head);
    if (!d) return penstock::http::refusal(policies_, d);
    return {200, penstock::http::rate_limit_fields(policies_, d), {}};
  }

  /// For Prometheus.
  std::string metrics() const { return seen_.prometheus(); }

 private:
  limiters<Clock> limiters_;
  decltype(stack_of(std::declval<limiters<Clock>&>())) limits_;
  std::vector<penstock::http::policy> policies_ = penstock::http::policies_of(limits_);
  penstock::counters seen_{limits_};
};
