// The walk through X-Forwarded-For, Forwarded and the headers of one address, against a walk that is written from the
// rules: whatever a header says, only what trusted proxies wrote is believed.

#include <penstock/http/caller.hpp>

#include "input.hpp"

#include <arpa/inet.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace {

namespace http = penstock::http;
using http::ip_address;
using http::ip_network;
using text = std::string_view;

std::array<char const*, 6> const peers{"10.0.0.1",    "203.0.113.7",     "fd00::1",
                                       "2001:db8::9", "::ffff:10.1.2.3", "127.0.0.1"};
std::array<std::vector<char const*>, 6> const networks{{
    {},
    {"10.0.0.0/8"},
    {"10.0.0.0/8", "fd00::/8"},
    {"0.0.0.0/0"},
    {"0.0.0.0/0", "::/0"},
    {"10.0.0.1", "10.0.0.9/32", "2001:db8::/64"},
}};

text trimmed(text t) {
  auto const first = t.find_first_not_of(" \t");
  return first == t.npos ? text() : t.substr(first, t.find_last_not_of(" \t") - first + 1);
}

bool only(text t, text allowed) { return t.find_first_not_of(allowed) == t.npos; }
constexpr text digits = "0123456789";
constexpr text alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::optional<ip_address> address_of(text t) {
  bool const v6 = t.find(':') != t.npos;
  if (auto const percent = t.find('%'); v6 && percent != t.npos) {
    text const zone = t.substr(percent + 1);
    if (zone.empty() || !only(zone, std::string(alphanumeric) + "-._~%")) return {};
    t = t.substr(0, percent);
  }
  std::string const terminated(t);
  if (terminated.size() != std::strlen(terminated.c_str())) return {};
  ip_address::bytes six{};
  if (v6) {
    if (::inet_pton(AF_INET6, terminated.c_str(), six.data()) != 1) return {};
    return ip_address(six);
  }
  std::array<std::uint8_t, 4> four{};
  if (::inet_pton(AF_INET, terminated.c_str(), four.data()) != 1) return {};
  return ip_address(four);
}

/// An address, perhaps with a port, an IPv6 one then in brackets; the others are no addresses.
std::optional<ip_address> node(text t) {
  text address = t;
  std::optional<text> port;
  if (t.starts_with('[')) {
    auto const close = t.find(']');
    if (close == t.npos) return {};
    address = t.substr(1, close - 1);
    if (address.find(':') == t.npos) return {};
    if (close + 1 != t.size()) {
      if (t[close + 1] != ':') return {};
      port = t.substr(close + 2);
    }
  } else if (std::count(t.begin(), t.end(), ':') == 1) {
    address = t.substr(0, t.find(':'));
    port = t.substr(t.find(':') + 1);
  }
  if (port && (port->empty() || port->size() > 5 || !only(*port, digits) || std::stoul(std::string(*port)) > 65'535))
    return {};
  auto const read = address_of(address);
  if (!read || *read == ip_address() || *read == ip_address(std::array<std::uint8_t, 4>{})) return {};
  return read;
}

/// Cuts at the separators that stand outside of quotes, counted from the left.
std::vector<text> parts_of(text t, char separator) {
  std::vector<text> parts;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= t.size(); ++i) {
    if (i == t.size() || (t[i] == separator && !quoted)) {
      parts.push_back(t.substr(start, i - start));
      start = i + 1;
    } else if (t[i] == '"') {
      quoted = !quoted;
    }
  }
  return parts;
}

/// RFC 7239: pairs of a token and a token or a quoted text; exactly one of them is `for`.
std::optional<ip_address> forwarded_node(text element) {
  std::string const token = std::string(alphanumeric) + "!#$%&'*+-.^_`|~";
  std::optional<text> wanted;
  bool quoted_for = false;
  if (element.find('\\') != text::npos) return {};
  for (text const part : parts_of(element, ';')) {
    text const pair = trimmed(part);
    if (pair.empty()) continue;
    auto const equals = pair.find('=');
    if (equals == text::npos || equals == 0 || !only(pair.substr(0, equals), token)) return {};
    text value = pair.substr(equals + 1);
    bool const quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    if (quoted) value = value.substr(1, value.size() - 2);
    if (quoted ? value.find('"') != text::npos : value.empty() || !only(value, token)) return {};
    std::string name(pair.substr(0, equals));
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (name != "for") continue;
    if (wanted) return {};
    wanted = value;
    quoted_for = quoted;
  }
  if (!wanted) return {};
  auto const address = node(*wanted);
  if (address && !wanted->starts_with('[') && std::count(wanted->begin(), wanted->end(), ':') > 1) return {};
  if (address && wanted->starts_with('[')) HOLDS(quoted_for);  // brackets and colons are no token
  return address;
}

/// The elements of all lines in the order in which proxies added them, the last one first. A comma separates when the
/// quotes to its right pair up.
std::vector<text> elements_of(std::vector<text> const& lines) {
  std::vector<text> elements;
  for (std::size_t l = lines.size(); l-- > 0;) {
    std::vector<text> of_line;
    std::size_t start = 0;
    for (std::size_t i = 0; i <= lines[l].size(); ++i) {
      text const behind = lines[l].substr(std::min(i, lines[l].size()));
      if (i < lines[l].size() && (lines[l][i] != ',' || std::count(behind.begin(), behind.end(), '"') % 2 != 0))
        continue;
      of_line.push_back(lines[l].substr(start, i - start));
      start = i + 1;
    }
    for (std::size_t i = of_line.size(); i-- > 0;)
      if (text const element = trimmed(of_line[i]); !element.empty()) elements.push_back(element);
  }
  return elements;
}

bool trusts(http::trusted_proxies const& trusted, ip_address const& a) {
  for (ip_network const& n : trusted.networks)
    if (n.contains(a)) return true;
  return false;
}

template <class Parse>
http::caller expected(ip_address const& peer, std::vector<text> const& lines, http::trusted_proxies const& trusted,
                      Parse parse) {
  if (trusted.networks.empty() ? trusted.hops == 0 : !trusts(trusted, peer)) return {peer, false};
  auto const elements = elements_of(lines);
  if (trusted.hops != 0) {
    if (trusted.hops > 32 || trusted.hops > elements.size()) return {peer, false};
    auto const address = parse(elements[trusted.hops - 1]);
    return address ? http::caller{*address, false} : http::caller{peer, true};
  }
  ip_address current = peer;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    auto const address = i < 32 ? parse(elements[i]) : std::nullopt;
    if (!address) return {current, true};
    current = *address;
    if (!trusts(trusted, current)) break;
  }
  return {current, false};
}

