// Calls of a few keys in a table that is too small for them: slots change hands, keys are dropped and come back, and
// law 2 holds for every single one.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiter.hpp>

#include "calls.hpp"

#include <array>
#include <vector>

using namespace fuzz;

namespace {

/// What a key may have that is dropped and comes back. It may come back into a window that others began, so a window
/// that starts with its first request cannot be told from its own requests; but two at most meet in one period.
template <class Row>
auto bound_of(shape const& s, typename Row::algorithm const& a) {
  if constexpr (std::is_same_v<Row, conformance::first_request_window>)
    return conformance::bounds(oracle::bound::sliding_log(2 * s.count, s.period.count()));
  else
    return Row::bound_of(s, a);
}

template <class Row>
void run(input& in) {
  shape const s = some_shape(in);
  penstock::store_options options{.max_keys = 1 + in.below(12)};
  if (in.byte() >= 192) options.full = penstock::when_full::refuse;
  penstock::limiter<typename Row::algorithm, std::uint32_t, penstock::manual_clock> limiter(Row::config(s), options);
  if constexpr (penstock::store::fits_table<typename Row::state>) know_the_secret(limiter);
  auto const a = limiter.algorithm();
  moving_clock clock(Row::full(a), Row::longest_lag(a));
  units const size = Row::size(a);
  constexpr std::size_t keys = 32;
  std::vector<decltype(bound_of<Row>(s, a))> bounds(keys, bound_of<Row>(s, a));

  while (!in.done()) {
    std::uint8_t const what = in.byte();
    auto const key = static_cast<std::uint32_t>(in.byte() % keys);
    nanoseconds const now = clock.next(in);
    penstock::manual_clock::time_point const at{now};
    penstock::cost const c{1 + units{what & 15u} % size};
    if ((what >> 4) == 15) {  // a debt makes a key hard to drop
      limiter.charge_at(at, key, penstock::cost{2 * size});
      continue;
    }
    auto const newest = limiter.peek_at(penstock::manual_clock::time_point{clock.newest()}, key, c);
    penstock::decision const peeked = limiter.peek_at(at, key, c), answer = limiter.allow_at(at, key, c);
    HOLDS(answer == peeked);
    if (answer) {
      if (now < clock.newest()) {  // it lags: what it took is not fed to the bound, which so becomes more lenient
        HOLDS(newest.outcome == penstock::verdict::admitted);
        continue;
      }
      bounds[key].admit(now, c.units, answer.delay);
      HOLDS(bounds[key].holds());
      continue;
    }
    HOLDS(answer.outcome == penstock::verdict::limited && answer.retry_after > 0ns);
    HOLDS(limiter.peek_at(at, key, c) == answer);  // a refusal changes nothing
    HOLDS(limiter.peek_at(at + answer.retry_after, key, c).outcome == penstock::verdict::admitted);
    // Earlier, a newcomer may find that what bound it is no more: it is bound by several keys at once, and a window has
    // one end only. Who is held, or is told when there will be room, is told exactly.
    if (options.full == penstock::when_full::refuse && now == clock.newest())
      HOLDS(limiter.peek_at(at + answer.retry_after - 1ns, key, c).outcome == penstock::verdict::limited);
  }

  penstock::store_stats const stats = limiter.stats();
  HOLDS(stats.keys <= stats.capacity && stats.capacity >= options.max_keys);
  HOLDS(options.full == penstock::when_full::refuse || stats.newcomers_refused == 0);
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size > 3'000) return 0;
  input in(data, size);
  using runner = void (*)(input&);
  constexpr runner runners[] = {run<conformance::aligned_window>,  run<conformance::first_request_window>,
                                run<conformance::sliding_counter>, run<conformance::token_bucket>,
                                run<conformance::leaky_queue>,     run<conformance::bucket_and_window>,
                                run<conformance::sliding_log>};
  runners[in.below(std::size(runners))](in);
  return 0;
}
