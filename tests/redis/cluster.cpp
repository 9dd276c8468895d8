// A cluster of three nodes on loopback: MOVED, ASK, CROSSSLOT, a node that dies.

#include "support/server.hpp"

#include <support/catch.hpp>

#include <penstock/penstock.hpp>

#include <array>
#include <memory>
#include <string>

namespace {

using namespace std::chrono_literals;
using namespace penstock::literals;
using penstock::cost;
namespace redis = penstock::redis;
using test::say;

redis::options const patient{.timeout = 5s, .deny_cache = 0};
using limiter = redis::token_bucket<std::string, redis::hiredis_cluster>;

/// Three masters without replicas, a third of the slots each.
struct three_nodes {
  std::array<std::unique_ptr<test::server>, 3> nodes;
  std::array<std::unique_ptr<redis::hiredis_pool>, 3> pools;

  three_nodes() {
    for (std::size_t i = 0; i < 3; ++i) {
      // The bus listens on a port of its own, by default 10000 higher, which a high port has not got.
      nodes[i] = std::make_unique<test::server>(
          std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-port", std::to_string(test::free_port()),
                                   "--cluster-require-full-coverage", "no", "--cluster-node-timeout", "1000"});
      pools[i] = std::make_unique<redis::hiredis_pool>(nodes[i]->at());
    }
    for (std::size_t i = 0; i < 3; ++i) {
      auto const added =
          say(*pools[i], {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first(i)), std::to_string(first(i + 1) - 1)});
      REQUIRE(added.text == "OK");
      if (i == 0) continue;
      std::string const port = std::to_string(nodes[i]->port()), bus = bus_port(*pools[i]);
      REQUIRE(say(*pools[0], {"CLUSTER", "MEET", "127.0.0.1", port, bus}).text == "OK");
    }
    auto const until = std::chrono::steady_clock::now() + 15s;
    for (auto const& pool : pools)
      while (say(*pool, {"CLUSTER", "INFO"}).text.find("cluster_slots_assigned:16384") == std::string::npos ||
             say(*pool, {"CLUSTER", "INFO"}).text.find("cluster_state:ok") == std::string::npos) {
        REQUIRE(std::chrono::steady_clock::now() < until);
        std::this_thread::sleep_for(20ms);
      }
  }
  static std::size_t first(std::size_t node) { return node == 3 ? redis::cluster_slots : node * 5461; }
  static std::string bus_port(redis::hiredis_pool& pool) {
    auto const nodes = say(pool, {"CLUSTER", "NODES"}).text;  // "id ip:port@bus myself,master ..."
    auto const at = nodes.find('@');
    return nodes.substr(at + 1, nodes.find_first_of(" ,", at) - at - 1);
  }
  static std::size_t owner(std::string const& key) { return std::min<std::size_t>(redis::slot_of(key) / 5461, 2); }
  /// A user whose keys lie on this node.
  static std::string user_on(std::size_t node, std::string const& kind = "user") {
    for (int i = 0;; ++i) {
      std::string name = kind + std::to_string(i);
      if (owner(redis::key_of(redis::tag_of(name), "c")) == node) return name;
    }
  }
};
three_nodes& nodes() {
  static three_nodes three;
  return three;
}

}  // namespace

TEST_CASE("slots are those of the cluster specification") {
  CHECK(redis::slot_of("123456789") == 0x31c3 % redis::cluster_slots);
  CHECK(redis::slot_of("penstock1:{user}a") == redis::slot_of("user"));
  CHECK(redis::slot_of("foo{}{bar}") == redis::slot_of("foo{}{bar}"));
  for (std::string const key : {"penstock1:{user:7}api", "{}x", "a{b", "{*}"})
    CHECK(test::number(*nodes().pools[0], {"CLUSTER", "KEYSLOT", key}) ==
          static_cast<std::int64_t>(redis::slot_of(key)));
}

TEST_CASE("a cluster without a node is refused, in a sentence") {
  CHECK_THROWS_WITH(redis::hiredis_cluster({}), "redis::cluster.nodes is empty; allowed: at least one");
  CHECK_THROWS_WITH(redis::hiredis_cluster({nodes().nodes[0]->at()}, {.size = 0}),
                    Catch::Matchers::Contains("pool_options.size is 0"));
}

TEST_CASE("MOVED: each node's keys are found from any node, and remembered") {
  redis::hiredis_cluster transport({nodes().nodes[0]->at()});
  limiter limited(transport, test::fresh_id("c"), {.refill = "3/d"_rate}, redis::fail_closed{7s}, patient);
  for (std::size_t node = 0; node < 3; ++node) {
    std::string const user = three_nodes::user_on(node);
    int admitted = 0;
    for (int i = 0; i < 5; ++i) {
      auto const d = limited.allow(user);
      REQUIRE_FALSE(d.error);
      admitted += static_cast<bool>(d);
    }
    CHECK(admitted == 3);
    std::string const key = redis::key_of(redis::tag_of(user), limited.limit_id());
    CHECK(test::number(*nodes().pools[node], {"EXISTS", key}) == 1);
  }
}

