// The laws that bind every algorithm, held against the models themselves under clocks that step back and forth: what a
// field promises is tried out on a copy. An argument gives the number of random steps (40 000 unless told).

#include "check.hpp"
#include "fixed_window.hpp"
#include "leaky_meter.hpp"
#include "leaky_queue.hpp"
#include "sliding_counter.hpp"
#include "sliding_log.hpp"
#include "token_bucket.hpp"

#include <cstdlib>

namespace {

using namespace oracle;

constexpr std::int64_t minute = 60 * second_ns;

template <model M>
bool decide_alike(M const& a, M const& b, std::int64_t now, std::uint64_t limit) {
  for (std::uint64_t c : {std::uint64_t{0}, std::uint64_t{1}, limit / 2, limit, limit + 1})
    if (a.look(now, c) != b.look(now, c)) return false;
  return true;
}

template <model M>
M forgotten(M m) {
  m.forget();
  return m;
}

// After `ask(now, cost)` gave `a`, for a cost that could have been admitted: each wait is exact, tried on both sides.
template <model M>
void waits_are_exact(M const& m, std::int64_t now, std::uint64_t cost, answer const& a) {
  if (a.outcome == limited) {
    CHECK(a.retry_after > 0 && m.look(now + a.retry_after, cost).outcome == admitted);
    CHECK(m.look(now + a.retry_after - 1, cost).outcome == limited);
  }
  CHECK(m.look(now, a.remaining).outcome == admitted);
  CHECK((a.remaining == a.limit) == (a.next_after == 0));
  if (a.remaining < a.limit) {
    CHECK(m.look(now, a.remaining + 1).outcome == limited);
    CHECK(m.look(now + a.next_after, 0).remaining > a.remaining);
    CHECK(m.look(now + a.next_after - 1, 0).remaining == a.remaining);
  }
  CHECK(a.reset_after == 0 || !m.fresh());
  for (std::int64_t later : {std::int64_t{0}, std::int64_t{1}, a.reset_after, minute})
    CHECK(decide_alike(m, forgotten(m), now + a.reset_after + later, a.limit));
}

// A refusal changes nothing that any reading can tell, unless it found the clock set back: then all is used from now
// on.
template <model M>
void only_a_clock_set_back_is_noted(M const& before, M const& after, std::int64_t now, std::int64_t elsewhere,
                                    std::int64_t longest, answer const& a) {
  CHECK(decide_alike(before, after, now, a.limit));
  if (decide_alike(before, after, elsewhere, a.limit)) return;
  CHECK(a.outcome == limited && a.remaining == 0 && a.reset_after <= 2 * longest);
}

// What a charge took that fitted, a refund for the same instant gives back.
template <model M>
void refund_undoes(M const& m, std::int64_t now, std::int64_t later, std::uint64_t cost, std::uint64_t limit) {
  if (m.look(now, cost).outcome != admitted) return;
  M undone = m;
  undone.charge(now, cost);
  if (cost > 0) CHECK(undone.look(now, limit).outcome == limited);
  undone.refund(now, cost);
  CHECK(decide_alike(m, undone, now, limit) && decide_alike(m, undone, now + later, limit));
}

// `longest` is the time of a full reset.
template <model M>
void obeys(M m, std::uint64_t limit, std::int64_t longest, test::dice& dice) {
  auto const most = static_cast<std::int64_t>(limit);
  std::int64_t const patience = std::max(minute, longest);
  std::int64_t now = dice.roll(-3 * patience, 3 * patience), newest = now;
  for (int i = 0; i < 100; ++i) {
    now += dice.roll(0, 2 * longest / most);
    if (dice.roll(0, 9) == 0) now -= dice.roll(0, 2 * longest);
    if (dice.roll(0, 19) == 0) now += dice.roll(-4 * patience, 3 * patience);
    newest = std::max(newest, now);
    auto const cost = static_cast<std::uint64_t>(dice.roll(0, 1) == 0 ? 1 : dice.roll(0, most + 1));

    M const before = m;
    answer const a = m.ask(now, cost);
    CHECK(a == before.look(now, cost) && a.limit == limit);
    if (cost > 0 && cost <= limit)
      waits_are_exact(m, now, cost, a);
    else
      CHECK(a.outcome == (cost == 0 ? admitted : never) && a.retry_after == (cost == 0 ? 0 : -1) && a.delay == 0);
    if (cost == 0 || a.outcome != admitted)
      only_a_clock_set_back_is_noted(before, m, now, now + dice.roll(-2 * patience, 2 * patience), longest, a);
    CHECK(a.reset_after <= patience + 2 * longest);  // nobody is locked out longer, wherever the clock went
    CHECK(m.look(now - dice.roll(0, patience), 0).remaining <=
          m.look(now, 0).remaining);  // a lagging reading gains nothing
    refund_undoes(m, newest + dice.roll(0, longest), dice.roll(0, longest),
                  static_cast<std::uint64_t>(dice.roll(0, most)), limit);

    if (dice.roll(0, 9) == 0) m.charge(now, static_cast<std::uint64_t>(dice.roll(0, 3 * most)));
    if (dice.roll(0, 9) == 0) m.refund(now, cost);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 40'000;
  test::dice dice(5);
  for (int done = 0; done < steps; done += 100) {
    auto const count = static_cast<std::uint64_t>(dice.roll(1, 9)), burst = static_cast<std::uint64_t>(dice.roll(1, 9));
    std::int64_t const scale = dice.roll(0, 2) == 0 ? second_ns : 1;
    std::int64_t const period = dice.roll(1, 100) * scale + (scale > 1 ? dice.roll(0, 99) : 0);
    std::int64_t const full = to_nanoseconds(ceil_div(wide(burst) * period, count));
    obeys(fixed_window(count, period, true), count, period, dice);
    obeys(fixed_window(count, period, false), count, period, dice);
    obeys(sliding_log(count, period), count, period, dice);
    obeys(sliding_counter(count, period), count, period, dice);
    obeys(token_bucket(count, period, burst), burst, full, dice);
    obeys(leaky_meter(count, period, burst), burst, full, dice);
    obeys(leaky_queue(count, period, burst), burst, full, dice);
  }
  return test::verdict();
}
