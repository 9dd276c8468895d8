#pragma once
// One limit for many instances: the state lives in Redis, is changed by one script, and time is the server's.
//
//   redis::hiredis_pool pool({.host = "10.0.0.5"});
//   redis::token_bucket<std::string> per_user(pool, "api", {.refill = per_second(5), .burst = 20}, redis::local{0.25});
//   if (auto d = per_user.allow(user); !d) reply_429(d.retry_after);

#include <penstock/layer.hpp>
#include <penstock/redis/breaker.hpp>
#include <penstock/redis/counters.hpp>
#include <penstock/redis/encoding.hpp>
#include <penstock/redis/exchange.hpp>
#include <penstock/redis/failure_policy.hpp>
#include <penstock/redis/fallback.hpp>
#include <penstock/redis/key.hpp>
#include <penstock/redis/memory.hpp>
#include <penstock/redis/options.hpp>
#include <penstock/redis/remote_decision.hpp>
#include <penstock/redis/transport.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace penstock::inline v0_1::redis {

/// Concurrency: every member is safe to call from any thread, if the transport's execute is. Refers to the transport.
/// A call takes at most one round trip (two after NOSCRIPT, or when a lease is refused) and ends at its deadline.
template <limiting_algorithm A, limit_key Key, redis_transport T>
class limiter {
  static constexpr bool keyed = !std::same_as<Key, no_key>;
  using fallback = detail::fallback<A, Key>;

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
      : transport_(transport),
        id_(checked_limit_id(std::move(limit_id))),
        options_(o),
        encoding_(c, to_instant(std::chrono::system_clock::now())),
        fallback_(policy, c, encoding_.algorithm().describe({}, {}, cost{0}).limit, o.local_keys),
        breaker_(o.breaker),
        memory_(o.deny_cache, o.lease) {
    penstock::detail::check_range({"redis::options", "timeout"}, static_cast<std::uint64_t>(o.timeout.count()), 1,
                                  std::uint64_t{1} << 62);
    if (!memory_.lends()) return;
    if constexpr (detail::can_lease<A>)
      penstock::detail::check_range({"redis::lease_options", "units"}, o.lease.units, 1, encoding_.algorithm().size());
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
    return take(clock_type::now(), key, c).answer;
  }
  remote_decision allow(cost c = cost{1})
    requires(!keyed)
  {
    return take(clock_type::now(), no_key{}, c).answer;
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
    return settle(verb::charge, key, c, {});
  }
  std::error_code charge(cost c)
    requires(!keyed)
  {
    return settle(verb::charge, no_key{}, c, {});
  }

  /// Undoes a charge made just now; see limiter::refund. What was charged earlier is undone by the ticket of take().
  std::error_code refund(key_argument key, cost c)
    requires(keyed)
  {
    return settle(verb::refund, key, c, {});
  }
  std::error_code refund(cost c)
    requires(!keyed)
  {
    return settle(verb::refund, no_key{}, c, {});
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

  counts stats() const noexcept { return counted_.snapshot(breaker_.times_opened()); }
  bool breaker_is_open() const noexcept { return breaker_.is_open(); }
  std::string_view limit_id() const noexcept { return id_; }
  A const& algorithm() const noexcept { return encoding_.algorithm(); }
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
    instant charged_at_{};
    cost units_{0};
    std::optional<typename fallback::local_ticket> local_;
  };

