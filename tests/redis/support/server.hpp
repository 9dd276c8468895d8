#pragma once
// A redis-server of our own: on loopback, on a free port, in a folder of its own, stopped at the end.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <penstock/redis.hpp>
#include <penstock/redis/hiredis.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace test {

namespace redis = penstock::redis;
using namespace std::chrono_literals;

inline std::uint16_t free_port() {
  int const s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (s < 0 || ::bind(s, reinterpret_cast<sockaddr*>(&at), size) != 0 ||
      ::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw std::runtime_error("no free port");
  ::close(s);
  return ntohs(at.sin_port);
}

/// One command over any transport.
template <class Transport>
redis::reply say(Transport& transport, std::vector<std::string_view> const& words,
                 std::chrono::nanoseconds timeout = 2s) {
  auto const answer =
      transport.execute({words, words.size() > 1 ? words[1] : words[0]}, std::chrono::steady_clock::now() + timeout);
  if (!answer) throw std::runtime_error(answer.error().code.message());
  return *answer;
}
template <class Transport>
std::int64_t number(Transport& transport, std::vector<std::string_view> const& words) {
  auto const r = say(transport, words);
  if (r.integers.size() != 1) throw std::runtime_error("not a number: " + r.text);
  return r.integers[0];
}

class server {
 public:
  explicit server(std::vector<std::string> settings = {}) : settings_(std::move(settings)) {
    std::string folder = (std::filesystem::temp_directory_path() / "penstock-redis-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = folder;
    for (int attempt = 0;; ++attempt) {  // another program may take the port first
      port_ = free_port();
      start();
      if (is_up(3s)) break;
      stop();
      if (attempt == 3) throw std::runtime_error("redis-server does not start");
    }
  }
  server(server const&) = delete;
  server& operator=(server const&) = delete;
  ~server() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::uint16_t port() const noexcept { return port_; }
  redis::endpoint at() const { return {.host = "127.0.0.1", .port = port_}; }
  std::string folder() const { return folder_.string(); }

  void start() {
    std::vector<std::string> words{
        "redis-server", "--port", std::to_string(port_), "--bind",  "127.0.0.1", "--dir", folder_.string(),
        "--save",       "",       "--loglevel",          "warning", "--logfile", "log"};
    words.insert(words.end(), settings_.begin(), settings_.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it never outlives the test
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    if (pid_ < 0) throw std::runtime_error("cannot fork");
  }
  /// As kill -9; also how it ends.
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void freeze() { ::kill(pid_, SIGSTOP); }
  void thaw() { ::kill(pid_, SIGCONT); }
  void restart() {
    stop();
    start();
    if (!is_up(5s)) throw std::runtime_error("redis-server does not come back");
  }

  bool is_up(std::chrono::nanoseconds patience) const {
    auto const until = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < until) {
      redis::hiredis_pool pool(at());
      std::string_view const ping[] = {"PING"};
      auto const answer = pool.execute({ping, ping[0]}, until);
      if (answer && answer->is != redis::reply::kind::nothing && !answer->says("LOADING")) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

 private:
  std::vector<std::string> settings_;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  ::pid_t pid_ = -1;
};

/// The one that most tests share, each under limit ids of its own.
inline server& shared_server() {
  static server one;
  return one;
}
inline redis::hiredis_pool& shared_pool() {
  static redis::hiredis_pool one(shared_server().at());
  return one;
}
/// A limit id that nobody used before.
inline std::string fresh_id(std::string name = "t") {
  static int count = 0;
  return name + std::to_string(++count);
}

}  // namespace test
