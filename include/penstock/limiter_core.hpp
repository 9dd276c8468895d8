#pragma once
// What a limiter does behind its many names: one step of a plan on one state in a store.

#include <penstock/ask.hpp>
#include <penstock/clock.hpp>
#include <penstock/key.hpp>
#include <penstock/plan.hpp>
#include <penstock/store.hpp>
#include <penstock/store/cell.hpp>
#include <penstock/store/sharded_map.hpp>
#include <penstock/store/snapshot.hpp>
#include <penstock/store/table.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock::inline v0_1 {

/// Lets the limiter choose: a cell without a key; with one, the table when the state is plain words of which at least
/// two fit a cache line beside their tags (up to 24 bytes), else the sharded map.
struct default_store {
  template <class A, class Key>
  using keyed = std::conditional_t<store::fits_table<typename A::state>, store::table, store::sharded_map>;
  template <limiting_algorithm A, class Key>
  using of = typename std::conditional_t<std::same_as<Key, no_key>, store::cell, keyed<A, Key>>::template of<A, Key>;
};

namespace detail {

template <limiting_algorithm A, limit_key Key, clock_source C, class Store>
class limiter_core {
  using state = typename A::state;
  using store_type = typename Store::template of<A, Key>;
  static_assert(state_store<store_type, A>,
                "the Store argument is not a store for this algorithm's states: see penstock/store.hpp");

  /// States of plain words are described after the store has let go of them, where fields that the caller does not read
  /// cost nothing; states that own memory inside it, since they cannot be copied cheaply.
  static constexpr bool describe_outside = word_state<state>;

 public:
  using place = typename store_type::place;
  using argument = typename argument_of<Key>::type;

  explicit limiter_core(C clock)
    requires std::same_as<Key, no_key>
      : clock_(std::move(clock)) {}
  limiter_core(store_options const& options, C clock)
    requires(!std::same_as<Key, no_key>)
      : clock_(std::move(clock)), store_(checked(options)) {}

  C const& clock() const noexcept { return clock_; }
  instant reading() const { return to_instant(clock_.now()); }

  [[gnu::always_inline]] place find(argument key) const {
    if constexpr (std::same_as<Key, no_key>)
      return {};
    else
      return store_.locate(fingerprint_of<typename argument_of<Key>::part>(key, secret_));
  }

  /// One call. What is not the common case, a held state that nobody else changes just now, is left to take_slowly.
  template <class Ask = ask_now>
  [[gnu::always_inline]] auto take(plan<A> const& p, instant now, place const& at, cost c, Ask ask = {}) {
    A const& a = p.algorithm;
    if constexpr (std::same_as<Ask, ask_now> && requires { store_.spend(a, now, c); }) {
      if (c.units != 0 && !p.adopts_at(now)) [[likely]] {
        auto const spent = store_.spend(a, now, c);
        state seen = spent.seen;
        if (spent.what == attempt::changed) return describe(a, seen, now, c, true);
        if (spent.what == attempt::unchanged && !reanchor(a, seen, now)) return describe(a, seen, now, c, false);
      }
    } else if constexpr (requires { store_.attempt(at, any_step<A>{}); }) {
      // A step that caps a state and promises at once would be described by what it found, not by what it capped.
      if (c.units != 0 && !(Ask::promises && p.adopts_at(now))) [[likely]] {
        bool admitted = false;
        auto const tried = store_.attempt(at, first_step<Ask>{p, now, c, ask, admitted});
        state seen = tried.seen;
        if (tried.what == attempt::changed && admitted) [[likely]]
          return ask.describe(a, seen, now, c, true);
        if (tried.what == attempt::unchanged && !reanchor(a, seen, now)) return ask.describe(a, seen, now, c, false);
      }
    }
    auto const slowly = take_slowly(p, now, at, c, ask);
    if constexpr (std::same_as<Ask, ask_now>)  // by parts, so that the decision above need not be in memory
      return decision{slowly.outcome,     slowly.rule,        slowly.limit,      slowly.remaining,
                      slowly.retry_after, slowly.reset_after, slowly.next_after, slowly.delay};
    else
      return slowly;
  }

