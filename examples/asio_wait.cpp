// A coroutine that waits its turn: the limiter says when, an Asio timer waits. Nobody polls, and a coroutine that gives
// up gives its place in the line on.

#include <penstock/penstock.hpp>

#include <asio.hpp>

#include <chrono>
#include <cstdio>
#include <exception>

#if defined(ASIO_HAS_CO_AWAIT)
using namespace std::chrono_literals;

/// What the other side has asked of us: a call every twenty milliseconds.
penstock::token_bucket<> their_limit({.refill = penstock::per_second(50), .burst = 1});

/// True when it is this coroutine's turn; false, at once, when that would take longer than its patience.
asio::awaitable<bool> turn(std::chrono::nanoseconds patience) {
  auto place = penstock::reserve_within(their_limit, patience);
  if (!place) co_return false;
  if (auto const delay = place.answer().delay; delay > 0ns) {
    asio::steady_timer timer(co_await asio::this_coro::executor, delay);
    co_await timer.async_wait(asio::use_awaitable);  // when cancelled, it throws, and the place is given on
  }
  place.commit();
  co_return true;
}

asio::awaitable<void> call(int number, std::chrono::nanoseconds patience) {
  bool const mine = co_await turn(patience);
  std::printf(mine ? "call %d is sent\n" : "call %d would wait too long\n", number);
}

int main() {
  asio::io_context io;
  auto const report = [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  };
  for (int number = 1; number <= 5; ++number) asio::co_spawn(io, call(number, 1h), report);

  // The sixth stands in the line, and is called off before its turn.
  asio::cancellation_signal off;
  asio::co_spawn(io, call(6, 1h), asio::bind_cancellation_slot(off.slot(), [](std::exception_ptr error) {
                   std::puts(error ? "call 6 is called off" : "call 6 is sent, though called off");
                 }));
  asio::post(io, [&] { off.emit(asio::cancellation_type::all); });
  asio::co_spawn(io, call(7, 0ns), report);
  io.run();
}
#else
int main() { std::puts("this Asio has no coroutines for this compiler"); }
#endif
