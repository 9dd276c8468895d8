#include "journal.hpp"

#include <algorithm>
#include <array>

namespace property {

namespace {

std::string_view word_for(verdict v) {
  constexpr std::array<std::string_view, 3> words{"admitted", "limited", "never"};
  return words[static_cast<std::size_t>(v)];
}

bool mentions(std::string_view expression, std::string_view name) {
  for (auto at = expression.find(name); at != expression.npos; at = expression.find(name, at + 1)) {
    char const next = at + name.size() < expression.size() ? expression[at + name.size()] : ' ';
    if (next < '0' || next > '9') return true;
  }
  return false;
}

}  // namespace

std::string text_of(units n) { return std::to_string(n) + (n > units{1} << 62 ? "u" : ""); }

std::string text_of(nanoseconds t) {
  if (t == nanoseconds::min()) return "nanoseconds::min()";
  if (t == nanoseconds::max()) return "nanoseconds::max()";
  return std::to_string(t.count()) + "ns";
}

void journal::next_step() {
  std::erase_if(entries_, [](entry const& e) { return e.call == what::peek; });
}

void journal::same(answer const& a, decision const& d, std::string_view law) const {
  must(a == d, law, [&] {
    std::string expected = a.name() + " == decision{verdict::" + std::string(word_for(d.outcome)) + ", " +
                           std::to_string(d.rule) + ", " + text_of(d.limit) + ", " + text_of(d.remaining);
    for (nanoseconds const t : {d.retry_after, d.reset_after, d.next_after, d.delay}) expected += ", " + text_of(t);
    return expected + "}";
  });
}

std::string journal::statement(entry const& e, bool named) const {
  auto const& [limiter, declaration, name, keyed] = gates_[e.gate];
  constexpr std::array<std::string_view, 5> calls{"allow_at", "peek_at", "charge_at", "refund_at", "forget"};
  std::string call = name + "." + std::string(calls[static_cast<std::size_t>(e.call)]) + "(";
  std::string const key = keyed ? "7" : "";
  if (e.call == what::forget) return call + key + ");";
  call += "at(" + text_of(e.at) + ")" + (keyed ? ", " : "") + key + ", cost{" + text_of(e.c) + "})";
  if (e.call == what::charge || e.call == what::refund) return call + ";";
  call = (named ? "auto const d" + std::to_string(e.number) + " = " + call : "static_cast<void>(" + call + ")") +
         ";  // " + std::string(word_for(e.said.outcome)) + ", remaining " + std::to_string(e.said.remaining);
  if (e.said.outcome == verdict::limited) call += ", retry after " + text_of(e.said.retry_after);
  return call;
}

std::string journal::program(std::string_view law, std::string_view expression) const {
  std::vector<bool> used(gates_.size());
  std::string statements;
  for (entry const& e : entries_) {
    bool const named = mentions(expression, std::string(1, 'd').append(std::to_string(e.number)));
    if (e.call == what::peek && !named) continue;
    used[e.gate] = true;
    statements += "  " + statement(e, named) + "\n";
  }
  std::string text = "// " + std::string(law) + R"(
#include <penstock/penstock.hpp>
#include <chrono>
#include <cstdio>
using namespace penstock;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
int main() {
  auto const at = [](nanoseconds t) { return manual_clock::time_point{t}; };
  manual_clock const clock()" +
                     text_of(start_) + ");\n";
  for (std::size_t g = 0; g < gates_.size(); ++g)
    if (used[g]) text += "  " + gates_[g].declaration + "\n";
  return text + statements + "  bool const holds = " + std::string(expression) + R"(;
  std::puts(holds ? "holds" : "does not hold");
  return holds ? 0 : 1;
}
)";
}

}  // namespace property
