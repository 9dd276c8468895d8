#pragma once
// A client's address as the key of a limiter.

#include <penstock/http/address.hpp>
#include <penstock/key.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace penstock::inline v0_1::http {

/// The network around an address: of 16 bytes and a length, never text. One IPv4 address is one client; in IPv6 one
/// client has at least a /64 (RFC 6177), and could otherwise have 2^64 keys.
class address_key {
 public:
  constexpr explicit address_key(ip_address const& address, unsigned v4_prefix = 32, unsigned v6_prefix = 64) noexcept
      : network_(address, address.is_v4() ? v4_prefix : v6_prefix) {}

  constexpr ip_network const& network() const noexcept { return network_; }

  /// "203.0.113.7", "203.0.113.0/24", "2001:db8:1:2::/64".
  std::string to_string() const {
    bool const whole = network_.address().is_v4() && network_.prefix() == 32;
    return whole ? network_.address().to_string() : network_.to_string();
  }

  friend constexpr bool operator==(address_key const&, address_key const&) = default;

  /// What a limiter hashes.
  friend constexpr std::array<std::byte, 17> penstock_key(address_key const& key) noexcept {
    std::array<std::byte, 17> bytes{};
    auto const& address = key.network_.address().to_bytes();
    for (std::size_t i = 0; i < address.size(); ++i) bytes[i] = std::byte{address[i]};
    bytes[16] = static_cast<std::byte>(key.network_.prefix());
    return bytes;
  }

 private:
  ip_network network_;
};

static_assert(limit_key<address_key>);

}  // namespace penstock::inline v0_1::http
