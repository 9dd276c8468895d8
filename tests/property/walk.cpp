// The laws, stated on walks.

#include "walk.hpp"

#include "hand.hpp"
#include "journal.hpp"

#include <penstock/config_error.hpp>
#include <penstock/time.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace property {

namespace {

/// One walk under all laws but the second.
class inspector {
 public:
  inspector(kind const& k, walk const& w) : book_(start_of(w)), hand_(facts{}, 0ns) {
    shape const s = fitted(k, w.of);
    book_.add(k, s, w.keyed, "gate");
    book_.add(k, s, w.keyed, "fresh");  // never charged
    hand_ = hand(known(), start_of(w));
  }

  void run(std::vector<step> const& steps) {
    never_seen(hand_.now());
    for (step const& s : steps) {
      book_.next_step();
      nanoseconds const now = hand_.move(s, true);
      units const c = cost_of(s, known().size);
      ask_for_nothing(now);
      switch (s.call % 16) {
        case 0:
          book_.charge(now, c);
          changed_at(now, c);
          charged_ = now;
          break;
        case 1:
          book_.refund(charged_, c);
          if (newest_) newest_->least = known().first;
          break;
        case 2:
          undo(now, 1 + s.more % known().size);
          break;
        case 3:
          if (s.more % 4 != 0) break;
          book_.forget();
          newest_.reset();
          break;
        default:
          ask(now, c);
      }
      lag(now, c);
      recovers(now);
    }
  }

 private:
  facts const& known() const { return book_.known(); }
  trial& gate() { return book_.gate(); }

  nanoseconds tolerance() const { return std::max<nanoseconds>(known().full, 60s); }

  /// Is no reading that changed the state later than this one?
  bool is_newest(nanoseconds now) const { return !newest_ || now >= newest_->most; }
  /// May this reading be taken of a clock that was set back?
  bool maybe_set_back(nanoseconds now) const {
    return newest_ && within(known(), newest_->most, -known().lag) && now < newest_->most - known().lag;
  }
  void changed_at(nanoseconds now, units c) {
    if (c == 0) return;
    // Further back than any debt reaches and any reading may lag; of several rules, of the slowest.
    nanoseconds const far = 2 * std::min(known().full, nanoseconds::max() / 4) + tolerance();
    if (is_newest(now))
      newest_ = {now, now};
    else if (!maybe_set_back(now))
      newest_->least = std::max(newest_->least, now);
    else if (within(known(), newest_->least, -far) && now < newest_->least - far)
      newest_ = {now, now};  // beyond any debt: the limiter has begun anew
    else
      newest_->least = std::min(newest_->least, now);
  }

  std::vector<answer> present(nanoseconds now) {
    std::vector<answer> all;
    nanoseconds const w = known().full;
    for (nanoseconds const later : {0ns, 1ns, nanoseconds(w / 2), w})
      if (within(known(), now, later))
        for (units const c : {units{0}, units{1}, known().size}) all.push_back(book_.peek(now + later, c));
    return all;
  }
  void unchanged(std::vector<answer> const& before, nanoseconds now, char const* law) {
    std::vector<answer> const after = present(now);
    for (std::size_t i = 0; i < before.size(); ++i) book_.same(after[i], before[i], law);
  }

  void never_seen(nanoseconds now) {
    answer const all = book_.peek(now, known().size), none = book_.peek(now, 0);
    book_.admits(all, "law 4: a key never seen has all of its allowance");
    book_.must(none.remaining == none.limit && none.reset_after == 0ns && none.next_after == 0ns,
               "law 4: a key never seen is fresh", [&] {
                 return none.name() + ".remaining == " + none.name() + ".limit && " + none.name() +
                        ".reset_after == 0ns";
               });
  }

  void ask_for_nothing(nanoseconds now) {
    auto const before = present(now);
    answer const peeked = book_.peek(now, 0), none = book_.allow(now, 0);
    book_.same(peeked, gate().model_sees(now, 0), "the present is what the model says");
    book_.admits(none, "law 9: cost 0 is admitted");
    book_.same(none, peeked, "law 9: cost 0 reports the present");
    book_.must(none.retry_after == 0ns && none.delay == 0ns, "law 9: cost 0 never waits",
               [&] { return none.name() + ".retry_after == 0ns && " + none.name() + ".delay == 0ns"; });
    unchanged(before, now, "law 9: cost 0 changes nothing");
  }

