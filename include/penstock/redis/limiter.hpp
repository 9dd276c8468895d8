#pragma once
// One limit for many instances: the state lives in Redis, is changed by one script, and time is the server's.
//
//   redis::hiredis_pool pool({.host = "10.0.0.5"});
//   redis::token_bucket<std::string> per_user(pool, "api", {.refill = per_second(5), .burst = 20}, redis::local{0.25});
//   if (auto d = per_user.allow(user); !d) reply_429(d.retry_after);

#include <penstock/layer.hpp>
#include <penstock/redis/counters.hpp>
#include <penstock/redis/encoding.hpp>
#include <penstock/redis/failure_policy.hpp>
#include <penstock/redis/fallback.hpp>
#include <penstock/redis/key.hpp>
#include <penstock/redis/memory.hpp>
#include <penstock/redis/options.hpp>
#include <penstock/redis/remote_decision.hpp>
#include <penstock/redis/remote_limit.hpp>
#include <penstock/redis/transport.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace penstock::inline v0_1::redis {

/// Concurrency: every member is safe to call from any thread, if the transport's execute is. Refers to the transport.
/// A call takes one round trip or none (one more after NOSCRIPT, and one when a lease is refused) and ends at its
/// deadline.
template <limiting_algorithm A, limit_key Key, redis_transport T>
class limiter {
  static constexpr bool keyed = !std::same_as<Key, no_key>;
  using fallback = detail::fallback<A, Key>;
  using remote_limit = detail::remote_limit<A, T>;

 public:
  using algorithm_type = A;
  using key_type = Key;
  using config = typename A::config;
  using transport_type = T;
  using key_argument = typename fallback::key_argument;
  using clock_type = std::chrono::steady_clock;  ///< of deadlines; decisions are made on the server's
  using time_point = clock_type::time_point;
  static constexpr bool remote = true;

  /// limit_id names the limit among all that share the server: 1 to 64 letters, digits and -._~:@/. Give a limit whose
  /// algorithm changes a new one. Throws config_error. Sends nothing.
  limiter(T& transport, std::string limit_id, config const& c, failure_policy const& policy,
          options const& o = options{})
      : remote_(transport, std::move(limit_id), c, detail::checked(o)),
        fallback_(policy, c, remote_.algorithm().describe({}, {}, cost{0}).limit, o.local_keys),
        memory_(o.deny_cache, o.lease, o.timeout) {
    if (!memory_.lends()) return;
    if constexpr (detail::can_lease<A>)
      penstock::detail::check_range({"redis::lease_options", "units"}, o.lease.units, 1, remote_.algorithm().size());
    else
      penstock::detail::refuse({"redis::lease_options", "units"}, std::to_string(o.lease.units),
                               "0: only buckets and meters lend");
  }
  limiter(limiter const&) = delete;
  limiter& operator=(limiter const&) = delete;

  /// May this key have c units now? Counts them for all instances if so; a refusal writes nothing. Never throws for
  /// what the store does: see remote_decision::error.
  remote_decision allow(key_argument key, cost c = cost{1})
    requires(keyed)
  {
    return decide(key, c).answer;
  }
  remote_decision allow(cost c = cost{1})
    requires(!keyed)
  {
    return decide(no_key{}, c).answer;
  }

  /// What allow would return, asked of Redis; changes nothing. cost{0} asks for the present.
  remote_decision peek(key_argument key, cost c = cost{1})
    requires(keyed)
  {
    return look(key, c);
  }
  remote_decision peek(cost c = cost{1})
    requires(!keyed)
  {
    return look(no_key{}, c);
  }

  /// Counts c units whether or not they fit; the debt is at most one allowance. Not degraded: an error is returned.
  std::error_code charge(key_argument key, cost c)
    requires(keyed)
  {
    return settle(verb::charge, key, c);
  }
  std::error_code charge(cost c)
    requires(!keyed)
  {
    return settle(verb::charge, no_key{}, c);
  }

  /// Undoes a charge made just now; see limiter::refund. What was charged earlier is undone by the ticket of take().
  std::error_code refund(key_argument key, cost c)
    requires(keyed)
  {
    return settle(verb::refund, key, c);
  }
  std::error_code refund(cost c)
    requires(!keyed)
  {
    return settle(verb::refund, no_key{}, c);
  }

  /// From now on as if never seen, here and in Redis.
  std::error_code forget(key_argument key)
    requires(keyed)
  {
    return drop(key);
  }
  std::error_code forget()
    requires(!keyed)
  {
    return drop(no_key{});
  }

  counts stats() const noexcept { return remote_.stats(); }
  bool breaker_is_open() const noexcept { return remote_.circuit().is_open(); }
  std::string_view limit_id() const noexcept { return remote_.id(); }
  A const& algorithm() const noexcept { return remote_.algorithm(); }
  static clock_type clock() noexcept { return {}; }

  /// An answer that can be undone: by a stack in which another layer refused, or by a lease (lease.hpp).
  class ticket {
   public:
    remote_decision answer;
    explicit operator bool() const noexcept { return static_cast<bool>(answer); }

   private:
    friend limiter;
    std::string tag_;
    fingerprint print_{};
    typename remote_limit::instants charged_at_{};
    cost units_{0};
    std::optional<typename fallback::local_ticket> local_;  ///< what the in-process limiter of local{} counted
  };

