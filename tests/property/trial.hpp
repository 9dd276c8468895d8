#pragma once
// A limiter under test with its exact model beside it, behind one interface: the laws are compiled once, not once for
// each algorithm. The limiters and models themselves are compiled in trials.cpp.

#include <penstock/cost.hpp>
#include <penstock/decision.hpp>
#include <penstock/rate.hpp>

#include "support/shape.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace property {

using namespace std::chrono_literals;
using penstock::decision;
using penstock::verdict;
using std::chrono::nanoseconds;
using units = std::uint64_t;

using support::shape;

/// What is fixed about a limiter once it is made.
struct facts {
  units size = 0;               ///< the most that one call can be admitted with
  nanoseconds full{};           ///< W
  nanoseconds lag{};            ///< Λ: a reading this far behind is no clock that was set back
  nanoseconds first{}, last{};  ///< the readings that it can tell apart
  penstock::rate kept{};        ///< the rate it really keeps
};

class trial {
 public:
  virtual ~trial() = default;
  virtual decision allow(nanoseconds at, units c) = 0;
  virtual decision peek(nanoseconds at, units c) const = 0;
  virtual void charge(nanoseconds at, units c) = 0;
  virtual void refund(nanoseconds charged_at, units c) = 0;
  virtual void forget() = 0;

  /// What the model answers, which is told of all calls.
  virtual decision model_allows(nanoseconds at, units c) = 0;
  virtual decision model_sees(nanoseconds at, units c) const = 0;

  /// Law 2, fed with what was admitted.
  virtual void admitted(nanoseconds at, units c, nanoseconds delay) = 0;
  virtual bool bound_holds() const = 0;

  virtual facts const& known() const = 0;
};

enum class family : std::uint8_t { arrival, window, counter, several };

/// An algorithm, as the tests choose among them.
struct kind {
  std::string_view name;
  property::family family;
  /// Makes its limiter: without a key, or with one key in a table. Throws config_error as the limiter does.
  std::unique_ptr<trial> (*make)(shape const&, nanoseconds start, bool keyed);
  /// The same in C++, as a variable of that name.
  std::string (*declared)(shape const&, bool keyed, std::string_view variable);
};

/// The six (the window in both its forms), and two rules on one key.
std::span<kind const> kinds();
kind const& kind_named(std::string_view name);

/// A number and a length of time, in C++ (journal.cpp).
std::string text_of(units n);
std::string text_of(nanoseconds t);

}  // namespace property
