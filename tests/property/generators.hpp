#pragma once
// What RapidCheck makes up: rates, steps, walks.

#include "walk.hpp"

#include <penstock/time.hpp>

#include <rapidcheck.h>

#include <cstdint>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

namespace property {

/// RapidCheck finds it. (The program says it all, in C++.)
inline void showValue(walk const& w, std::ostream& to) {
  to << w.of << (w.keyed ? ", keyed" : "") << ", from " << start_of(w).count() << " ns, " << w.steps.size() << " steps";
}

/// An aggregate of what the generators make.
template <class T, class... Parts>
rc::Gen<T> made_of(rc::Gen<Parts>... parts) {
  return rc::gen::map(rc::gen::tuple(std::move(parts)...), [](std::tuple<Parts...> const& t) {
    return std::apply([](auto const&... part) { return T{part...}; }, t);
  });
}

/// Of any size: each length in bits is as likely as any other.
inline rc::Gen<units> of_any_size(units least, units most) {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 64), rc::gen::arbitrary<std::uint32_t>()), [=](auto const& p) {
    constexpr units odd = 0x9e37'79b9'7f4a'7c15;
    units const bits = (p.second + units{1}) * odd >> (63 - p.first);  // smaller as it shrinks
    return most - least == ~units{0} ? bits : least + bits % (most - least + 1);
  });
}

/// Rates of 1 to 10^9 units in 1 ns to 100 years.
inline rc::Gen<shape> any_shape() {
  auto const count = rc::gen::oneOf(rc::gen::inRange<units>(1, 21), of_any_size(1, 1'000'000'000));
  auto const size = rc::gen::oneOf(rc::gen::inRange<units>(1, 21), of_any_size(1, units{1} << 60));
  auto const period = rc::gen::oneOf(rc::gen::element<nanoseconds>(1ns, 7ns, 1ms, 1s, 60s, 3600s, 86400s),
                                     rc::gen::map(of_any_size(1, static_cast<units>(penstock::longest_period.count())),
                                                  [](units n) { return nanoseconds{static_cast<std::int64_t>(n)}; }));
  return made_of<shape>(count, period, size);
}

inline rc::Gen<step> any_step() {
  auto const byte = rc::gen::arbitrary<std::uint8_t>();
  return made_of<step>(byte, byte, byte, rc::gen::arbitrary<std::uint32_t>());
}

inline rc::Gen<walk> any_walk() {
  return made_of<walk>(any_shape(), rc::gen::inRange<std::uint8_t>(0, 12), rc::gen::arbitrary<std::int64_t>(),
                       rc::gen::arbitrary<bool>(), rc::gen::container<std::vector<step>>(any_step()));
}

}  // namespace property