http::caller expected_single(ip_address const& peer, std::vector<text> const& lines,
                             http::trusted_proxies const& trusted) {
  if ((trusted.networks.empty() ? trusted.hops == 0 : !trusts(trusted, peer)) || lines.empty()) return {peer, false};
  auto const address = lines.size() == 1 ? node(trimmed(lines[0])) : std::nullopt;
  return address ? http::caller{*address, false} : http::caller{peer, true};
}

/// Some stretch of the lines reads as this address. (As an address is told by no more than 45 characters and a zone.)
bool stands_in(std::vector<text> const& lines, ip_address const& address) {
  for (text const line : lines)
    for (std::size_t from = 0; from < line.size(); ++from)
      for (std::size_t length = 2; length <= std::min<std::size_t>(line.size() - from, 45); ++length)
        if (ip_address::parse(line.substr(from, length)) == address) return true;
  return false;
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size > 2'000) return 0;  // the walk from the rules is quadratic
  fuzz::input in(data, size);
  auto const header = in.below(3);
  ip_address const peer = *ip_address::parse(peers[in.below(peers.size())]);
  http::trusted_proxies trusted;
  for (char const* const n : networks[in.below(networks.size())]) trusted.networks.push_back(*ip_network::parse(n));
  if (std::uint8_t const hops = in.byte(); hops >= 192) trusted.hops = hops - 191u;
  std::vector<text> lines;
  while (!in.done()) lines.push_back(in.text());

  auto const ask = [&](std::vector<text> const& of) {
    return header == 0   ? http::caller_from_x_forwarded_for(peer, of, trusted)
           : header == 1 ? http::caller_from_forwarded(peer, of, trusted)
                         : http::caller_from_single(peer, of, trusted);
  };
  http::caller const found = ask(lines);
  HOLDS(found == (header == 0   ? expected(peer, lines, trusted, node)
                  : header == 1 ? expected(peer, lines, trusted, forwarded_node)
                                : expected_single(peer, lines, trusted)));
  if (found.address != peer) {
    HOLDS(trusted.trusts_peer(peer));
    HOLDS(stands_in(lines, found.address));
    HOLDS(!found.address.is_unspecified());
    HOLDS(ip_address::parse(found.address.to_string()) == found.address);
  }

  // What a client sends before the proxies' words changes nothing, once an address is found that is not trusted.
  bool const settled = header != 2 && trusted.hops == 0 && !found.suspicious && !trusted.trusts(found.address);
  if (settled || !trusted.trusts_peer(peer)) {
    for (text const forged :
         {text("198.51.100.1"), text("for=198.51.100.1"), text("\"unclosed, 198.51.100.2"), text(",,\\")}) {
      std::vector<text> more{forged};
      more.insert(more.end(), lines.begin(), lines.end());
      HOLDS(ask(more) == found);
      if (lines.empty()) continue;
      std::string const longer = std::string(forged) + ", " + std::string(lines[0]);
      more = lines;
      more[0] = longer;
      HOLDS(ask(more) == found);
    }
  }
  return 0;
}
