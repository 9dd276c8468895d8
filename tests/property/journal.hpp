#pragma once
// What a walk did, kept so that a broken law comes with a complete C++ program that breaks it again.
//
// All that is done to a gate (a limiter under test) goes through the journal. Of what only looks, the program has what
// its last line speaks of: looking changes nothing, or another law is broken.

#include "trial.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace property {

/// What() is the law in words and the program. Nothing of it is made before it is needed.
struct broken_law : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A decision that the program knows by a name: d1, d2 ...
struct answer : decision {
  std::size_t number = 0;
  std::string name() const { return std::string(1, 'd').append(std::to_string(number)); }
};

class journal {
 public:
  explicit journal(nanoseconds start) : start_(start) {}

  /// Makes a gate; it is called `name` in the program. Gates are numbered from 0.
  void add(kind const& k, shape const& s, bool keyed, std::string_view name) {
    add(k.make(s, start_, keyed), k.declared(s, keyed, name), keyed, name);
  }
  void add(std::unique_ptr<trial> made, std::string declaration, bool keyed, std::string_view name) {
    gates_.push_back({std::move(made), std::move(declaration), std::string(name), keyed});
  }
  trial& gate(std::size_t g = 0) { return *gates_[g].limiter; }
  facts const& known(std::size_t g = 0) const { return gates_[g].limiter->known(); }

  answer allow(nanoseconds at, units c, std::size_t g = 0) {
    return note({what::allow, g, at, c, gates_[g].limiter->allow(at, c)});
  }
  answer peek(nanoseconds at, units c, std::size_t g = 0) {
    return note({what::peek, g, at, c, gates_[g].limiter->peek(at, c)});
  }
  void charge(nanoseconds at, units c, std::size_t g = 0) {
    gates_[g].limiter->charge(at, c);
    note({what::charge, g, at, c, {}});
  }
  void refund(nanoseconds charged_at, units c, std::size_t g = 0) {
    gates_[g].limiter->refund(charged_at, c);
    note({what::refund, g, charged_at, c, {}});
  }
  void forget(std::size_t g = 0) {
    gates_[g].limiter->forget();
    note({what::forget, g, {}, 0, {}});
  }

  /// Lets go of what was only looked at so far, so that a long walk does not pile it up.
  void next_step();

  /// Fails unless it holds; `expression()` is what does not, of the names of the answers.
  template <class Expression>
  void must(bool holds, std::string_view law, Expression expression) const {
    if (!holds) throw broken_law(program(law, expression()));
  }
  void admits(answer const& a, std::string_view law) const { is(a, verdict::admitted, "admitted", law); }
  void limits(answer const& a, std::string_view law) const { is(a, verdict::limited, "limited", law); }
  void same(answer const& a, answer const& b, std::string_view law) const {
    must(a == b, law, [&] { return a.name() + " == " + b.name(); });
  }
  void same(answer const& a, decision const& expected, std::string_view law) const;

  std::string program(std::string_view law, std::string_view expression) const;

 private:
  enum class what : std::uint8_t { allow, peek, charge, refund, forget };
  struct entry {
    what call;
    std::size_t gate;
    nanoseconds at;
    units c;
    decision said;
    std::size_t number = 0;
  };
  struct gate_under_test {
    std::unique_ptr<trial> limiter;
    std::string declaration, name;
    bool keyed;
  };

  answer note(entry e) {
    e.number = ++count_;
    entries_.push_back(e);
    return {e.said, e.number};
  }
  void is(answer const& a, verdict expected, std::string_view word, std::string_view law) const {
    must(a.outcome == expected, law, [&] { return a.name() + ".outcome == verdict::" + std::string(word); });
  }
  std::string statement(entry const& e, bool named) const;

  nanoseconds start_;
  std::vector<gate_under_test> gates_;
  std::vector<entry> entries_;
  std::size_t count_ = 0;
};

}  // namespace property
