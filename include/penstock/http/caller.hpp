#pragma once
// Who is calling, when proxies stand in between.
//
// A server sees the address of the last proxy; whom that one heard from stands in a header, which anybody can write. So
// one header is read, the one that the own proxies are known to set, and only as far as those proxies wrote it: from
// the end, while the address before is one that is trusted. Which header that is, is configuration: never take the
// first that happens to be there.

#include <penstock/http/address.hpp>
#include <penstock/http/blanks.hpp>
#include <penstock/http/node.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace penstock::inline v0_1::http {

/// Whose word counts: the proxies in these networks; or, where their addresses are not known, that many proxies in a
/// row before this server. With both, the peer must lie in the networks and the hops are counted. Empty: nobody's.
struct trusted_proxies {
  std::vector<ip_network> networks;
  std::size_t hops = 0;

  bool trusts(ip_address const& address) const noexcept {
    return std::ranges::any_of(networks, [&](ip_network const& n) { return n.contains(address); });
  }
  /// Is the peer of a connection a proxy whose header is read?
  bool trusts_peer(ip_address const& peer) const noexcept { return networks.empty() ? hops != 0 : trusts(peer); }
};

struct caller {
  ip_address address;
  bool suspicious{};  ///< the walk stopped at something unreadable; the address is the last one known before that
  friend constexpr bool operator==(caller const&, caller const&) = default;
};

namespace detail {

/// No real chain of proxies is longer; a client that sends more elements gains nothing by it.
inline constexpr std::size_t most_proxies = 32;

/// The walk from the peer towards the client; parse reads one element.
template <class Parse>
caller walk(ip_address const& peer, std::span<std::string_view const> lines, trusted_proxies const& trusted,
            Parse parse) noexcept {
  if (!trusted.trusts_peer(peer)) return {peer, false};
  reversed_list elements(lines);

  if (trusted.hops != 0) {  // the Nth element from the right; the proxies before it need not be readable
    if (trusted.hops > most_proxies) return {peer, false};
    std::optional<std::string_view> element;
    for (std::size_t i = 0; i < trusted.hops; ++i)
      if (!(element = elements.next())) return {peer, false};
    auto const address = parse(*element);
    return address ? caller{*address, false} : caller{peer, true};
  }

  ip_address current = peer;
  for (std::size_t i = 0; auto const element = elements.next(); ++i) {
    if (i == most_proxies) return {current, true};
    auto const address = parse(*element);
    if (!address) return {current, true};
    current = *address;
    if (!trusted.trusts(current)) break;
  }
  return {current, false};
}

}  // namespace detail

/// From X-Forwarded-For: `lines` are its values in the order received. The address is the last one that is not trusted;
/// if all are, the first; the peer's own when that is not trusted or the header is absent.
/// Concurrency: a pure function. Linear in the length of the header, allocates nothing.
inline caller caller_from_x_forwarded_for(ip_address peer, std::span<std::string_view const> lines,
                                          trusted_proxies const& trusted) noexcept {
  return detail::walk(peer, lines, trusted, parse_node);
}

/// The same from Forwarded (RFC 7239).
inline caller caller_from_forwarded(ip_address peer, std::span<std::string_view const> lines,
                                    trusted_proxies const& trusted) noexcept {
  return detail::walk(peer, lines, trusted, parse_forwarded);
}

/// From a header with one address, X-Real-IP, CF-Connecting-IP or True-Client-IP, which a trusted peer replaces and
/// never appends to: exactly one line with exactly one address; otherwise it is the peer, suspicious.
inline caller caller_from_single(ip_address peer, std::span<std::string_view const> lines,
                                 trusted_proxies const& trusted) noexcept {
  if (!trusted.trusts_peer(peer) || lines.empty()) return {peer, false};
  auto const address = lines.size() == 1 ? parse_node(detail::without_blanks(lines[0])) : std::nullopt;
  return address ? caller{*address, false} : caller{peer, true};
}

}  // namespace penstock::inline v0_1::http