  void ask(nanoseconds now, units c) {
    auto const before = present(now);
    answer const peeked = book_.peek(now, c), a = book_.allow(now, c);
    book_.same(a, peeked, "law 1: peek says what allow will say");
    book_.same(a, gate().model_allows(now, c), "every decision is the model's");
    if (c > known().size) {
      book_.must(a.outcome == verdict::never && a.retry_after == nanoseconds::max() && a.delay == 0ns,
                 "law 3: never, when a cost exceeds the allowance", [&] {
                   return a.name() + ".outcome == verdict::never && " + a.name() + ".retry_after == nanoseconds::max()";
                 });
      unchanged(before, now, "law 3: never changes nothing");
      return;
    }
    if (a) {
      changed_at(now, c);
      if (c != 0) charged_ = now;
    } else {
      book_.limits(a, "law 3: a cost within the allowance may wait");
      if (!maybe_set_back(now)) unchanged(before, now, "law 1: a refusal changes nothing");
      if (maybe_set_back(now)) changed_at(now, c);
      exact_wait(a, now, a.retry_after, c, "law 3: admitted retry_after later, refused one nanosecond earlier");
      book_.must(
          (a.retry_after - tolerance()) / 2 <= known().full, "law 6: nobody is locked out for longer than Λ + 2W",
          [&] { return a.name() + ".retry_after <= " + text_of(tolerance()) + " + 2 * " + text_of(known().full); });
    }
    if (c != 0 || !maybe_set_back(now)) exact_remaining(a, now);  // to ask for nothing does not note a clock set back
  }

  /// c is refused until the wait is over, and not a nanosecond longer.
  void exact_wait(answer const& a, nanoseconds now, nanoseconds wait, units c, char const* law) {
    book_.must(wait > 0ns, law, [&] { return a.name() + ".retry_after > 0ns"; });
    if (!within(known(), now, wait)) return;
    book_.admits(book_.peek(now + wait, c), law);
    book_.limits(book_.peek(now + wait - 1ns, c), law);
  }

  void exact_remaining(answer const& a, nanoseconds now) {
    constexpr char const* law = "law 3: what remains is admitted, one more is not until next_after";
    if (a.remaining > 0) book_.admits(book_.peek(now, a.remaining), law);
    if (a.remaining >= known().size) return;
    answer const more = book_.peek(now, a.remaining + 1);
    book_.limits(more, law);
    book_.must(more.retry_after == a.next_after, law,
               [&] { return more.name() + ".retry_after == " + a.name() + ".next_after"; });
    exact_wait(more, now, a.next_after, a.remaining + 1, law);
  }

  /// Law 7, where the charge is the newest.
  void undo(nanoseconds now, units c) {
    if (!is_newest(now) || !book_.peek(now, c)) return;
    constexpr char const* law = "law 7: a refund undoes a charge that fitted";
    auto const before = present(now);
    book_.charge(now, c);
    book_.limits(book_.peek(now, known().size), law);
    book_.refund(now, c);
    unchanged(before, now, law);
    book_.refund(now, c);  // and once more: nothing is refunded above fresh
    answer const twice = book_.peek(now, 0);
    book_.must(twice.remaining <= twice.limit, "law 7: never above fresh",
               [&] { return twice.name() + ".remaining <= " + twice.name() + ".limit"; });
    newest_ = {known().first, now};  // which of the readings before it still holds is not known
    charged_ = now;
  }

  /// Law 6, where this is the newest reading.
  void lag(nanoseconds now, units c) {
    if (!is_newest(now)) return;
    answer const present = book_.peek(now, 0), newer = book_.peek(now, c);
    for (nanoseconds const by : {1ns, std::min(known().full, known().lag), known().lag}) {
      if (!within(known(), now, -by)) continue;
      answer const older = book_.peek(now - by, 0), asked = book_.peek(now - by, c);
      book_.must(older.remaining <= present.remaining, "law 6: a reading that lags finds no more than the newest",
                 [&] { return older.name() + ".remaining <= " + present.name() + ".remaining"; });
      book_.must(!asked || newer, "law 6: a reading that lags admits no more than the newest would have",
                 [&] { return "!" + asked.name() + " || " + newer.name(); });
    }
  }