  // The layer's side (stack.hpp): this limiter goes last, so that Redis is asked only for what passed here. The reading
  // is the caller's clock and decides nothing.
  ticket take(time_point, key_argument key, cost c) {
    ticket t;
    t.units_ = c;
    t.print_ = print_of(key);
    if (c.units == 0) {
      t.answer = look(key, c);
      return t;
    }
    time_point const now = clock_type::now();
    if (auto const known = memory_.find(t.print_, c, now, counted_)) {
      t.answer = *known;
      return t;
    }
    t.tag_ = tag_of_argument(key);
    cost wanted = memory_.wanted(t.print_, c, now);
    auto asked = ask(t.tag_, wanted, now);
    if (asked && asked->answer.outcome == verdict::limited && wanted != c)
      asked = ask(t.tag_, wanted = c, now);  // less than a lease is left
    if (!asked) {
      auto given = degraded(key, c, asked.error());
      t.answer = given.answer;
      t.local_ = std::move(given.ticket);
      return t;
    }
    t.charged_at_ = asked->charged_at;
    t.answer = {{learn(key, t.print_, c, wanted, asked->answer, now)}, origin::redis, {}};
    return t;
  }
  void undo(ticket&& t) { give_back(t, t.units_); }
  /// Gives c of the ticket's units back to where they came from. If Redis cannot be reached they stay counted.
  void give_back(ticket const& t, cost c) {
    if (!t || c.units == 0) return;
    c = std::min(c, t.units_);
    if (t.local_) {
      fallback_.give_back(*t.local_, c);
    } else if (t.answer.from == origin::lease) {
      memory_.give_back(t.print_, c, clock_type::now());
    } else if (t.answer.from == origin::redis) {
      memory_.forget_denial(t.print_);
      change(verb::refund, t.tag_, c, t.charged_at_);
    }
  }
  void charge_more(time_point, ticket const& t, cost c) {
    if (!t.tag_.empty()) change(verb::charge, t.tag_, c, {});
  }

  // ---- the side that redis::stack sees: a limit's part in a call for several ----------------------------------------

  static std::string tag_of_argument(key_argument key) {
    if constexpr (keyed)
      return tag_of<typename penstock::detail::argument_of<Key>::part>(key);
    else
      return tag_of(no_key{});
  }
  void append_question(std::vector<std::string>& keys, detail::words& arguments, std::string_view tag, verb what,
                       cost c) const {
    for (std::size_t rule = 0; rule < detail::encoding<A>::rules; ++rule) keys.push_back(key_of(tag, id_, rule));
    encoding_.append(arguments, what, c);
  }
  /// The decision that follows from what the script found.
  detail::decoded read_answer(detail::reply_reader& from, instant now, cost c) const {
    auto const found = encoding_.read(from, now, c);
    detail::decoded d{encoding_.algorithm().describe(found, now, c),
                      encoding_.algorithm().describe(found, now, cost{0}), now};
    if constexpr (requires(A const& a) {
                    { a.charged_at(found, now) } -> std::same_as<instant>;
                  })
      d.charged_at = encoding_.algorithm().charged_at(found, now);
    return d;
  }
  /// A refusal that is known without asking.
  std::optional<remote_decision> known(key_argument key, cost c, time_point now) {
    return memory_.find(print_of(key), c, now, counted_);
  }
  bool lends() const noexcept { return memory_.lends(); }
  void answered(key_argument key, cost c, decision const& d, time_point asked) {
    static_cast<void>(learn(key, print_of(key), c, c, d, asked));
  }
  using degraded_answer = typename fallback::given;
  degraded_answer degraded(key_argument key, cost c, io_error error) {
    note(error);
    return fallback_.take(key, c, error.code);
  }
  remote_decision degraded_peek(key_argument key, cost c, std::error_code error) const {
    return fallback_.peek(key, c, error);
  }
  void undo_degraded(typename fallback::local_ticket const& t, cost c) { fallback_.give_back(t, c); }
  /// A call of the script under this limiter's deadline and breaker.
  result<reply> call(std::vector<std::string> const& keys, detail::words const& arguments, time_point now) {
    auto const permit = breaker_.enter(now);
    if (!permit) return io_error{errc::breaker_open, sent::no};
    auto answer = detail::run_script(transport_, keys, arguments, now + options_.timeout, counted_);
    if (!answer && counts_against_store(answer.error().code))
      breaker_.failed(permit, clock_type::now());
    else
      breaker_.succeeded(permit, clock_type::now());
    return answer;
  }
  /// A call came to nothing.
  void note(io_error const& e) {
    counted_.add(counted_.degraded);
    if (e.was == sent::unknown) counted_.add(counted_.maybe_counted);
    if (!counts_against_store(e.code) && e.code != errc::breaker_open) counted_.add(counted_.misconfigured);
  }
  T& transport() const noexcept { return transport_; }