  template <class Ask = ask_now>
  auto look(plan<A> const& p, instant now, place const& at, cost c, Ask ask = {}) const {
    A const& a = p.algorithm;
    std::conditional_t<describe_outside, state, decltype(ask.describe(a, state{}, now, c, true))> seen{};
    auto const full = store_.look(a, at, now, [&](state const& s) {
      if constexpr (describe_outside) {
        seen = s;
        p.adopt_copy(seen, now);
      } else {
        seen = with_adopted(p, s, now, [&](state const& adopted) {
          return ask.describe(a, adopted, now, c, ask.admits(a, adopted, now, c));
        });
      }
    });
    return answer(a, seen, full, now, c, ask);
  }

  void settle(plan<A> const& p, instant now, place const& at, cost c) {
    if (c.units == 0) return;
    store_.insist(p.algorithm, at, now, [&](state& s) {
      p.adopt(s, now);
      p.algorithm.charge(s, now, c);
      return true;
    });
  }

  /// charged_at: an instant, or the receipt of a ticket.
  void give_back(plan<A> const& p, auto const& charged_at, place const& at, cost c) {
    amend(p, at, [&](state& s) { p.algorithm.refund(s, charged_at, c); });
  }
  /// change(s) may lower the state of a held key.
  template <class Change>
  void amend(plan<A> const& p, place const& at, Change change) {
    store_.amend(p.algorithm, at, [&](state& s) {
      change(s);
      return true;
    });
  }

  void forget(plan<A> const& p, place const& at) {
    if constexpr (requires { store_.forget(at); })
      store_.forget(at);
    else
      store_.amend(p.algorithm, at, [](state& s) {
        s = state{};
        return true;
      });
  }

  /// Calls use(i, place of i) for i from 0 to count - 1, while the memory of the next ones is on its way.
  template <class Find, class Use>
  static void in_flight(std::size_t count, Find find, Use use) {
    constexpr std::size_t ahead = 16;
    std::array<place, ahead> places;
    for (std::size_t i = 0; i < count + ahead; ++i) {
      if (i >= ahead) use(i - ahead, places[i % ahead]);
      if (i < count) places[i % ahead] = find(i);
    }
  }

  /// visit(key, state, now) for every key that is not fresh; see shown() for what a key is.
  template <class Visit>
  void for_each_state(plan<A> const& p, Visit visit) const {
    instant const now = reading();
    store_.for_each(p.algorithm, now,
                    [&](fingerprint key, state const& s) { visit(shown<Key>(key, secret_), s, now); });
  }
  /// What a call of cost 0 answers that finds s.
  static decision described(plan<A> const& p, state const& s, instant now) {
    return with_adopted(p, s, now, [&](state const& adopted) { return p.algorithm.describe(adopted, now, cost{0}); });
  }

  std::vector<std::byte> snapshot(plan<A> const& p, std::chrono::system_clock::time_point wall) const {
    static_assert(
        requires(snapshot_writer& out) { store_.save(p.algorithm, instant{}, out); },
        "only a store::table can be written to a snapshot; this limiter's store is another one");
    refuse_if_tied(p.algorithm);
    snapshot_writer out;
    for (std::uint64_t const word :
         {snapshot_mark, snapshot_version, kind_of_states(p.algorithm), secret_.key0, secret_.key1, secret_.multiplier})
      out.word(word);
    out.word(static_cast<std::uint64_t>(to_instant(wall).time_since_epoch().count()));
    store_.save(p.algorithm, reading(), out);
    return std::move(out).finish();
  }

  void restore(plan<A> const& p, std::span<std::byte const> bytes, std::chrono::system_clock::time_point wall) {
    static_assert(
        requires(snapshot_reader& in) { store_.load(p.algorithm, instant{}, instant{}, in); },
        "only a store::table can take over a snapshot; this limiter's store is another one");
    refuse_if_tied(p.algorithm);
    snapshot_reader in(bytes);
    in.expect("kind of states", kind_of_states(p.algorithm));
    hash_secret secret;
    for (std::uint64_t* const word : {&secret.key0, &secret.key1, &secret.multiplier}) *word = in.word();
    if (secret.multiplier % 2 == 0) refuse("snapshot: under its secret, different keys would be one");
    auto const taken = static_cast<std::int64_t>(in.word());
    duration const asleep = nanoseconds_of(ahead_by(to_instant(wall).time_since_epoch().count(), taken));
    instant const now = reading();
    store_.load(p.algorithm, now, now - std::min(asleep, longest_period), in);
    secret_ = secret;
  }

