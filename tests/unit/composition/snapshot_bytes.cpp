// What stands in a snapshot's bytes: all that binds, also when keys are dropped while it is made.

#include "subjects.hpp"

#include <cstddef>
#include <functional>
#include <span>

using namespace composition;

namespace {

constexpr std::chrono::system_clock::time_point noon{std::chrono::hours{500'000}};

/// A bucket that lets others call while a snapshot is being made, whenever a state is written to it.
struct interrupted : algorithm::token_bucket {
  using token_bucket::token_bucket;
  static inline std::function<void()> meanwhile;

  state relative(state const& s, instant now) const {
    if (meanwhile) meanwhile();
    return token_bucket::relative(s, now);
  }
};

using bytes = std::vector<std::byte>;

std::string in_hex(std::span<std::byte const> all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 0 && i % 8 == 0) text += ' ';
    for (unsigned const half : {std::to_integer<unsigned>(all[i]) >> 4, std::to_integer<unsigned>(all[i]) & 15})
      text += "0123456789abcdef"[half];
  }
  return text;
}
bytes from_hex(std::string_view text) {
  bytes all;
  auto const digit = [&](std::size_t i) { return text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10; };
  for (std::size_t i = 0; i < text.size(); i += text[i] == ' ' ? 1U : 2U)
    if (text[i] != ' ') all.push_back(static_cast<std::byte>(digit(i) * 16 + digit(i + 1)));
  return all;
}

/// The state of the one key in a snapshot: its last words but the checksum.
template <class L>
std::string state_in(L const& limit) {
  constexpr std::size_t size = sizeof(typename L::algorithm_type::state);
  bytes const all = limit.snapshot(noon);
  return in_hex(std::span(all).subspan(all.size() - 8 - size, size));
}

}  // namespace

TEST_CASE("a key that is dropped while a snapshot is made is in it, as a key or in what newcomers start from") {
  int writes = 1;
  for (int dropped = 0; dropped < 8; ++dropped)  // from either line of the table
    for (int at = 0; at < writes; ++at) {
      INFO("key " << dropped << " is dropped before write " << at);
      manual_clock clock{1h};
      limiter<interrupted, int, manual_clock> saved({.refill = per_hour(1), .burst = 1'000}, {.max_keys = 1}, clock),
          restored({.refill = per_hour(1), .burst = 1'000}, {.max_keys = 1}, clock);
      REQUIRE(saved.stats().capacity == 8);
      auto const due = [&](int key) { return key == dropped ? 100U : 50U; };
      for (int key = 0; key < 8; ++key) CHECK(saved.allow(key, cost{1'000 - due(key)}));
      writes = 0;
      interrupted::meanwhile = [&] {
        if (writes++ != at) return;
        CHECK(saved.allow(100));  // instead of the key that has the most room left
        saved.forget(100);        // so that newcomers find room
      };
      auto const bytes = saved.snapshot(noon);
      interrupted::meanwhile = {};
      CHECK(saved.stats().evictions == 1);

      restored.restore(bytes, noon);
      for (int key = 0; key < 8; ++key) {
        INFO("key " << key);
        CHECK(restored.peek(key, cost{0}).remaining <= due(key));
      }
    }
  CHECK(writes > 7);
}

TEST_CASE("a state's bytes are the same on every machine") {
  auto const check = []<class A>(std::type_identity<A>, auto const& config, std::string_view expected) {
    INFO(A::name);
    manual_clock clock{1h - 1s};
    limiter<A, int, manual_clock> limit(config, {.max_keys = 1}, clock);
    CHECK(limit.allow(1, cost{5}));
    clock.advance(2s);
    CHECK(limit.allow(1, cost{2}));
    CHECK(state_in(limit) == expected);
  };
  using bucket = algorithm::token_bucket;
  using queue = algorithm::leaky_queue;
  using window = algorithm::fixed_window;
  using counter = algorithm::sliding_counter;
  using all = algorithm::all_of<algorithm::all_of<counter>, bucket>;
  check(std::type_identity<bucket>{}, bucket::config{ten}, "00f2052a01000000");  // fresh in 5 s
  check(std::type_identity<queue>{}, queue::config{ten}, "00f2052a01000000 0000000000000000");
  check(std::type_identity<window>{}, window::config{ten}, "0084c48448030000 0200000000000000");  // ends at 1 h 10 s
  check(std::type_identity<window>{}, window::config{ten, window_start::first_request},
        "0050d6dc01000000 0700000000000000");  // in 8 s
  check(std::type_identity<counter>{}, counter::config{ten}, "0084c48448030000 0500000002000000");
  check(std::type_identity<all>{}, all::config{{{ten}}, {ten}}, "0084c48448030000 0500000002000000 00f2052a01000000");
}

TEST_CASE("a snapshot that was made elsewhere is read here") {
  manual_clock clock{1h + 9s};
  auto const read = [&](auto key, std::string_view entry_and_checksum) {
    limiter<algorithm::sliding_counter, decltype(key), manual_clock> limit({ten}, {.max_keys = 1}, clock);
    limit.restore(from_hex("50454e53544f434b 0200000000000000 4ac0740263a8c2ce "  // mark, version, kind of states
                           "7348d7cf6c447594 20a64c18667cb7ff d78817d099046bd5 "  // secret
                           "0000b49376e2fa18 0100000000000000 0200000000000000 "  // wall time, shards, lines
                           "0000000000000000 0000000000000000 " +                 // floor
                           std::string(entry_and_checksum)),
                  noon);
    decision const d = limit.peek(key, cost{0});
    CHECK(d.remaining == 8);  // two of this window, and a tenth of the five before
    CHECK(d.reset_after == 11s);
  };
  read(-7, "0100000000000000 baff3d57f632bc1d 0084c48448030000 0500000002000000 08f22e11bebdec3e");
  read(std::tuple<std::string, int>("ann", -7),
       "0100000000000000 8a81fe7b9d531cb9 0084c48448030000 0500000002000000 69e0eb9ac53a5901");
}
