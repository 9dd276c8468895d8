// http/address.hpp and http/address_key.hpp: addresses, networks and keys.

#include <penstock/http/address.hpp>
#include <penstock/http/address_key.hpp>
#include <penstock/limiters.hpp>

#include "support/catch.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

using namespace penstock;
using http::address_key;
using http::ip_address;
using http::ip_network;

namespace {

ip_address address(std::string_view text) {
  auto const read = ip_address::parse(text);
  REQUIRE(read);
  return *read;
}
ip_network network(std::string_view text) {
  auto const read = ip_network::parse(text);
  REQUIRE(read);
  return *read;
}

}  // namespace

TEST_CASE("an address is read and written in its one short form") {
  for (auto const& [text, written] : {
           std::pair{"203.0.113.7", "203.0.113.7"},
           {"0.0.0.0", "0.0.0.0"},
           {"255.255.255.255", "255.255.255.255"},
           {"::", "::"},
           {"::1", "::1"},
           {"2001:DB8::1", "2001:db8::1"},
           {"2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"},
           {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // RFC 5952, 4.2.2: one group is not shortened
           {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // 4.2.3: the longest run
           {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // the first of two
           {"fe80::1%eth0", "fe80::1"},
           {"fe80::1%25en0", "fe80::1"},
           {"::ffff:192.0.2.1", "192.0.2.1"},
           {"::ffff:c000:201", "192.0.2.1"},
           {"0:0:0:0:0:FFFF:192.0.2.1", "192.0.2.1"},
           {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
       }) {
    CAPTURE(text);
    CHECK(address(text).to_string() == written);
    CHECK(address(written) == address(text));
  }
}

TEST_CASE("what is not an address is none") {
  using namespace std::string_view_literals;
  for (auto const text : {""sv, " "sv, "1"sv, "1.2.3"sv, "1.2.3.4.5"sv, "1.2.3."sv, ".1.2.3.4"sv, "1..2.3"sv, "256.1.1.1"sv, "1.2.3.256"sv,
                          "01.2.3.4"sv, "1.2.3.04"sv, "0x1.2.3.4"sv, "0x01020304"sv, "16909060"sv, "1.2.3.4 "sv, " 1.2.3.4"sv, "+1.2.3.4"sv,
                          "-1.2.3.4"sv, "1.2.3.4%eth0"sv, "1.2.3.4:80"sv, "[::1]"sv, "[::1]:80"sv, ":"sv, ":::"sv, "1:2:3:4:5:6:7"sv,
                          "1:2:3:4:5:6:7:8:9"sv, "::1::"sv, "12345::"sv, "g::1"sv, "::1.2.3"sv, "::1.2.3.256"sv, "::1%"sv, "::1%eth 0"sv,
                          "::1%eth0]"sv, "%eth0"sv, "::1/64"sv, "localhost"sv, "unknown"sv, "1.2.3.4\0"sv, "1.2.3.4\0.evil"sv, "::1\0"sv,
                          "2001:db8:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001"sv, "\xef\xbc\x91.2.3.4"sv, "1,2,3,4"sv}) {
    CAPTURE(text);
    CHECK_FALSE(ip_address::parse(text));
  }
}

TEST_CASE("a mapped address is the IPv4 address") {
  CHECK(address("::ffff:192.0.2.1") == address("192.0.2.1"));
  CHECK(address("::ffff:192.0.2.1").is_v4());
  CHECK_FALSE(address("::192.0.2.1").is_v4());
  CHECK_FALSE(address("::fffe:192.0.2.1").is_v4());
  CHECK(address("192.0.2.1") == ip_address(std::array<std::uint8_t, 4>{192, 0, 2, 1}));
  CHECK(address("::1") == ip_address(ip_address::bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST_CASE("the unspecified addresses are nobody's") {
  CHECK(address("0.0.0.0").is_unspecified());
  CHECK(address("::").is_unspecified());
  CHECK(address("::ffff:0.0.0.0").is_unspecified());
  CHECK(ip_address{}.is_unspecified());
  CHECK_FALSE(address("0.0.0.1").is_unspecified());
  CHECK_FALSE(address("::1").is_unspecified());
}

TEST_CASE("a network holds the addresses that begin with its bits") {
  struct row {
    std::string_view network, inside, outside;
  };
  for (row const& r : {
           row{"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
           {"10.0.0.0/8", "10.0.0.0", "9.255.255.255"},
           {"10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"},
           {"172.16.0.0/12", "172.31.255.255", "172.32.0.0"},
           {"192.0.2.128/25", "192.0.2.128", "192.0.2.127"},
           {"192.0.2.4/31", "192.0.2.5", "192.0.2.6"},
           {"192.0.2.4/32", "192.0.2.4", "192.0.2.5"},
           {"192.0.2.4", "192.0.2.4", "192.0.2.5"},
           {"0.0.0.0/0", "255.255.255.255", "::1"},
           {"::/0", "2001:db8::1", "1.2.3.4"},
           {"::/0", "::", "0.0.0.0"},
           {"2001:db8::/32", "2001:db8:ffff::", "2001:db9::"},
           {"2001:db8:1:2::/64", "2001:db8:1:2:ffff::", "2001:db8:1:3::"},
           {"2001:db8::/127", "2001:db8::1", "2001:db8::2"},
           {"2001:db8::1", "2001:db8::1", "2001:db8::"},
           {"10.9.8.7/8", "10.0.0.1", "11.9.8.7"},  // bits behind the prefix
           {"::ffff:10.0.0.0/104", "10.255.0.1", "11.0.0.0"},
           {"::ffff:0:0/96", "1.2.3.4", "::1"},
           {"fe80::%eth0/10", "fe80::1", "fec0::1"},
       }) {
    CAPTURE(r.network, r.inside, r.outside);
    CHECK(network(r.network).contains(address(r.inside)));
    CHECK_FALSE(network(r.network).contains(address(r.outside)));
  }
}

TEST_CASE("a network is written with its first address") {
  CHECK(network("10.9.8.7/8").to_string() == "10.0.0.0/8");
  CHECK(network("192.0.2.4").to_string() == "192.0.2.4/32");
  CHECK(network("2001:DB8:1:2:3::9/64").to_string() == "2001:db8:1:2::/64");
  CHECK(network("::1").to_string() == "::1/128");
  CHECK(network("0.0.0.0/0").to_string() == "0.0.0.0/0");
  CHECK(network("::/0").to_string() == "::/0");
  CHECK(network("::ffff:10.0.0.0/104").to_string() == "10.0.0.0/8");
}

TEST_CASE("what is not a network is none") {
  for (std::string_view const text : {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8 ", "10.0.0.0/ 8",
                                      "10.0.0.0/8/8", "10.0.0.0/255.0.0.0", "10.0.0/8", "10/8", "::/129", "::/1000", "::/4294967297", "::1/x",
                                      "::ffff:10.0.0.0/8", "10.0.0.0:80/8", "localhost/8"}) {
    CAPTURE(text);
    CHECK_FALSE(ip_network::parse(text));
  }
}

TEST_CASE("a prefix keeps exactly that many bits") {
  auto const bit = [](ip_address const& a, unsigned i) { return (a.to_bytes()[i / 8] >> (7 - i % 8) & 1) != 0; };
  ip_address const ones(ip_address::bytes{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255});
  for (unsigned prefix = 0; prefix <= 128; ++prefix) {
    ip_address const first = ip_network(ones, prefix).address();
    for (unsigned i = 0; i < 128; ++i) REQUIRE(bit(first, i) == (i < prefix));
  }
  for (unsigned prefix = 0; prefix <= 32; ++prefix) {
    ip_network const n(address("255.255.255.255"), prefix);
    CHECK(n.address().is_v4());
    CHECK(n.prefix() == prefix);
    for (unsigned i = 96; i < 128; ++i) REQUIRE(bit(n.address(), i) == (i < 96 + prefix));
  }
}

TEST_CASE("a key is the network that one client has") {
  auto const key = [](std::string_view text, auto... prefixes) { return address_key(address(text), prefixes...).to_string(); };
  CHECK(key("203.0.113.7") == "203.0.113.7");
  CHECK(key("203.0.113.7", 24u) == "203.0.113.0/24");
  CHECK(key("203.0.113.7", 0u) == "0.0.0.0/0");
  CHECK(key("2001:db8:1:2:3::9") == "2001:db8:1:2::/64");
  CHECK(key("2001:db8:1:2:3::9", 32u, 48u) == "2001:db8:1::/48");
  CHECK(key("2001:db8:1:2:3::9", 32u, 128u) == "2001:db8:1:2:3::9/128");
  CHECK(key("::1") == "::/64");
  CHECK(key("::ffff:203.0.113.7") == "203.0.113.7");
  CHECK(key("203.0.113.7", 99u, 999u) == "203.0.113.7");
  CHECK(key("2001:db8::1", 99u, 999u) == "2001:db8::1/128");
}

TEST_CASE("keys are equal when their networks are, and have bytes of a fixed size") {
  STATIC_REQUIRE(limit_key<address_key>);
  STATIC_REQUIRE(limit_key<std::pair<address_key, std::string>>);
  STATIC_REQUIRE(sizeof(penstock_key(address_key(ip_address{}))) == 17);
  std::set<std::array<std::byte, 17>> seen;
  for (std::string_view const text : {"0.0.0.0", "203.0.113.7", "203.0.113.8", "2001:db8:1:2::1", "2001:db8:1:3::1", "::"})
    for (unsigned const v4 : {0u, 8u, 24u, 31u, 32u})
      for (unsigned const v6 : {0u, 48u, 64u, 96u, 128u}) seen.insert(penstock_key(address_key(address(text), v4, v6)));
  CHECK(seen.size() == (1 + 2 + 2 + 3 + 3) + (1 + 2 + 3 + 3 + 3));  // prefix by prefix
  CHECK(penstock_key(address_key(address("2001:db8:1:2:3::9"))) == penstock_key(address_key(address("2001:db8:1:2::"))));
  CHECK(penstock_key(address_key(address("2001:db8:1:2::"), 32, 64)) != penstock_key(address_key(address("2001:db8:1:2::"), 32, 65)));
}

TEST_CASE("a limiter is keyed by addresses") {
  fixed_window<address_key> per_address({.limit = per_day(1)});
  CHECK(per_address.allow(address_key(address("2001:db8:1:2::1"))));
  CHECK_FALSE(per_address.allow(address_key(address("2001:db8:1:2::2"))));
  CHECK(per_address.allow(address_key(address("2001:db8:1:3::1"))));
  CHECK(per_address.allow(address_key(address("203.0.113.7"))));
  CHECK_FALSE(per_address.allow(address_key(address("::ffff:203.0.113.7"))));
  CHECK(per_address.allow(address_key(address("203.0.113.8"))));
}
