// http/caller.hpp: who is calling, when proxies stand in between.

#include <penstock/http/address_key.hpp>
#include <penstock/http/caller.hpp>

#include "support/catch.hpp"
#include "unit/allocations.hpp"

#include <array>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace penstock;
using http::ip_address;
using http::ip_network;

namespace {

using lines = std::vector<std::string_view>;

struct expected {
  std::string_view key;
  bool suspicious = false;
};
constexpr bool suspicious = true;

struct row {
  std::string_view peer;
  lines values;
  expected is;
};

http::trusted_proxies const nobody{};
http::trusted_proxies const ten_net{.networks = {*ip_network::parse("10.0.0.0/8")}};
http::trusted_proxies const both_families{.networks = {*ip_network::parse("10.0.0.0/8"), *ip_network::parse("fd00::/8")}};

http::trusted_proxies hops(std::size_t n) { return {.networks = {}, .hops = n}; }

void check(auto caller_from, http::trusted_proxies const& trusted, std::initializer_list<row> rows) {
  for (row const& r : rows) {
    std::string shown;
    for (auto const line : r.values) shown.append("{").append(line).append("}");
    CAPTURE(r.peer, shown);
    http::caller const c = caller_from(*ip_address::parse(r.peer), std::span(r.values), trusted);
    CHECK(http::address_key(c.address).to_string() == r.is.key);
    CHECK(c.suspicious == r.is.suspicious);
  }
}

constexpr auto x_forwarded_for = http::caller_from_x_forwarded_for;
constexpr auto forwarded = http::caller_from_forwarded;
constexpr auto single = http::caller_from_single;

std::string repeated(std::string_view element, int times) {
  std::string list;
  for (int i = 0; i < times; ++i) list.append(i == 0 ? "" : ", ").append(element);
  return list;
}

}  // namespace

