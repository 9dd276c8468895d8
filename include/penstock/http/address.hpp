#pragma once
// Addresses and networks, as bytes. Text is read by inet_pton, which knows no shorthand, octal or hexadecimal parts,
// and written by inet_ntop, in the form of RFC 5952 for IPv6.

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#if defined(_WIN32)
#if !defined(NOMINMAX)
#define NOMINMAX  // windows.h, which this includes, would define min and max as macros
#endif
#include <ws2tcpip.h>
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#endif

namespace penstock::inline v0_1::http {

/// An IPv4 or an IPv6 address. ::ffff:0:0/96 is IPv4 (RFC 4291, section 2.5.5.2): ::ffff:192.0.2.1 equals 192.0.2.1.
class ip_address {
 public:
  using bytes = std::array<std::uint8_t, 16>;

  /// ::, no address in particular.
  constexpr ip_address() noexcept = default;
  constexpr explicit ip_address(bytes const& v6) noexcept : bytes_(v6) {}
  constexpr explicit ip_address(std::array<std::uint8_t, 4> const& v4) noexcept : bytes_(mapped) {
    std::ranges::copy(v4, bytes_.begin() + 12);
  }

  /// Reads an address, "192.0.2.1" or "2001:db8::1"; the zone of an IPv6 address, "%eth0", is dropped. Nothing when it
  /// is not one: ports and brackets belong to the text around an address (see parse_node).
  static std::optional<ip_address> parse(std::string_view text) noexcept {
    bool const v6 = text.find(':') != std::string_view::npos;
    if (v6) text = without_zone(text);
    char terminated[INET6_ADDRSTRLEN];
    if (text.empty() || text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) return {};
    *std::ranges::copy(text, terminated).out = '\0';
    if (v6) {
      bytes read;
      if (::inet_pton(AF_INET6, terminated, read.data()) == 1) return ip_address(read);
    } else {
      std::array<std::uint8_t, 4> read;
      if (::inet_pton(AF_INET, terminated, read.data()) == 1) return ip_address(read);
    }
    return {};
  }

  /// "192.0.2.1", "2001:db8::1".
  std::string to_string() const {
    char text[INET6_ADDRSTRLEN];
    bool const v4 = is_v4();
    if (::inet_ntop(v4 ? AF_INET : AF_INET6, bytes_.data() + (v4 ? 12 : 0), text, sizeof text) == nullptr) return {};
    return text;
  }

  constexpr bool is_v4() const noexcept { return std::equal(mapped.begin(), mapped.begin() + 12, bytes_.begin()); }
  /// 0.0.0.0 or ::, which are nobody's.
  constexpr bool is_unspecified() const noexcept {
    return std::all_of(bytes_.begin() + (is_v4() ? 12 : 0), bytes_.end(), [](std::uint8_t b) { return b == 0; });
  }
  /// All sixteen, an IPv4 address mapped.
  constexpr bytes const& to_bytes() const noexcept { return bytes_; }

  friend constexpr bool operator==(ip_address const&, ip_address const&) = default;
  friend constexpr auto operator<=>(ip_address const&, ip_address const&) = default;

 private:
  static constexpr bytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

  /// Up to "%" and a zone (RFC 4007, section 11; RFC 6874); what is no zone stays and will not be read.
  static constexpr std::string_view without_zone(std::string_view text) noexcept {
    auto const percent = text.find('%');
    if (percent == std::string_view::npos || percent + 1 == text.size()) return text;
    bool const is_zone = std::ranges::all_of(text.substr(percent + 1), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             std::string_view("-._~%").find(c) != std::string_view::npos;
    });
    return is_zone ? text.substr(0, percent) : text;
  }

  bytes bytes_{};
};

/// All addresses of one family that begin with the same bits (CIDR, RFC 4632 and RFC 4291).
class ip_network {
 public:
  /// The network of this prefix around an address. A prefix longer than the address, 32 or 128 bits, is the address.
  constexpr ip_network(ip_address const& around, unsigned prefix) noexcept
      : bits_(around.is_v4() ? 96 + std::min(prefix, 32u) : std::min(prefix, 128u)), first_(cut(around, bits_)) {}

  /// Reads "10.0.0.0/8" or "2001:db8::/32"; an address alone is a network of one; bits behind the prefix are ignored.
  static std::optional<ip_network> parse(std::string_view text) noexcept {
    auto const slash = text.find('/');
    auto const address = ip_address::parse(text.substr(0, slash));
    if (!address) return {};
    if (slash == std::string_view::npos) return ip_network(*address, 128);
    auto const digits = text.substr(slash + 1);
    if (digits.empty() || digits.size() > 3 || (digits[0] == '0' && digits.size() > 1)) return {};
    unsigned prefix = 0;
    for (char const c : digits) {
      if (c < '0' || c > '9') return {};
      prefix = prefix * 10 + static_cast<unsigned>(c - '0');
    }
    // Written as IPv6, ::ffff:10.0.0.0/104 counts from the front of all 128 bits.
    bool const as_v6 = text.substr(0, slash).find(':') != std::string_view::npos;
    if (prefix > (as_v6 ? 128u : 32u)) return {};
    if (!as_v6 || !address->is_v4()) return ip_network(*address, prefix);
    if (prefix < 96) return {};  // it would hold all of IPv4 and more: no network of one family
    return ip_network(*address, prefix - 96);
  }

  constexpr bool contains(ip_address const& address) const noexcept {
    return address.is_v4() == first_.is_v4() && cut(address, bits_) == first_;
  }

  constexpr ip_address const& address() const noexcept { return first_; }
  constexpr unsigned prefix() const noexcept { return first_.is_v4() ? bits_ - 96 : bits_; }
  /// "10.0.0.0/8", "2001:db8::/32".
  std::string to_string() const { return first_.to_string() + "/" + std::to_string(prefix()); }

  friend constexpr bool operator==(ip_network const&, ip_network const&) = default;

 private:
  static constexpr ip_address cut(ip_address const& address, unsigned bits) noexcept {
    auto bytes = address.to_bytes();
    for (unsigned i = 0; i < bytes.size(); ++i) {
      unsigned const kept = bits <= 8 * i ? 0 : std::min(bits - 8 * i, 8u);
      bytes[i] = static_cast<std::uint8_t>(bytes[i] & (0xff00u >> kept));
    }
    return ip_address(bytes);
  }

  unsigned bits_;  ///< of 128
  ip_address first_;
};

}  // namespace penstock::inline v0_1::http