TEST_CASE("a transport to one node tells MOVED as an error that counts nothing") {
  redis::token_bucket<std::string> limited(*nodes().pools[0], test::fresh_id("c"), {.refill = "3/d"_rate},
                                           redis::fail_closed{7s}, patient);
  auto const d = limited.allow(three_nodes::user_on(2));
  CHECK(d.error == redis::errc::moved);
  CHECK(d.from == redis::origin::policy);
  CHECK(limited.stats().maybe_counted == 0);
}

TEST_CASE("ASK: a slot on the move is asked for at its new place, for this call only") {
  auto& n = nodes();
  std::string const user = three_nodes::user_on(0, "mover"), id = test::fresh_id("c"),
                    key = redis::key_of(redis::tag_of(user), id), slot = std::to_string(redis::slot_of(key));
  std::string const from = say(*n.pools[0], {"CLUSTER", "MYID"}).text, to = say(*n.pools[1], {"CLUSTER", "MYID"}).text;
  for (auto const& pool : n.pools)
    REQUIRE(say(*pool, {"ACL", "SETUSER", "mover", "on", ">secret", "~penstock1:*", "+evalsha", "+eval", "+time",
                        "+get", "+psetex", "+asking"})
                .text == "OK");
  auto at = n.nodes[0]->at();
  at.user = "mover", at.password = "secret";
  redis::hiredis_cluster transport({at});
  limiter limited(transport, id, {.refill = "3/d"_rate}, redis::fail_closed{7s}, patient);
  REQUIRE(say(*n.pools[1], {"CLUSTER", "SETSLOT", slot, "IMPORTING", from}).text == "OK");
  REQUIRE(say(*n.pools[0], {"CLUSTER", "SETSLOT", slot, "MIGRATING", to}).text == "OK");
  for (std::uint64_t const left : {2u, 1u, 0u}) {
    auto const d = limited.allow(user);
    REQUIRE_FALSE(d.error);
    CHECK(d.remaining == left);
  }
  CHECK(limited.allow(user).outcome == penstock::verdict::limited);
  say(*n.pools[1], {"ACL", "SETUSER", "mover", "-asking"});
  CHECK(limited.allow(user).error == redis::errc::misconfigured);  // not sent without ASKING, and told
  CHECK(limited.stats().maybe_counted == 0);
  for (std::size_t node : {std::size_t{1}, std::size_t{0}})
    REQUIRE(say(*n.pools[node], {"CLUSTER", "SETSLOT", slot, "NODE", to}).text == "OK");
  CHECK(test::number(*n.pools[1], {"EXISTS", key}) == 1);
  CHECK(limited.peek(user, cost{0}).remaining == 0);  // now MOVED
}

TEST_CASE("CROSSSLOT: one stack is one identity; what is not is refused before sending, and the server would too") {
  redis::hiredis_cluster transport({nodes().nodes[0]->at()});
  limiter first(transport, test::fresh_id("c"), {.refill = "5/d"_rate}, redis::fail_closed{7s}, patient);
  limiter second(transport, test::fresh_id("c"), {.refill = "3/d"_rate}, redis::fail_closed{7s}, patient);
  struct request {
    std::string user, tenant;
  };
  auto limits =
      redis::stack(penstock::layer("user", first, &request::user), penstock::layer("tenant", second, &request::tenant));
  int admitted = 0;
  for (int i = 0; i < 6; ++i) admitted += static_cast<bool>(limits.allow(request{"x", "x"}));
  CHECK(admitted == 3);
  CHECK(first.peek("x", cost{0}).remaining == 2);
  auto const trips = first.stats().round_trips;
  CHECK(limits.allow(request{"x", "y"}).error == redis::errc::cross_slot);
  CHECK(first.stats().round_trips == trips);
  auto const by_server = say(*nodes().pools[0], {"EVALSHA", redis::script_sha1, "2", "{x}a", "{y}a"});
  CHECK(redis::classify(by_server.text) == redis::errc::cross_slot);

  auto one_by_one = redis::sequential(penstock::layer("user", first, &request::user),
                                      penstock::layer("tenant", second, &request::tenant));
  CHECK(one_by_one.allow(request{"p", "q"}));
  CHECK_FALSE(one_by_one.allow(request{"z", "x"}));
  CHECK(first.peek("z", cost{0}).remaining == 5);  // refunded
}

TEST_CASE("a node that dies takes its own keys along and no others") {
  auto& n = nodes();
  redis::hiredis_cluster transport({n.nodes[2]->at(), n.nodes[0]->at()});
  limiter limited(transport, test::fresh_id("c"), {.refill = "3/d"_rate}, redis::fail_closed{7s},
                  {.timeout = 2s, .deny_cache = 0});
  CHECK(limited.allow(three_nodes::user_on(2)));
  n.nodes[2]->stop();
  CHECK(limited.allow(three_nodes::user_on(2)).error);
  CHECK(limited.allow(three_nodes::user_on(1)).from == redis::origin::redis);
}
