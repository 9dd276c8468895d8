// layer.hpp: what a layer said binds as [name, decision], however it is bound.

#include <penstock/limiters.hpp>
#include <penstock/redis/stack_decision.hpp>
#include <penstock/stack.hpp>

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

using namespace penstock;

namespace {

constexpr layer_report report{.name = "user", .decision = {.limit = 5}};

constexpr bool is_right(std::string_view const& name, decision const& d) { return name == "user" && d.limit == 5; }

constexpr bool copies_bind() {
  layer_report changing = report;
  auto [name, d] = changing;
  auto const [name_too, d_too] = changing;
  auto [name_of_const, d_of_const] = report;
  auto [name_of_temporary, d_of_temporary] = layer_report(report);
  static_assert(std::is_same_v<decltype(name), std::string_view> && std::is_same_v<decltype(d_of_const), decision>);
  static_assert(std::is_same_v<decltype(name_too), std::string_view const>);
  static_assert(std::is_same_v<decltype(d_too), decision const>);
  d.limit = 7;  // of the copy
  return changing.decision.limit == 5 && d.limit == 7 && name == "user" && is_right(name_too, d_too) &&
         is_right(name_of_const, d_of_const) && is_right(name_of_temporary, d_of_temporary);
}
static_assert(copies_bind());

constexpr bool references_bind() {
  layer_report changing = report;
  auto& [name, d] = changing;
  auto const& [name_seen, d_seen] = changing;
  auto& [name_of_const, d_of_const] = report;
  static_assert(std::is_same_v<decltype(name), std::string_view> && std::is_same_v<decltype(d), decision>);
  static_assert(std::is_same_v<decltype(d_seen), decision const> &&
                std::is_same_v<decltype(d_of_const), decision const>);
  bool const right = is_right(name, d) && is_right(name_seen, d_seen) && is_right(name_of_const, d_of_const);
  d.limit = 7;
  return right && &name == &changing.name && changing.decision.limit == 7 && &d_seen == &d &&
         &d_of_const == &report.decision;
}
static_assert(references_bind());

constexpr bool forwarding_references_bind() {
  layer_report changing = report;
  auto&& [name, d] = changing;
  auto&& [name_of_const, d_of_const] = report;
  auto&& [name_of_temporary, d_of_temporary] = layer_report(report);
  auto&& [name_moved, d_moved] = std::move(changing);
  auto&& [name_of_const_moved, d_of_const_moved] = std::move(report);
  auto const& [name_kept, d_kept] = layer_report(report);
  return is_right(name, d) && is_right(name_of_const, d_of_const) && is_right(name_of_temporary, d_of_temporary) &&
         is_right(name_moved, d_moved) && is_right(name_of_const_moved, d_of_const_moved) &&
         is_right(name_kept, d_kept) && &d_moved == &d;
}
static_assert(forwarding_references_bind());

/// The same in a loop over what a stack answered, kept or not.
template <class Decision>
inline std::uint64_t sum_of_limits(Decision& kept) {
  std::uint64_t sum = 0;
  for (auto [name, d] : kept.layers()) sum += name.size() + d.limit;
  for (auto& [name, d] : kept.layers()) sum += name.size() + d.limit;
  for (auto const& [name, d] : kept.layers()) sum += name.size() + d.limit;
  for (auto&& [name, d] : kept.layers()) sum += name.size() + d.limit;
  for (auto [name, d] : std::move(kept).layers()) sum += name.size() + d.limit;
  for (auto&& [name, d] : std::move(kept).layers()) sum += name.size() + d.limit;
  return sum;
}
using answer = decltype(std::declval<layer_stack<limiter_layer<token_bucket<>, detail::to_no_key>>&>().allow(0));
template std::uint64_t sum_of_limits(answer&);
template std::uint64_t sum_of_limits(redis::stack_decision<2>&);

}  // namespace
