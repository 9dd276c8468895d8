// Configurations of every size: what the contract takes is taken, and kept to 0.2 %; what it refuses is refused, and
// the field is named. What is expected is reckoned in wide integers, from the contract.

#include "checking.hpp"
#include "generators.hpp"
#include "oracle/exact.hpp"

#include <penstock/config_error.hpp>
#include <penstock/time.hpp>

#include "support/catch.hpp"

#include <limits>
#include <numeric>
#include <optional>
#include <string>

using namespace property;

namespace {

using oracle::wide;

enum class expected { taken, refused_rate, refused_size, either };

wide const most_word = wide(units{1} << 60);

/// The interval in 1/m ns, rounded up, and whether it is at most 0.2 % too long.
struct interval {
  wide length;
  bool close;
};
interval interval_of(shape const& s, units m) {
  units const common = std::gcd(s.count, static_cast<units>(s.period.count()));
  wide const n = s.count / common, p = wide(static_cast<units>(s.period.count()) / common) * m;
  wide const length = oracle::ceil_div(p, n);
  return {length, (length * n - p) * 500 <= p};
}

expected of_arrival(shape const& s) {
  bool any_close = false, all_fit = true, any_fits = false, any_interval_fits = false;
  for (units m = 1; m <= 14; ++m) {
    auto const [length, close] = interval_of(s, m);
    any_close = any_close || close;
    any_interval_fits = any_interval_fits || length <= most_word;
    bool const fits = length * s.size <= most_word;
    all_fit = all_fit && fits;
    any_fits = any_fits || fits;
  }
  // Which of the units it chooses decides at the very edge: that is its own business.
  if (!any_close || !any_interval_fits) return expected::refused_rate;
  if (s.size == 0) return interval_of(s, 14).length <= most_word ? expected::refused_size : expected::either;
  if (!any_fits) return interval_of(s, 14).length <= most_word ? expected::refused_size : expected::either;
  return all_fit ? expected::taken : expected::either;
}

expected of(kind const& k, shape const& s) {
  constexpr units most_window = units{1} << 62, most_counter = (units{1} << 31) - 1;
  bool const some_period = s.period > 0ns && s.period <= penstock::longest_period;
  if (s.count == 0 || !some_period) return expected::refused_rate;
  if (k.family == family::arrival) return of_arrival(s);
  return s.count > (k.family == family::counter ? most_counter : most_window) ? expected::refused_rate
                                                                              : expected::taken;
}

std::string prefix(kind const& k, expected e) {
  std::string const owner(k.name.substr(0, k.name.find(' ')));
  bool const rate = e == expected::refused_rate;
  if (owner == "token_bucket") return owner + (rate ? ".refill is " : ".burst is ");
  if (owner.starts_with("leaky")) return owner + (rate ? ".drain is " : ".capacity is ");
  return owner + ".limit is ";
}

/// As any_shape(), but one in three is beside what can be.
rc::Gen<shape> wild_shape() {
  auto const ns = [](std::int64_t n) { return nanoseconds{n}; };
  auto const wild_count = rc::gen::oneOf(
      rc::gen::element<units>(0, 1, std::numeric_limits<units>::max(), units{1} << 31, (units{1} << 62) + 1),
      of_any_size(0, std::numeric_limits<units>::max()));
  auto const wild_period = rc::gen::oneOf(
      rc::gen::map(rc::gen::element<std::int64_t>(
                       0, -1, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                       penstock::longest_period.count(), penstock::longest_period.count() + 1),
                   ns),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), ns));
  auto const wild = rc::gen::map(rc::gen::tuple(wild_count, wild_period, wild_count),
                                 [](auto const& t) { return std::apply([](auto... x) { return shape{x...}; }, t); });
  auto const wild_size = rc::gen::map(rc::gen::pair(any_shape(), wild_count),
                                      [](auto const& p) { return shape{p.first.count, p.first.period, p.second}; });
  return rc::gen::oneOf(any_shape(), wild_size, wild);
}

}  // namespace

TEST_CASE("what the contract takes is taken, what it refuses is refused by name") {
  int taken = 0, refused = 0;
  for (kind const& k : kinds()) {
    if (k.family == family::several) continue;  // a rule of it refuses
    check(k.name, [&] {
      shape const s = *wild_shape();
      expected const wanted = of(k, s);
      std::string complaint;
      try {
        auto const made = k.make(s, 0ns, false);
        ++taken;
        penstock::rate const kept = made->known().kept;
        if (k.family == family::arrival) {
          // Never faster than the rate asked for, and less than 0.2 % slower; kept / asked as a fraction of counts.
          wide const a = wide(kept.count) * s.period.count(), b = wide(s.count) * kept.period.count();
          RC_ASSERT(a <= b);
          RC_ASSERT(a * 500 >= b * 499);
          units const reduced = s.count / std::gcd(s.count, static_cast<units>(s.period.count()));
          if (reduced <= 14) RC_ASSERT(a == b);
          RC_ASSERT(made->known().size == s.size);
        } else {
          RC_ASSERT(kept == (penstock::rate{s.count, s.period}));
        }
      } catch (penstock::config_error const& e) {
        complaint = e.what();
        ++refused;
      }
      if (wanted == expected::taken) RC_ASSERT(complaint == "");
      if (wanted == expected::refused_rate || wanted == expected::refused_size) {
        RC_ASSERT(complaint.starts_with(prefix(k, wanted)));
        RC_ASSERT(complaint.find("; allowed: ") != complaint.npos);
        std::string const value = wanted == expected::refused_size
                                      ? std::to_string(s.size)
                                      : std::to_string(s.count) + " per " + std::to_string(s.period.count()) + " ns";
        RC_ASSERT(complaint.find(value) != complaint.npos);
      }
    });
  }
  CHECK(taken > 100);
  CHECK(refused > 100);
}
