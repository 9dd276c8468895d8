// Calls of one limiter, of any algorithm, beside its exact model: every decision is the model's, whatever the clock
// does.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiter.hpp>

#include "calls.hpp"

using namespace fuzz;

namespace {

template <class Row>
void run(input& in) {
  shape const s = some_shape(in);
  penstock::limiter<typename Row::algorithm, penstock::no_key, penstock::manual_clock> limiter(Row::config(s));
  auto const a = limiter.algorithm();
  auto model = Row::model_of(a);
  moving_clock clock(Row::full(a), Row::longest_lag(a));
  units const size = Row::size(a);
  nanoseconds charged = 0ns;

  while (!in.done()) {
    std::uint8_t const what = in.byte();
    nanoseconds const now = what == 255 ? clock.set(in) : clock.next(in);
    units const c = (what & 15) < 13 ? units{what & 15u} % (size + 2) : in.of_any_size();
    penstock::cost const cost{c};
    penstock::manual_clock::time_point const at{now};
    switch (what >> 4) {
      case 0:
        limiter.charge_at(at, cost);
        model.charge(now.count(), c);
        charged = now;
        break;
      case 1:
        limiter.refund_at(penstock::manual_clock::time_point{charged}, cost);
        model.refund(charged.count(), c);
        break;
      case 2:
        limiter.refund_at(at, cost);
        model.refund(now.count(), c);
        break;
      case 3:
        limiter.forget();
        model.forget();
        break;
      case 4:
        HOLDS(limiter.peek_at(at, cost) == conformance::as_decision(model.look(now.count(), c)));
        break;
      default: {
        penstock::decision const answer = limiter.allow_at(at, cost);
        HOLDS(answer == conformance::as_decision(model.ask(now.count(), c)));
        if (answer) charged = now;
        if (answer.outcome == penstock::verdict::limited) {
          HOLDS(limiter.peek_at(at + answer.retry_after, cost).outcome == penstock::verdict::admitted);
          HOLDS(limiter.peek_at(at + answer.retry_after - 1ns, cost).outcome == penstock::verdict::limited);
        }
      }
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size > 1'000) return 0;  // the models are slow
  input in(data, size);
  using runner = void (*)(input&);
  constexpr runner runners[] = {run<conformance::aligned_window>, run<conformance::first_request_window>,
                                run<conformance::sliding_log>,    run<conformance::sliding_counter>,
                                run<conformance::token_bucket>,   run<conformance::leaky_meter>,
                                run<conformance::leaky_queue>,    run<conformance::bucket_and_window>};
  runners[in.below(std::size(runners))](in);
  return 0;
}
