// store.hpp and store/*.hpp, while compiling. (The message for what is no store: compile_fail/not_a_store.cpp.)

#include <penstock/limiters.hpp>
#include <penstock/store/unsynchronized.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <type_traits>

namespace {

using namespace penstock;
using bucket = algorithm::token_bucket;
using queue = algorithm::leaky_queue;
using ring = algorithm::sliding_log;

static_assert(state_store<store::cell::of<bucket, no_key>, bucket>);  // one word
static_assert(state_store<store::cell::of<queue, no_key>, queue>);    // two
static_assert(state_store<store::cell::of<ring, no_key>, ring>);      // memory of its own
static_assert(state_store<store::table::of<bucket, std::string>, bucket>);
static_assert(state_store<store::table::of<queue, int>, queue>);
static_assert(state_store<store::sharded_map::of<bucket, int>, bucket>);
static_assert(state_store<store::sharded_map::of<ring, std::string>, ring>);
static_assert(state_store<store::unsynchronized::of<bucket, no_key>, bucket>);
static_assert(state_store<store::unsynchronized::of<ring, int>, ring>);

struct does_not_look {
  struct place {};
  std::optional<no_room<bucket::state>> change(bucket const&, place, instant, auto) { return {}; }
  void insist(bucket const&, place, instant, auto) {}
  void amend(bucket const&, place, auto) {}
  store_stats stats(bucket const&, instant) const { return {}; }
};
struct cannot_say_when : does_not_look {
  bool change(bucket const&, place, instant, auto) { return true; }
  std::optional<no_room<bucket::state>> look(bucket const&, place, instant, auto) const { return {}; }
};
struct enough : does_not_look {
  std::optional<no_room<bucket::state>> look(bucket const&, place, instant, auto) const { return {}; }
};
static_assert(state_store<enough, bucket>);
static_assert(!state_store<does_not_look, bucket> && !state_store<cannot_say_when, bucket>);
static_assert(!state_store<enough, int>);
static_assert(!state_store<std::map<int, int>, bucket> && !state_store<int, bucket>);

// The default: a cell without a key; with one the table where states are few plain words, else the sharded map.
template <class A, class Key, class Store>
constexpr bool default_is = std::is_same_v<default_store::of<A, Key>, typename Store::template of<A, Key>>;
static_assert(default_is<bucket, no_key, store::cell> && default_is<ring, no_key, store::cell>);
static_assert(default_is<bucket, std::string, store::table> && default_is<queue, int, store::table> &&
              default_is<algorithm::fixed_window, int, store::table>);
static_assert(default_is<algorithm::sliding_counter, int, store::table> &&
              default_is<algorithm::leaky_meter, int, store::table>);
static_assert(default_is<ring, int, store::sharded_map>);

template <std::size_t Words>
struct words {
  std::uint64_t all[Words];
};
static_assert(store::fits_table<words<1>> && store::fits_table<words<3>> && !store::fits_table<words<4>>);
static_assert(!store::fits_table<std::string> && !store::fits_table<ring::state> && !store::fits_table<char>);

static_assert(std::is_aggregate_v<store_options> && store_options{}.max_keys == 65'536 &&
              store_options{}.full == when_full::inherit);
static_assert(std::is_aggregate_v<store_stats>);

}  // namespace