 private:
  static fingerprint print_of(key_argument key) {
    if constexpr (keyed)
      return penstock::detail::fingerprint_of<typename penstock::detail::argument_of<Key>::part>(
          key, penstock::detail::hash_secret::process());
    else
      return {1, 1};
  }

  /// A decision of the store was made for `taken` units, c of them for this call.
  decision learn(key_argument key, fingerprint print, cost c, cost taken, decision const& d, time_point asked) {
    counted_.add(counted_.by_redis);
    if (d) fallback_.warm(key, c);
    return memory_.learn(print, c, taken, d, asked);
  }

  result<reply> ask_script(verb what, std::string_view tag, cost c, instant at, time_point now) {
    std::vector<std::string> keys;
    detail::words arguments;
    char const letter = static_cast<char>(what);
    arguments.add({&letter, 1});
    append_question(keys, arguments, tag, what, c);
    if (at > instant{}) arguments.add(static_cast<std::uint64_t>(at.time_since_epoch().count() / 1000));
    return call(keys, arguments, now);
  }

  result<detail::decoded> ask(std::string_view tag, cost c, time_point now, verb what = verb::take) {
    if (what == verb::take &&
        encoding_.algorithm().describe(typename A::state{}, instant{}, c).outcome == verdict::never)
      what = verb::peek;
    auto const answer = ask_script(what, tag, c, {}, now);
    if (!answer) return answer.error();
    detail::reply_reader from(*answer);
    bool const admitted = from.next() == 1;
    instant const read_at = detail::from_microseconds(from.next());
    auto const d = read_answer(from, read_at, c);
    if (!from.whole() || static_cast<bool>(d.answer) != admitted) return io_error{errc::bad_reply, sent::unknown};
    return d;
  }

  remote_decision look(key_argument key, cost c) {
    auto const asked = ask(tag_of_argument(key), c, clock_type::now(), verb::peek);
    if (asked) return {{asked->answer}, origin::redis, {}};
    note(asked.error());
    return fallback_.peek(key, c, asked.error().code);
  }

  std::error_code change(verb what, std::string_view tag, cost c, instant at) {
    if (c.units == 0) return {};
    auto const answer = ask_script(what, tag, c, at, clock_type::now());
    return answer ? std::error_code{} : answer.error().code;
  }
  std::error_code settle(verb what, key_argument key, cost c, instant at) {
    if (what == verb::refund) memory_.forget_denial(print_of(key));
    if (what == verb::charge) fallback_.warm(key, c);
    return change(what, tag_of_argument(key), c, at);
  }

  std::error_code drop(key_argument key) {
    memory_.forget(print_of(key));
    fallback_.forget(key);
    std::string const tag = tag_of_argument(key);
    std::vector<std::string> keys;
    for (std::size_t rule = 0; rule < detail::encoding<A>::rules; ++rule) keys.push_back(key_of(tag, id_, rule));
    std::vector<std::string_view> all{"DEL"};
    all.insert(all.end(), keys.begin(), keys.end());
    auto const answer = detail::send(transport_, command{all, all[1]}, clock_type::now() + options_.timeout, counted_);
    if (!answer) return answer.error().code;
    return answer->is == reply::kind::error ? detail::error_of(*answer).code : std::error_code{};
  }

  T& transport_;
  std::string id_;
  options options_;
  detail::encoding<A> encoding_;
  fallback fallback_;
  breaker breaker_;
  detail::memory memory_;
  detail::atomic_counts counted_;
};

}  // namespace penstock::inline v0_1::redis
