#pragma once
// A transport to a cluster: finds the node of a key by what the nodes say (MOVED, ASK), and remembers it.
//
// A node that answers MOVED or ASK has not carried the command out, so following it counts nothing twice.

#include <penstock/config_error.hpp>
#include <penstock/redis/error.hpp>
#include <penstock/redis/transport.hpp>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::inline v0_1::redis {

inline constexpr std::size_t cluster_slots = 16'384;

/// The slot of a key: CRC-16/XMODEM of what stands between its first { and the next }, if that is not empty.
constexpr std::size_t slot_of(std::string_view key) noexcept {
  if (std::size_t const open = key.find('{'); open != std::string_view::npos)
    if (std::size_t const close = key.find('}', open + 1); close != std::string_view::npos && close > open + 1)
      key = key.substr(open + 1, close - open - 1);
  std::uint32_t crc = 0;
  for (char const c : key) {
    crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % cluster_slots;
}

/// A redis_transport over a Pool for each node; Endpoint has host and port. Concurrency: safe from any thread.
template <class Pool, class Endpoint, class Options>
class cluster {
 public:
  static constexpr int most_redirections = 5;

  /// Nodes to begin with: any that are up will do. Throws config_error without one.
  explicit cluster(std::vector<Endpoint> seeds, Options const& o = Options{}) : seeds_(std::move(seeds)), options_(o) {
    if (seeds_.empty()) penstock::detail::refuse({"redis::cluster", "nodes"}, "empty", "at least one");
    for (Endpoint const& e : seeds_) pool_at(e.host, e.port);
  }

  result<reply> execute(command const& c, deadline until) {
    std::size_t const slot = slot_of(c.key);
    node* asked = owners_[slot].load(std::memory_order_acquire);
    if (asked == nullptr) asked = &seed();
    bool asking = false;
    for (int redirections = 0;; ++redirections) {
      auto answer = asking ? asked->pool.execute_asking(c, until) : asked->pool.execute(c, until);
      if (!answer || is_unavailable(*answer)) {  // perhaps another node has taken over: ask around next time
        owners_[slot].store(nullptr, std::memory_order_release);
        next_seed_.fetch_add(1, std::memory_order_relaxed);
        return answer;
      }
      bool const moved = answer->says("MOVED ");
      if (!(moved || answer->says("ASK ")) || redirections == most_redirections ||
          std::chrono::steady_clock::now() >= until)
        return answer;
      node* const target = named_in(answer->text, *asked);
      if (target == nullptr) return answer;
      asking = !moved;
      if (moved) owners_[slot].store(target, std::memory_order_release);
      asked = target;
    }
  }

 private:
  struct node {
    node(Endpoint const& e, Options const& o) : at(e), pool(e, o) {}
    Endpoint at;
    Pool pool;
  };

  static bool is_unavailable(reply const& r) noexcept {
    return r.is == reply::kind::error && classify(r.text) == errc::unavailable;
  }

  node& seed() {
    Endpoint const& e = seeds_[next_seed_.load(std::memory_order_relaxed) % seeds_.size()];
    return *pool_at(e.host, e.port);
  }

  /// "MOVED 3999 127.0.0.1:6381"; without a host it is the one that was asked.
  node* named_in(std::string_view redirection, node const& asked) {
    std::size_t const space = redirection.rfind(' '), colon = redirection.rfind(':');
    if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) return nullptr;
    std::string_view const host = redirection.substr(space + 1, colon - space - 1),
                           digits = redirection.substr(colon + 1);
    std::uint16_t port = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), port).ec != std::errc{}) return nullptr;
    return pool_at(host.empty() ? asked.at.host : std::string(host), port);
  }

  node* pool_at(std::string const& host, std::uint16_t port) {
    std::lock_guard const guard(mutex_);
    for (auto const& n : nodes_)
      if (n->at.host == host && n->at.port == port) return n.get();
    Endpoint e = seeds_.front();  // the same credentials
    e.host = host;
    e.port = port;
    nodes_.push_back(std::make_unique<node>(e, options_));
    return nodes_.back().get();
  }

  std::vector<Endpoint> seeds_;
  Options options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<node>> nodes_;  ///< those that were ever named
  std::array<std::atomic<node*>, cluster_slots> owners_{};
  std::atomic<std::size_t> next_seed_{0};
};

}  // namespace penstock::inline v0_1::redis
