#pragma once
// What a call wants of a state: admission now, or a promise within a delay; and with what undoes it.

#include <penstock/algorithm.hpp>

namespace penstock::inline v0_1::detail {

/// The ordinary question: admit now, or refuse.
struct ask_now {
  static constexpr bool promises = false;
  [[gnu::always_inline]] bool admit(auto const& p, auto& s, instant now, cost c) const {
    return detail::admit(p.algorithm, s, now, c);
  }
  bool admits(auto const& a, auto const& s, instant now, cost c) const { return a.admits(s, now, c); }
  [[gnu::always_inline]] decision describe(auto const& a, auto const& s, instant now, cost c, bool admitted) const {
    return detail::describe(a, s, now, c, admitted);
  }
};

/// Admit now what may go within max_delay.
struct ask_within {
  static constexpr bool promises = true;
  duration max_delay;
  bool admit(auto const& p, auto& s, instant now, cost c) const {
    auto const& a = p.algorithm;
    if (!a.admits_within(s, now, max_delay, c)) return false;
    auto next = s;
    a.reserve(next, now, c);
    if (p.adopts_at(now)) p.promise(next, now, a.describe_within(s, now, max_delay, c).delay);
    s = next;
    return true;
  }
  bool admits(auto const& a, auto const& s, instant now, cost c) const { return a.admits_within(s, now, max_delay, c); }
  decision describe(auto const& a, auto const& s, instant now, cost c, bool) const {
    return a.describe_within(s, now, max_delay, c);
  }
};

/// A decision and what undoes it.
template <class A>
struct taken {
  decision answer;
  receipt_of<A> charged_at{};
};
template <class Ask>
struct remembering : Ask {
  template <class A>
  taken<A> describe(A const& a, auto const& s, instant now, cost c, bool admitted) const {
    return {Ask::describe(a, s, now, c, admitted), receipt(a, s, now, c)};
  }
};

}  // namespace penstock::inline v0_1::detail
