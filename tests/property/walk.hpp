#pragma once
// Walks that RapidCheck generates: a limiter of any rate, a clock that starts anywhere, and steps of all kinds.

#include "trial.hpp"

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace property {

/// One step, in numbers that mean something for every limiter: shares of W, parts of the allowance.
struct step {
  std::uint8_t call = 0;   ///< what is done
  std::uint8_t move = 0;   ///< where the clock goes
  std::uint8_t part = 0;   ///< which cost
  std::uint32_t more = 0;  ///< the rest: of a nanosecond, of a unit
};

struct walk {
  shape of;
  std::uint8_t start = 0;       ///< which of the places where clocks start
  std::int64_t start_more = 0;  ///< for one of them
  bool keyed = false;
  std::vector<step> steps;
};

/// Where the walk's clock starts.
nanoseconds start_of(walk const& w);

/// The nearest shape that the algorithm takes: a rate that it can keep, an allowance that it can represent.
shape fitted(kind const& k, shape s);

/// Laws 1, 3 to 7 and 9, and the model's answers, at every step. Throws broken_law.
void laws_hold(kind const& k, walk const& w);
/// Law 2, of whoever polls greedily, waits as told, lags, or comes at the last instant.
void bound_holds(kind const& k, walk const& w);
/// Law 8.
void mirrors_agree(walk const& w);

}  // namespace property