TEST_CASE("X-Forwarded-For is read from the end, as far as trusted proxies wrote it") {
  check(x_forwarded_for, ten_net,
        {
            // The design's own.
            {"10.0.0.1", {}, {"10.0.0.1"}},
            {"10.0.0.1", {"1.1.1.1, 203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7, 10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"1.1.1.1", "203.0.113.7, 10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7:4711"}, {"203.0.113.7"}},
            {"10.0.0.1", {"[2001:DB8:1:2:3::9]:443"}, {"2001:db8:1:2::/64"}},
            {"203.0.113.7", {"1.1.1.1"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7, unknown"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"10.0.0.8, 10.0.0.9"}, {"10.0.0.8"}},
            // Lines and elements.
            {"10.0.0.1", {"203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7", "10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7,10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {" \t203.0.113.7\t , \t10.0.0.9 "}, {"203.0.113.7"}},
            {"10.0.0.1", {"", "203.0.113.7", "", ""}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7, , ,,"}, {"203.0.113.7"}},
            {"10.0.0.1", {",,", " , "}, {"10.0.0.1"}},
            {"10.0.0.1", {"203.0.113.7 10.0.0.9"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7;10.0.0.9"}, {"10.0.0.1", suspicious}},
            // What a client wrote is not even looked at.
            {"10.0.0.1", {"garbage, \", 10.0.0.9, 203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"10.0.0.5, 203.0.113.7, 10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"unknown, 203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"\"1.1.1.1, 203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"\"", "203.0.113.7, 10.0.0.9"}, {"203.0.113.7"}},
            // Stopped at something unreadable: the last address known.
            {"10.0.0.1", {"unknown"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"_hidden"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7, _hidden, 10.0.0.9"}, {"10.0.0.9", suspicious}},
            {"10.0.0.1", {"203.0.113.7, \"10.0.0.9\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7, \"10.0.0.9"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7, 0.0.0.0"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7, ::"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7, [::]:80, 10.0.0.9"}, {"10.0.0.9", suspicious}},
            {"10.0.0.1", {"010.0.0.9"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"10.9"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7"}, {"10.0.0.1", suspicious}},
            // Ports, brackets, zones.
            {"10.0.0.1", {"203.0.113.7:0"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7:65535"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7:65536"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7:"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7:+80"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7:000080"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7:http"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {":80"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"2001:db8:1:2:3::9"}, {"2001:db8:1:2::/64"}},
            {"10.0.0.1", {"[2001:db8:1:2:3::9]"}, {"2001:db8:1:2::/64"}},
            {"10.0.0.1", {"[2001:db8:1:2:3::9]:"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"[2001:db8:1:2:3::9]443"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"[2001:db8:1:2:3::9"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"2001:db8:1:2:3::9]"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"[203.0.113.7]:80"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"[]"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"fe80::1%eth0"}, {"fe80::/64"}},
            {"10.0.0.1", {"[fe80::1%25eth0]:80"}, {"fe80::/64"}},
            {"10.0.0.1", {"203.0.113.7%eth0"}, {"10.0.0.1", suspicious}},
            // IPv4 inside IPv6 is IPv4, trusted or not.
            {"::ffff:10.0.0.1", {"::ffff:203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7, ::ffff:10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"[::ffff:203.0.113.7]:80, 10.0.0.9"}, {"203.0.113.7"}},
            {"::ffff:203.0.113.7", {"1.1.1.1"}, {"203.0.113.7"}},
        });
}

TEST_CASE("proxies of both families may be trusted") {
  check(x_forwarded_for, both_families,
        {
            {"fd00::1", {"203.0.113.7, fd00::2, 10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"2001:db8::7, [fd00::2]:8080"}, {"2001:db8::/64"}},
            {"2001:db8::7", {"203.0.113.7"}, {"2001:db8::/64"}},
        });
}

TEST_CASE("as long as nobody is trusted, headers are ignored") {
  check(x_forwarded_for, nobody, {{"10.0.0.1", {"203.0.113.7"}, {"10.0.0.1"}}, {"10.0.0.1", {"unknown"}, {"10.0.0.1"}}});
  check(forwarded, nobody, {{"10.0.0.1", {"for=203.0.113.7"}, {"10.0.0.1"}}, {"10.0.0.1", {"\""}, {"10.0.0.1"}}});
  check(single, nobody, {{"10.0.0.1", {"203.0.113.7"}, {"10.0.0.1"}}, {"10.0.0.1", {"a", "b"}, {"10.0.0.1"}}});
}

TEST_CASE("at most 32 elements are walked") {
  std::string const thirty_one = "203.0.113.7, " + repeated("10.0.0.9", 31);
  std::string const thirty_two = "203.0.113.7, " + repeated("10.0.0.9", 32);
  std::string const all = repeated("10.0.0.9", 32), more = repeated("10.0.0.9", 33);
  std::string const junk = repeated("garbage", 1000) + ", 203.0.113.7, 10.0.0.9";
  std::string const empty = std::string("203.0.113.7").append(1000, ',') + "10.0.0.9";
  check(x_forwarded_for, ten_net,
        {
            {"10.0.0.1", {thirty_one}, {"203.0.113.7"}},
            {"10.0.0.1", {thirty_two}, {"10.0.0.9", suspicious}},
            {"10.0.0.1", {"203.0.113.7", all}, {"10.0.0.9", suspicious}},
            {"10.0.0.1", {all}, {"10.0.0.9"}},
            {"10.0.0.1", {more}, {"10.0.0.9", suspicious}},
            {"10.0.0.1", {junk}, {"203.0.113.7"}},
            {"10.0.0.1", {empty}, {"203.0.113.7"}},
        });
}

TEST_CASE("with a hop count, the address is the Nth from the right") {
  check(x_forwarded_for, hops(1),
        {
            {"10.0.0.1", {"1.1.1.1, 203.0.113.7"}, {"203.0.113.7"}},
            {"198.51.100.1", {"203.0.113.7:4711"}, {"203.0.113.7"}},
            {"10.0.0.1", {}, {"10.0.0.1"}},
            {"10.0.0.1", {"203.0.113.7, unknown"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"unknown, 203.0.113.7"}, {"203.0.113.7"}},
        });
  check(x_forwarded_for, hops(2),
        {
            {"10.0.0.1", {"1.1.1.1, 203.0.113.7, 10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"1.1.1.1", "203.0.113.7", "10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7,, ,10.0.0.9,"}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7"}, {"10.0.0.1"}},  // too few
            {"10.0.0.1", {"203.0.113.7, _proxy"}, {"203.0.113.7"}},
            {"10.0.0.1", {"1.1.1.1, unknown, 10.0.0.9"}, {"10.0.0.1", suspicious}},
        });
  check(forwarded, hops(2), {{"10.0.0.1", {"for=1.1.1.1, for=203.0.113.7, for=_proxy"}, {"203.0.113.7"}}});
  check(single, hops(1), {{"10.0.0.1", {"203.0.113.7"}, {"203.0.113.7"}}});
  std::string const forty = repeated("203.0.113.7", 40);
  check(x_forwarded_for, hops(32), {{"10.0.0.1", {forty}, {"203.0.113.7"}}});
  check(x_forwarded_for, hops(33), {{"10.0.0.1", {forty}, {"10.0.0.1"}}});
}

TEST_CASE("with networks and a hop count, the peer must lie in the networks") {
  http::trusted_proxies both = ten_net;
  both.hops = 2;
  check(x_forwarded_for, both,
        {
            {"10.0.0.1", {"1.1.1.1, 203.0.113.7, 192.0.2.1"}, {"203.0.113.7"}},
            {"192.0.2.1", {"1.1.1.1, 203.0.113.7, 192.0.2.1"}, {"192.0.2.1"}},
        });
}

TEST_CASE("Forwarded is read by its grammar, elements from the end") {
  check(forwarded, ten_net,
        {
            {"10.0.0.1", {}, {"10.0.0.1"}},
            {"203.0.113.7", {"for=1.1.1.1"}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"For=203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"FOR=203.0.113.7;Proto=https;BY=10.0.0.1"}, {"203.0.113.7"}},
            {"10.0.0.1", {"proto=https;for=203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"proto=https; for=203.0.113.7 ;host=example.org;"}, {"203.0.113.7"}},
            {"10.0.0.1", {";;for=203.0.113.7;;"}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=\"203.0.113.7\""}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=\"203.0.113.7:4711\""}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=\"[2001:DB8:1:2:3::9]\""}, {"2001:db8:1:2::/64"}},
            {"10.0.0.1", {"for=\"[2001:db8:1:2:3::9]:443\";proto=https"}, {"2001:db8:1:2::/64"}},
            {"10.0.0.1", {"for=\"[fe80::1%25eth0]\""}, {"fe80::/64"}},
            {"10.0.0.1", {"for=\"[::ffff:203.0.113.7]\""}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=1.1.1.1, for=203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=203.0.113.7, for=10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=1.1.1.1", "for=203.0.113.7,for=10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=203.0.113.7;host=\"a,b;c\", for=10.0.0.9"}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=10.0.0.8, for=10.0.0.9"}, {"10.0.0.8"}},
            {"10.0.0.1", {"for=203.0.113.7, , ,"}, {"203.0.113.7"}},
            // A quote that a client left open cannot swallow what the proxy appended.
            {"10.0.0.1", {"for=\"1.1.1.1, for=203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"for=\"1.1.1.1;x=\\\", for=203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"\", for=203.0.113.7;host=\"a,b\""}, {"203.0.113.7"}},
            {"10.0.0.1", {"\"", "for=203.0.113.7"}, {"203.0.113.7"}},
            // Unreadable.
            {"10.0.0.1", {"for=unknown"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"unknown\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7, for=_hidden, for=10.0.0.9"}, {"10.0.0.9", suspicious}},
            {"10.0.0.1", {"for=\"_gazonk\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"0.0.0.0\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"[::]\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"proto=https"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {";"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for="}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for =203.0.113.7"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for= 203.0.113.7"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7:4711"}, {"10.0.0.1", suspicious}},     // a colon needs quotes
            {"10.0.0.1", {"for=[2001:db8::9]"}, {"10.0.0.1", suspicious}},        // so do brackets
            {"10.0.0.1", {"for=\"2001:db8::9\""}, {"10.0.0.1", suspicious}},      // IPv6 needs brackets
            {"10.0.0.1", {"for=2001:db8::9"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"::ffff:203.0.113.7\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"[203.0.113.7]\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7;for=203.0.113.8"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7;FOR=203.0.113.7"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"203.0.113\\.7\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7;host=\"a\\\"b\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7;host=\"a\\b\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"203.0.113.7"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7\""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=\"203.0.113.7\"x"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7 proto=https"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7;proto"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7;=x"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"x-for=203.0.113.7"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=1.1.1.1, for=203.0.113.7;\", for=10.0.0.9"}, {"10.0.0.9", suspicious}},
        });
}

TEST_CASE("a header with one address has one line with one address") {
  check(single, ten_net,
        {
            {"10.0.0.1", {}, {"10.0.0.1"}},
            {"10.0.0.1", {"203.0.113.7"}, {"203.0.113.7"}},
            {"10.0.0.1", {"\t203.0.113.7 "}, {"203.0.113.7"}},
            {"10.0.0.1", {"203.0.113.7:4711"}, {"203.0.113.7"}},
            {"10.0.0.1", {"2001:db8:1:2:3::9"}, {"2001:db8:1:2::/64"}},
            {"10.0.0.1", {"10.0.0.9"}, {"10.0.0.9"}},
            {"203.0.113.7", {"1.1.1.1"}, {"203.0.113.7"}},
            {"203.0.113.7", {"1.1.1.1", "2.2.2.2"}, {"203.0.113.7"}},
            {"10.0.0.1", {""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7, 203.0.113.7"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7,"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7", "203.0.113.7"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"203.0.113.7", ""}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"unknown"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"0.0.0.0"}, {"10.0.0.1", suspicious}},
            {"10.0.0.1", {"for=203.0.113.7"}, {"10.0.0.1", suspicious}},
        });
}

TEST_CASE("whatever a client sends, what trusted proxies append decides") {
  std::mt19937 random(11);
  constexpr std::string_view pieces[] = {"\"", ",", ";", "\\", "for=", "For=\"", "1.1.1.1", "10.0.0.5", "[::1]", "unknown", " ", "\t", "=", "_x", ":80", "\"10.0.0.7\""};
  for (int round = 0; round < 20'000; ++round) {
    std::string evil;
    for (auto n = random() % 12; n > 0; --n) evil += pieces[random() % std::size(pieces)];
    CAPTURE(evil);
    std::string const appended = evil + ", 203.0.113.7, 10.0.0.9", pairs = evil + ", for=203.0.113.7;host=\"a,b\", for=10.0.0.9";
    std::array<std::string_view, 1> const plain_line{appended}, pair_line{pairs};
    std::array<std::string_view, 2> const plain_lines{evil, "203.0.113.7, 10.0.0.9"};
    http::caller const honest{*ip_address::parse("203.0.113.7"), false};
    ip_address const peer = *ip_address::parse("10.0.0.1");
    CHECK(http::caller_from_x_forwarded_for(peer, plain_line, ten_net) == honest);
    CHECK(http::caller_from_x_forwarded_for(peer, plain_lines, ten_net) == honest);
    CHECK(http::caller_from_forwarded(peer, pair_line, ten_net) == honest);
    CHECK(http::caller_from_x_forwarded_for(peer, plain_line, hops(2)) == honest);
    CHECK(http::caller_from_forwarded(peer, pair_line, hops(2)) == honest);
  }
}

TEST_CASE("whatever the bytes, the caller is the peer or an address in the header, and nothing is allocated") {
  std::mt19937 random(13);
  ip_address const peer = *ip_address::parse("10.0.0.1");
  http::trusted_proxies const everyone{.networks = {*ip_network::parse("0.0.0.0/0"), *ip_network::parse("::/0")}};
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 60, '\0');
    constexpr std::string_view likely = "0123456789abcdef.:[]%,;\"= \tfor";
    for (char& c : text) c = random() % 8 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
    std::array<std::string_view, 2> const values{text, "10.0.0.9"};
    http::caller one{}, two{}, three{};
    REQUIRE(allocations_of([&] {
              one = http::caller_from_x_forwarded_for(peer, values, everyone);
              two = http::caller_from_forwarded(peer, values, everyone);
              three = http::caller_from_single(peer, std::span(values).first(1), everyone);
            }).made == 0);
    CHECK_FALSE(one.address.is_unspecified());
    CHECK(two == http::caller{peer, true});  // the last line is no forwarded-element
    CHECK_FALSE(three.address.is_unspecified());
  }
}
