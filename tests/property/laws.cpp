// The laws that every part obeys, over rates, clocks, costs and steps that RapidCheck makes up. One that is broken is
// told by a whole program that breaks it.

#include "checking.hpp"
#include "generators.hpp"
#include "journal.hpp"
#include "walk.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace property;

TEST_CASE("laws 1, 3 to 7 and 9 hold at every step of any walk, and every decision is the model's") {
  for (kind const& k : kinds()) check(k.name, [&k] { laws_hold(k, *any_walk()); });
}

TEST_CASE("law 2: no interval of any walk holds more than it may") {
  for (kind const& k : kinds()) check(k.name, [&k] { bound_holds(k, *any_walk()); });
}

TEST_CASE("law 8: bucket, meter and queue admit the same on any walk") {
  check("the three", [] { mirrors_agree(*any_walk()); });
}

TEST_CASE("law 10: threads that ask at one instant are admitted as often as the allowance says, and no more") {
  for (kind const& k : kinds())
    check(k.name, [&k] {
      auto w = *any_walk();
      w.of.size = 1 + w.of.size % 50;
      w.of.count = 1 + w.of.count % 50;
      shape const s = fitted(k, w.of);
      auto const gate = k.make(s, start_of(w), w.keyed);
      nanoseconds const now = std::clamp(start_of(w), gate->known().first, gate->known().last);
      std::atomic<units> admitted{0};
      auto const ask = [&] {
        for (units i = 0; i <= gate->known().size; ++i)
          if (gate->allow(now, 1)) ++admitted;
      };
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) threads.emplace_back(ask);
      for (auto& t : threads) t.join();
      if (admitted != gate->known().size)
        RC_FAIL(std::to_string(admitted) + " of " + std::to_string(gate->known().size) + " by three threads at " +
                text_of(now) + ": " + k.declared(s, w.keyed, "gate"));
    });
}

// ---- the program that a broken law comes with
// -------------------------------------------------------------------------

namespace {

/// A wrong bucket: it never refuses a single unit.
class generous final : public trial {
 public:
  explicit generous(std::unique_ptr<trial> right) : right_(std::move(right)) {}
  decision allow(nanoseconds at, units c) override {
    decision d = right_->allow(at, c);
    if (d.outcome == verdict::limited && c == 1) {
      d.outcome = verdict::admitted;
      d.retry_after = 0ns;
    }
    return d;
  }
  decision peek(nanoseconds at, units c) const override { return right_->peek(at, c); }
  void charge(nanoseconds at, units c) override { right_->charge(at, c); }
  void refund(nanoseconds charged_at, units c) override { right_->refund(charged_at, c); }
  void forget() override { right_->forget(); }
  decision model_allows(nanoseconds at, units c) override { return right_->model_allows(at, c); }
  decision model_sees(nanoseconds at, units c) const override { return right_->model_sees(at, c); }
  void admitted(nanoseconds at, units c, nanoseconds delay) override { right_->admitted(at, c, delay); }
  bool bound_holds() const override { return right_->bound_holds(); }
  facts const& known() const override { return right_->known(); }

 private:
  std::unique_ptr<trial> right_;
};

kind const generous_bucket{"generous", family::arrival,
                           [](shape const& s, nanoseconds start, bool keyed) -> std::unique_ptr<trial> {
                             return std::make_unique<generous>(kind_named("token_bucket").make(s, start, keyed));
                           },
                           [](shape const& s, bool keyed, std::string_view variable) {
                             return kind_named("token_bucket").declared(s, keyed, variable);
                           }};

std::string complaint_about(void (*law)(kind const&, walk const&)) {
  auto const result = result_of([law] { law(generous_bucket, *any_walk()); });
  return result.is<rc::detail::FailureResult>() ? result.get<rc::detail::FailureResult>().description : "none";
}

std::size_t count_of(std::string_view what, std::string_view text) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a broken law comes with the least program that breaks it") {
  std::string const bound = complaint_about(bound_holds);
  INFO(bound);
  CHECK(bound.find("// law 2: the bound holds in every interval") != bound.npos);
  CHECK(bound.find("#include <penstock/penstock.hpp>\n") != bound.npos);
  CHECK(bound.find("int main() {\n") != bound.npos);
  CHECK(bound.find("  manual_clock const clock(0ns);\n") != bound.npos);
  CHECK(bound.find("  limiter<algorithm::token_bucket, no_key, manual_clock> gate({.refill = per(") != bound.npos);
  CHECK(bound.find(", .burst = 1}, clock);\n") != bound.npos);
  CHECK(bound.find("auto const d1 = gate.allow_at(at(0ns), cost{1});  // admitted, remaining 0\n") != bound.npos);
  CHECK(bound.find("bool const holds = !(d1 && d") != bound.npos);
  CHECK(count_of("gate.allow_at(", bound) == 2);  // two units at once, of a bucket of one
  CHECK(bound.ends_with("return holds ? 0 : 1;\n}\n"));
}

TEST_CASE("the program has every call that changed something, and of the looks those that it speaks of") {
  std::string const wrong = complaint_about(laws_hold);
  INFO(wrong);
  CHECK(wrong.find("// law 1: peek says what allow will say") != wrong.npos);
  CHECK(count_of(".peek_at(", wrong) == 1);
  CHECK(wrong.find(" == d") != wrong.npos);
}
