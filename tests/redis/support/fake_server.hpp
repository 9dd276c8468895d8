#pragma once
// A server that misbehaves on purpose: it accepts, and does with each connection what it is told.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace test {

class fake_server {
 public:
  /// One accepted connection. All waits end when the server does.
  class visit {
   public:
    visit(int socket, std::atomic<bool> const& stop) : socket_(socket), stop_(stop) {}
    /// Waits for a command, whole or not; false when the client has gone.
    bool hear() {
      char bytes[4096];
      while (!stop_) {
        pollfd p{socket_, POLLIN, 0};
        if (::poll(&p, 1, 5) <= 0) continue;
        auto const size = ::recv(socket_, bytes, sizeof bytes, 0);
        heard_.assign(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
        return size > 0;
      }
      return false;
    }
    /// What hear() heard last.
    std::string const& heard() const noexcept { return heard_; }
    void say(std::string_view text) { (void)!::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
    void pause(std::chrono::milliseconds time) {
      auto const until = std::chrono::steady_clock::now() + time;
      while (!stop_ && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(time, std::chrono::milliseconds{5}));
    }
    bool stopped() const { return stop_; }

   private:
    int socket_;
    std::atomic<bool> const& stop_;
    std::string heard_;
  };

  explicit fake_server(std::function<void(visit&, int)> behave) : behave_(std::move(behave)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
      throw std::runtime_error("cannot listen");
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~fake_server() {
    stop_ = true;
    thread_.join();
    for (auto& t : visits_) t.join();
    ::close(listener_);
  }
  std::uint16_t port() const noexcept { return port_; }
  int visitors() const noexcept { return count_; }

 private:
  void serve() {
    while (!stop_) {
      pollfd p{listener_, POLLIN, 0};
      if (::poll(&p, 1, 5) <= 0) continue;
      int const socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      int const number = count_++;
      visits_.emplace_back([this, socket, number] {
        visit v(socket, stop_);
        behave_(v, number);
        ::close(socket);
      });
    }
  }

  std::function<void(visit&, int)> behave_;
  std::atomic<bool> stop_{false};
  std::atomic<int> count_{0};
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
  std::vector<std::thread> visits_;
};

}  // namespace test
