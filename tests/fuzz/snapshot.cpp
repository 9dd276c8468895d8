// Bytes offered to restore(): damaged, foreign, or signed as if they were right. They are refused whole, and then the
// limiter is what it was; or they are taken, and then it still keeps its laws.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiters.hpp>

#include "input.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace penstock;
using bytes = std::vector<std::byte>;
using std::chrono::nanoseconds;
using wall = std::chrono::system_clock::time_point;

constexpr manual_clock::time_point started{std::chrono::hours{77}};
constexpr std::uint32_t keys = 12;

bytes signed_again(bytes b) {
  if (b.size() < 8) return b;
  std::span<std::byte> const all(b);
  std::uint64_t const sum = penstock::detail::checksum(all.first(all.size() - 8));
  for (std::size_t i = 0; i < 8; ++i) all[all.size() - 8 + i] = static_cast<std::byte>(sum >> 8 * i);
  return b;
}

/// All that a limiter says from a reading on, and whom it holds.
template <class Limiter>
auto present(Limiter const& limiter, manual_clock::time_point now) {
  std::vector<decision> all;
  for (std::uint32_t k = 0; k < keys; ++k)
    for (nanoseconds const later : {nanoseconds{0}, nanoseconds{700'000'000}, nanoseconds{60'000'000'000}})
      for (std::uint64_t const c : {0u, 1u, 5u}) all.push_back(limiter.peek_at(now + later, k, cost{c}));
  std::vector<std::tuple<std::uint32_t, std::uint64_t>> held;
  limiter.for_each([&](std::uint32_t key, decision const& d) { held.emplace_back(key, d.remaining); });
  return std::tuple(all, held, limiter.stats().keys);
}

template <class A>
void offer(typename A::config const& config, fuzz::input& in) {
  using kind = limiter<A, std::uint32_t, manual_clock>;
  store_options const options{.max_keys = 8};
  manual_clock clock{started};
  kind saved(config, options, clock), target(config, options, clock), untouched(config, options, clock);

  std::size_t const mode = in.below(3);
  for (std::size_t calls = in.below(24); calls-- > 0;) {
    clock.advance(nanoseconds{static_cast<std::int64_t>(in.number(4))});
    std::uint32_t const key = in.byte() % keys;
    saved.charge(key, cost{in.below(12)});
  }
  for (auto* l : {&target, &untouched}) {
    l->charge(1, cost{4});
    l->charge(2, cost{9});
  }
  wall const noon{std::chrono::hours{500'000}};
  bytes const whole = saved.snapshot(noon);
  bytes offered = whole;
  wall const awake = noon + nanoseconds{static_cast<std::int64_t>(in.number(in.byte() & 7))};
  if (mode == 0) {
    offered.clear();
    for (char const c : in.rest()) offered.push_back(static_cast<std::byte>(c));
  } else {
    while (!in.done()) {
      std::size_t const words = offered.size() / 8;
      switch (std::uint8_t const what = in.byte(); what & 3) {
        case 0:  // shorter or longer
          offered.resize((what >> 2) < 32 ? offered.size() - std::min<std::size_t>(offered.size(), what >> 2)
                                          : offered.size() + (what >> 2) - 32);
          break;
        case 1:
          if (!offered.empty()) offered[in.number(2) % offered.size()] ^= static_cast<std::byte>(in.byte());
          break;
        default:  // another number for one of the words
          if (words == 0) break;
          std::size_t const at = 8 * (in.number(1) % words);
          std::uint64_t const value = in.of_any_size();
          for (std::size_t i = 0; i < 8; ++i) offered[at + i] = static_cast<std::byte>(value >> 8 * i);
      }
    }
    if (mode == 2) offered = signed_again(std::move(offered));
  }

  auto const before = present(untouched, clock.now());
  try {
    target.restore(offered, awake);
  } catch (config_error const& e) {
    HOLDS(offered != whole);
    HOLDS(std::string_view(e.what()).find("snapshot") != std::string_view::npos);
    HOLDS(present(target, clock.now()) == before);
    return;
  }
  HOLDS(offered == whole || mode == 2);
  if (offered == whole && awake == noon) HOLDS(present(target, clock.now()) == present(saved, clock.now()));

  // What it took it can save, and another takes that and says the same.
  kind other(config, options, clock);
  other.restore(target.snapshot(noon), noon);
  HOLDS(present(other, clock.now()) == present(target, clock.now()));

  auto const full = target.algorithm().full_use();
  auto const longest = 2 * full + std::max<nanoseconds>(full, std::chrono::seconds{60});
  for (std::uint32_t k = 0; k < keys; ++k) {
    decision const present = target.peek(k, cost{0});
    HOLDS(present.remaining <= present.limit && present.reset_after >= nanoseconds{} &&
          present.next_after >= nanoseconds{});
    decision const d = target.allow(k);
    HOLDS(static_cast<bool>(d) == (present.remaining > 0));
    HOLDS(d.retry_after <= longest);  // nobody is locked out for longer, whatever the bytes say
    if (!d) HOLDS(target.peek_at(clock.now() + d.retry_after, k));
  }

  // And its keys are still told apart: what one uses, it does not take from another.
  for (std::uint32_t k = 0; k < keys; ++k) target.forget(k);
  if (target.stats().keys != 0) return;  // bytes can hold keys that we do not know, and leave no room for ours
  decision const neighbour = target.peek(6, cost{0});
  target.charge(5, cost{1});
  HOLDS(target.peek(6, cost{0}) == neighbour);
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input in(data, size);
  rate const ten = per_second(10);
  fixed_window<>::config const window{.limit = per(15, std::chrono::seconds{30}),
                                      .starts = window_start::first_request};
  switch (in.below(6)) {
    case 0:
      offer<algorithm::token_bucket>({.refill = ten}, in);
      break;
    case 1:
      offer<algorithm::leaky_queue>({.drain = per(3, std::chrono::seconds{1}), .capacity = 10}, in);
      break;
    case 2:
      offer<algorithm::fixed_window>(window, in);
      break;
    case 3:
      offer<algorithm::sliding_counter>({.limit = per(15, std::chrono::seconds{30})}, in);
      break;
    case 4:  // aligned
      offer<algorithm::fixed_window>({.limit = per(15, std::chrono::seconds{30})}, in);
      break;
    default:
      offer<algorithm::all_of<algorithm::token_bucket, algorithm::fixed_window>>({{.refill = ten}, window}, in);
  }
  return 0;
}