  /// Law 5, where this is the newest reading.
  void recovers(nanoseconds now) {
    if (!is_newest(now)) return;
    nanoseconds const reset = book_.peek(now, 0).reset_after;
    if (!within(known(), now, reset)) return;
    for (nanoseconds const later : {0ns, 1ns, known().full}) {
      if (!within(known(), now + reset, later)) continue;
      nanoseconds const at = now + reset + later;
      for (units const c : {units{0}, units{1}, known().size, known().size + 1})
        book_.same(book_.peek(at, c), book_.peek(at, c, 1),
                   "law 5: from reset_after on, a key decides as one never seen");
    }
  }

  journal book_;
  hand hand_;
  /// The newest reading that the state holds. It is not always known: only the limiter knows when it took a clock for
  /// set back.
  struct bounds {
    nanoseconds least, most;
  };
  std::optional<bounds> newest_;
  nanoseconds charged_{};
};

}  // namespace

nanoseconds start_of(walk const& w) {
  constexpr nanoseconds earliest = penstock::earliest.time_since_epoch(), latest = penstock::latest.time_since_epoch();
  constexpr std::array starts{
      0ns, 1ns, -1ns, 3'758'770'000'000ns, latest, latest - 1ns, earliest, nanoseconds::min(), nanoseconds::max()};
  return w.start < starts.size() ? starts[w.start] : nanoseconds{w.start_more};
}

shape fitted(kind const& k, shape s) {
  for (int attempt = 0;; ++attempt) {
    try {
      static_cast<void>(k.make(s, 0ns, false));
      return s;
    } catch (penstock::config_error const&) {
      switch (attempt) {
        case 0:
          s.count = 1 + s.count % 14;  // kept exactly
          break;
        case 1:
          s.size = 1 + s.size % 1'000;
          break;
        case 2:
          s.period = 1ns + s.period % nanoseconds{std::int64_t{1} << 48};
          break;
        default:
          s = {};
      }
    }
  }
}

void laws_hold(kind const& k, walk const& w) { inspector(k, w).run(w.steps); }

void bound_holds(kind const& k, walk const& w) {
  journal book(start_of(w));
  book.add(k, fitted(k, w.of), w.keyed, "gate");
  facts const known = book.known();
  hand clock(known, start_of(w));
  std::string all_admitted;
  for (step const& s : w.steps) {
    nanoseconds const now = clock.move(s, false);
    units const c = std::min(cost_of(s, known.size), known.size);
    for (unsigned calls = 0; calls <= s.more % 4; ++calls) {
      answer const a = book.allow(now, c);
      if (a && c != 0) {
        all_admitted += (all_admitted.empty() ? "" : " && ") + a.name();
        book.gate().admitted(now, c, a.delay);
        book.must(book.gate().bound_holds(), "law 2: the bound holds in every interval",
                  [&] { return "!(" + all_admitted + ")"; });
      }
      if (calls != s.more % 4) continue;
      answer const present = book.peek(now, 0);
      constexpr nanoseconds decision::* waits[] = {&decision::retry_after, &decision::next_after,
                                                   &decision::reset_after};
      if (s.call % 4 < 3)
        clock.wait(s.call % 4 == 0 && a.outcome == verdict::limited ? a.retry_after : present.*waits[s.call % 4]);
    }
  }
}

void mirrors_agree(walk const& w) {
  constexpr char const* law = "law 8: bucket, meter and queue admit exactly the same requests";
  journal book(start_of(w));
  for (char const* const name : {"token_bucket", "leaky_meter", "leaky_queue"})
    book.add(kind_named(name), fitted(kind_named(name), w.of), w.keyed, name + std::string_view(name).find('_') + 1);
  hand clock(book.known(), start_of(w));
  for (step const& s : w.steps) {
    nanoseconds const now = clock.move(s, true);
    units const c = cost_of(s, book.known().size);
    if (s.call % 16 == 0) {
      for (std::size_t g = 0; g < 3; ++g) book.charge(now, c, g);
      continue;
    }
    answer const bucket = book.allow(now, c, 0), meter = book.allow(now, c, 1), queue = book.allow(now, c, 2);
    book.same(bucket, meter, law);
    // The queue says besides when its requests leave.
    auto const alike = [&](auto decision::* field, char const* name) {
      book.must(static_cast<decision const&>(queue).*field == static_cast<decision const&>(bucket).*field, law,
                [&] { return queue.name() + name + " == " + bucket.name() + name; });
    };
    alike(&decision::outcome, ".outcome");
    alike(&decision::remaining, ".remaining");
    alike(&decision::retry_after, ".retry_after");
    alike(&decision::reset_after, ".reset_after");
    alike(&decision::next_after, ".next_after");
  }
}

}  // namespace property
