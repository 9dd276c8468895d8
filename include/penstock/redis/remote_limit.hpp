#pragma once
// A limit's half that lives in Redis: questions to the script, what its answers mean, and the breaker around them.

#include <penstock/algorithm.hpp>
#include <penstock/redis/breaker.hpp>
#include <penstock/redis/counters.hpp>
#include <penstock/redis/encoding.hpp>
#include <penstock/redis/error.hpp>
#include <penstock/redis/exchange.hpp>
#include <penstock/redis/key.hpp>
#include <penstock/redis/options.hpp>
#include <penstock/redis/transport.hpp>
#include <penstock/redis/words.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock::inline v0_1::redis::detail {

/// A question that names no limit yet.
inline script_call started(verb what) {
  script_call asked;
  char const letter = static_cast<char>(what);
  asked.arguments.add({&letter, 1});
  return asked;
}

/// Concurrency: safe from any thread, if the transport is.
template <limiting_algorithm A, redis_transport T>
class remote_limit {
  using limit_encoding = encoding<A>;

 public:
  using time_point = std::chrono::steady_clock::time_point;
  using found = decoded<A>;
  using instants = std::array<instant, limit_encoding::rules>;

  remote_limit(T& transport, std::string id, typename A::config const& c, options const& o)
      : transport_(transport),
        id_(checked_limit_id(std::move(id))),
        timeout_(o.timeout),
        encoding_(c, to_instant(std::chrono::system_clock::now())),
        largest_cost_(largest_cost(encoding_.algorithm())),
        breaker_(o.breaker) {}

  T& transport() const noexcept { return transport_; }
  std::string_view id() const noexcept { return id_; }
  A const& algorithm() const noexcept { return encoding_.algorithm(); }
  breaker const& circuit() const noexcept { return breaker_; }
  atomic_counts& counted() noexcept { return counted_; }
  counts stats() const noexcept { return counted_.snapshot(breaker_.times_opened()); }
  bool never_fits(cost c) const noexcept { return c.units > largest_cost_; }

  /// Adds this limit's part to a call.
  void append_question(script_call& to, std::string_view tag, verb what, cost c) const {
    append_keys(to.keys, tag);
    encoding_.append(to.arguments, what, c);
    to.numbers += what == verb::refund ? 2 * limit_encoding::rules : limit_encoding::numbers;
  }
  /// The decision that follows from what the script found.
  found read_answer(reply_reader& from, instant now, cost c) const {
    A const& algorithm = encoding_.algorithm();
    auto const state = encoding_.read(from, now, c);
    found f{algorithm.describe(state, now, c), algorithm.describe(state, now, cost{0}), {}};
    write_instants(penstock::detail::receipt(algorithm, state, now, c), f.charged_at.data());
    return f;
  }

  /// A call of the script under this limit's deadline and breaker; read(reply) is the result. An answer that read()
  /// cannot understand speaks against the store as much as none.
  template <class Read>
  auto call(script_call const& asked, time_point now, Read read) -> std::invoke_result_t<Read, reply const&> {
    return guarded<std::invoke_result_t<Read, reply const&>>(
        now, [&](deadline until) { return run_script(transport_, asked, until, counted_); }, read);
  }

  /// May this key have c units? Or, with verb::peek, could it?
  result<found> ask(std::string_view tag, cost c, time_point now, verb what = verb::take) {
    if (never_fits(c)) what = verb::peek;  // so nothing is written
    script_call asked = started(what);
    append_question(asked, tag, what, c);
    return call(asked, now, [&](reply const& answer) -> result<found> {
      reply_reader from(answer);
      bool const admitted = from.next() == 1;
      instant const read_at = from_microseconds(from.next());
      found const f = read_answer(from, read_at, c);
      if (!from.whole() || static_cast<bool>(f.answer) != admitted) return io_error{errc::bad_reply, sent::unknown};
      return f;
    });
  }

  /// Charges unconditionally, or refunds what was charged at those instants (null: just now).
  std::error_code change(verb what, std::string_view tag, cost c, instants const* charged_at = nullptr) {
    script_call asked = started(what);
    append_question(asked, tag, what, c);
    if (charged_at != nullptr)
      for (instant const at : *charged_at)
        asked.arguments.add(static_cast<std::uint64_t>(std::max(at.time_since_epoch().count() / 1000, std::int64_t{})));
    auto const answer = call(asked, std::chrono::steady_clock::now(),
                             [](reply const& r) -> result<std::int64_t> { return r.integers.front(); });
    if (answer) return {};
    counted_.add(counted_.unsettled);
    note(answer.error(), what);
    return answer.error().code;
  }

  std::error_code forget(std::string_view tag) {
    std::vector<std::string> keys;
    append_keys(keys, tag);
    std::vector<std::string_view> all{"DEL"};
    all.insert(all.end(), keys.begin(), keys.end());
    auto const answer = guarded<result<std::int64_t>>(
        std::chrono::steady_clock::now(),
        [&](deadline until) { return send(transport_, command{all, all[1]}, until, counted_); },
        [](reply const& r) -> result<std::int64_t> {
          if (r.is == reply::kind::error) return error_of(r);
          if (r.is != reply::kind::integers || r.integers.size() != 1) return io_error{errc::bad_reply, sent::unknown};
          return r.integers.front();
        });
    if (answer) return {};
    note(answer.error(), verb::peek);
    return answer.error().code;
  }

  /// The policy decides, because a call came to nothing.
  void note_degraded(io_error const& e, verb what) noexcept {
    counted_.add(counted_.degraded);
    note(e, what);
  }

 private:
  void append_keys(std::vector<std::string>& to, std::string_view tag) const {
    for (std::size_t rule = 0; rule < limit_encoding::rules; ++rule) to.push_back(key_of(tag, id_, rule));
  }

  template <class Result, class Exchange, class Read>
  Result guarded(time_point now, Exchange exchange, Read read) {
    auto const permit = breaker_.enter(now);
    if (!permit) return io_error{errc::breaker_open, sent::no};
    result<reply> const answer = exchange(now + timeout_);
    Result made = answer ? read(*answer) : Result(answer.error());
    if (!made && counts_against_store(made.error().code))
      breaker_.failed(permit, std::chrono::steady_clock::now());
    else
      breaker_.succeeded(permit, std::chrono::steady_clock::now());
    return made;
  }

  void note(io_error const& e, verb what) noexcept {
    if (e.was == sent::unknown && (what == verb::take || what == verb::charge)) counted_.add(counted_.maybe_counted);
    if (!counts_against_store(e.code) && e.code != errc::breaker_open) counted_.add(counted_.misconfigured);
  }

  T& transport_;
  std::string id_;
  std::chrono::nanoseconds timeout_;
  limit_encoding encoding_;
  std::uint64_t largest_cost_;
  breaker breaker_;
  atomic_counts counted_;
};

}  // namespace penstock::inline v0_1::redis::detail