  store_stats stats(plan<A> const& p) const { return store_.stats(p.algorithm, reading()); }

 private:
  static store_options const& checked(store_options const& options) {
    check_range({"store_options", "max_keys"}, options.max_keys, 1, store::most_keys);
    return options;
  }

  /// A clock that does not say is taken for steady: so nothing is lost, and its author is told what to say.
  static constexpr bool may_be_steady() noexcept {
    if constexpr (requires { static_cast<bool>(C::is_steady); })
      return C::is_steady;
    else
      return true;
  }
  static void refuse_if_tied(A const& a) {
    if (may_be_steady() && tied_to_epoch(a))
      refuse(
          "snapshot: windows aligned to a steady clock mean nothing after a restart; use a wall clock (is_steady = "
          "false) or window_start::first_request");
  }

  /// What an attempt does to a state. Not a lambda: compilers that see many calls, or think them cold, would not inline
  /// it, and its captures would be in memory.
  template <class Ask>
  struct first_step {
    plan<A> const& in_force;
    instant now;
    cost units;
    Ask ask;
    bool& admitted;  ///< by reference: a store may copy its step

    [[gnu::always_inline]] bool operator()(state& s) const {
      bool const adopted = in_force.adopt(s, now);
      admitted = ask.admit(in_force, s, now, units);
      return admitted || adopted;
    }
  };

  template <class Ask>
  [[gnu::noinline]] auto take_slowly(plan<A> const& p, instant now, place at, cost c, Ask ask) {
    A const& a = p.algorithm;
    if (c.units == 0) return look(p, now, at, c, ask);
    std::conditional_t<describe_outside, state, decltype(ask.describe(a, state{}, now, c, true))> seen{};
    auto const full = store_.change(a, at, now, [&](state& s) {
      bool const adopted = p.adopt(s, now);
      if constexpr (describe_outside)
        seen = s;
      else
        seen = ask.describe(a, s, now, c, ask.admits(a, s, now, c));
      if (ask.admit(p, s, now, c)) return true;
      bool const never =
          c.units > describe(a, state{}, now, cost{0}, true).limit;  // waiting cannot help, so it changes nothing
      return (!never && reanchor(a, s, now)) || adopted;
    });
    return answer(a, seen, full, now, c, ask);
  }

  /// use(s as the plan in force sees it); copied only while states of earlier plans may be about.
  template <class Use>
  static auto with_adopted(plan<A> const& p, state const& s, instant now, Use use) {
    if constexpr (adopting<A>)
      if (p.adopts_at(now)) {
        state capped = s;
        p.adopt_copy(capped, now);
        return use(capped);
      }
    return use(s);
  }

  template <class Seen, class Ask>
  static auto answer(A const& a, Seen const& seen, std::optional<no_room<state>> const& full, instant now, cost c,
                     Ask ask) {
    if (full) [[unlikely]] {
      auto refused = ask.describe(a, full->start, now, c, ask.admits(a, full->start, now, c));
      // May be further than a duration reaches.
      duration const wait =
          nanoseconds_of(ahead_by(full->at.time_since_epoch().count(), now.time_since_epoch().count()));
      if constexpr (std::same_as<decltype(refused), decision>)
        refuse_newcomer(refused, wait, c);
      else
        refuse_newcomer(refused.answer, wait, c);
      return refused;
    }
    if constexpr (describe_outside)
      return ask.describe(a, seen, now, c, ask.admits(a, seen, now, c));
    else
      return seen;
  }

  /// There is room only later, and what the key starts from then may make it wait longer. What is `never` stays never.
  static void refuse_newcomer(decision& d, duration wait, cost c) {
    d.delay = {};
    d.remaining = 0;
    d.reset_after = std::max(d.reset_after, wait);
    if (d.outcome == verdict::never || c.units == 0) {
      d.next_after = wait;
      return;
    }
    d.outcome = verdict::limited;
    d.retry_after = d.next_after = std::max(d.retry_after, wait);
  }

  [[no_unique_address]] C clock_;
  hash_secret secret_ = hash_secret::process();
  store_type store_;
};

}  // namespace detail
}  // namespace penstock::inline v0_1