  // The layer's side (stack.hpp): this limiter goes last, so that Redis is asked only for what passed here. The reading
  // is the caller's clock and decides nothing.
  ticket take(time_point, key_argument key, cost c) {
    ticket t = decide(key, c);
    if (t.tag_.empty()) t.tag_ = tag_of_argument(key);
    if (c.units == 0) t.local_ = fallback_.warm(key, c);  // to charge more to
    return t;
  }
  void undo(ticket&& t) { give_back(t, t.units_); }
  /// Gives c of the ticket's units back to where they came from. If Redis cannot be reached they stay counted there.
  void give_back(ticket const& t, cost c) {
    c = std::min(c, t.units_);
    if (!t || c.units == 0) return;
    if (t.local_) fallback_.give_back(*t.local_, c);
    if (t.answer.from == origin::lease) memory_.unspend(t.print_, c, clock_type::now());
    if (t.answer.from != origin::redis) return;
    remote_.change(verb::refund, t.tag_, c, &t.charged_at_);
    memory_.refunded(t.print_, clock_type::now());
  }
  /// Charges c more units to the ticket's key, where its own were counted.
  void charge_more(time_point, ticket const& t, cost c) {
    if (c.units == 0) return;
    if (t.local_) fallback_.charge_more(*t.local_, c);
    if (t.answer.from == origin::redis || t.answer.from == origin::lease) remote_.change(verb::charge, t.tag_, c);
  }

  // ---- the side that redis::stack sees: a limit's part in a call for several ----------------------------------------

  static std::string tag_of_argument(key_argument key) {
    if constexpr (keyed)
      return tag_of<typename penstock::detail::argument_of<Key>::part>(key);
    else
      return tag_of(no_key{});
  }
  remote_limit& in_redis() noexcept { return remote_; }
  bool lends() const noexcept { return memory_.lends(); }
  /// A refusal that is known without asking.
  std::optional<remote_decision> known(key_argument key, cost c, time_point now) {
    return known_of(print_of(key), c, now);
  }
  /// Redis decided for several limits at once; this one's part.
  void answered(key_argument key, cost c, decision const& d, time_point asked) {
    if (d) fallback_.warm(key, c);
    static_cast<void>(learn(print_of(key), c, c, d, asked));
  }
  using degraded_answer = typename fallback::given;
  degraded_answer degraded(key_argument key, cost c, std::error_code error) { return fallback_.take(key, c, error); }
  remote_decision degraded_peek(key_argument key, cost c, std::error_code error) const {
    return fallback_.peek(key, c, error);
  }
  void undo_degraded(degraded_answer const& given, cost c) {
    if (given.ticket && given.answer) fallback_.give_back(*given.ticket, c);
  }

 private:
  static fingerprint print_of(key_argument key) {
    if constexpr (keyed)
      return penstock::detail::fingerprint_of<typename penstock::detail::argument_of<Key>::part>(
          key, penstock::detail::hash_secret::process());
    else
      return {1, 1};
  }

  /// What never fits is refused for good, which a refusal for now does not tell.
  std::optional<remote_decision> known_of(fingerprint print, cost c, time_point now) {
    if (remote_.never_fits(c)) return {};
    return memory_.find(print, c, now, remote_.counted());
  }

  /// A decision of the store was made for `taken` units, c of them for this call.
  decision learn(fingerprint print, cost c, cost taken, decision const& d, time_point asked) {
    auto& counted = remote_.counted();
    counted.add(counted.by_redis);
    return memory_.learn(print, c, taken, d, asked);
  }

  /// The answer to a call, and what undoes it but for a tag that the answer did not need.
  ticket decide(key_argument key, cost c) {
    ticket t;
    t.units_ = c;
    if (c.units == 0) {
      t.answer = look(key, c);
      return t;
    }
    time_point const now = clock_type::now();
    t.print_ = print_of(key);
    if (auto const known = known_of(t.print_, c, now)) {
      t.answer = *known;
      if (t.answer) t.local_ = fallback_.warm(key, c);
      return t;
    }
    t.tag_ = tag_of_argument(key);
    cost wanted = memory_.wanted(t.print_, c, now);
    auto asked = remote_.ask(t.tag_, wanted, now);
    if (asked && asked->answer.outcome == verdict::limited && wanted != c)
      asked = remote_.ask(t.tag_, wanted = c, now);  // less than a lease is left
    if (!asked) {
      remote_.note_degraded(asked.error(), verb::take);
      auto given = fallback_.take(key, c, asked.error().code);
      t.answer = given.answer;
      t.local_ = std::move(given.ticket);
      return t;
    }
    t.charged_at_ = asked->charged_at;
    t.answer = {{learn(t.print_, c, wanted, asked->answer, now)}, origin::redis, {}};
    if (t.answer) t.local_ = fallback_.warm(key, c);
    return t;
  }

  remote_decision look(key_argument key, cost c) {
    auto const asked = remote_.ask(tag_of_argument(key), c, clock_type::now(), verb::peek);
    if (asked) return {{asked->answer}, origin::redis, {}};
    remote_.note_degraded(asked.error(), verb::peek);
    return fallback_.peek(key, c, asked.error().code);
  }

  std::error_code settle(verb what, key_argument key, cost c) {
    if (c.units == 0) return {};
    if (what == verb::charge)
      fallback_.charge(key, c);
    else
      fallback_.refund(key, c);
    auto const error = remote_.change(what, tag_of_argument(key), c);
    if (what == verb::refund) memory_.refunded(print_of(key), clock_type::now());
    return error;
  }

  std::error_code drop(key_argument key) {
    fallback_.forget(key);
    auto const error = remote_.forget(tag_of_argument(key));
    memory_.forget(print_of(key), clock_type::now());
    return error;
  }

  remote_limit remote_;
  fallback fallback_;
  detail::memory memory_;
};

}  // namespace penstock::inline v0_1::redis
