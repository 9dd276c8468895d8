#pragma once
// For these examples only: a redis-server that they start and stop, on loopback, with nothing kept.

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

class redis_server {
 public:
  redis_server() : port_(free_port()) { start(); }
  redis_server(redis_server const&) = delete;
  redis_server& operator=(redis_server const&) = delete;
  ~redis_server() { stop(); }

  std::uint16_t port() const { return port_; }

  void start() {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      ::execlp("redis-server", "redis-server", "--port", std::to_string(port_).c_str(), "--bind", "127.0.0.1", "--save", "", "--dir", "/tmp", "--logfile", "/dev/null", nullptr);
      ::_exit(127);
    }
    for (int attempt = 0; attempt < 1000 && !listens(); ++attempt) std::this_thread::sleep_for(std::chrono::milliseconds{5});
    if (!listens()) {
      std::cerr << "redis-server does not start (Debian: redis-server)\n";
      std::exit(2);
    }
  }
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    return at;
  }
  static std::uint16_t free_port() {
    int const s = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    bool const bound = ::bind(s, reinterpret_cast<sockaddr*>(&at), size) == 0 && ::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size) == 0;
    ::close(s);
    return bound ? ntohs(at.sin_port) : 0;
  }
  bool listens() const {
    int const s = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in const at = loopback(port_);
    bool const connected = ::connect(s, reinterpret_cast<sockaddr const*>(&at), sizeof at) == 0;
    ::close(s);
    return connected;
  }

  std::uint16_t port_;
  ::pid_t pid_ = -1;
};
