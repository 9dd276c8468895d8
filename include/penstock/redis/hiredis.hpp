#pragma once
// A transport over hiredis (0.14 or 1.x): https://github.com/redis/hiredis. Link penstock::redis.
//
// hiredis formats commands and reads replies; connecting, sending and receiving are done here, without blocking, under
// one absolute deadline. (Its synchronous calls were seen to return the previous call's reply after a timeout, and to
// die of SIGPIPE.)

#include <penstock/redis/cluster.hpp>
#include <penstock/redis/pool.hpp>
#include <penstock/redis/transport.hpp>

#include <hiredis/hiredis.h>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::inline v0_1::redis {

/// Where Redis is. A host that begins with '/' is a Unix socket. A name is resolved by the calling thread, without a
/// deadline: give an address, or a name that the machine resolves itself.
struct endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string user{}, password{};  ///< AUTH when there is a password
  unsigned database = 0;           ///< SELECT when not 0
#if HIREDIS_MAJOR >= 1
  /// For TLS: [tls](redisContext* c) { return redisInitiateSSLWithContext(c, tls); }, tls being a redisSSLContext*. The
  /// program must ignore SIGPIPE then, for OpenSSL does not say MSG_NOSIGNAL.
  std::function<int(redisContext*)> secure{};
#endif
};

namespace detail {

class hiredis_connection {
 public:
  static std::unique_ptr<hiredis_connection> begin(endpoint const& e, deadline connect_until) {
    context c(e.host.starts_with('/') ? redisConnectUnixNonBlock(e.host.c_str())
                                      : redisConnectNonBlock(e.host.c_str(), e.port));
    if (!c || c->err != 0) return nullptr;
    return std::unique_ptr<hiredis_connection>(new hiredis_connection(e, std::move(c), connect_until));
  }

  bool is_broken() const noexcept { return context_ == nullptr; }
  bool is_pending() const noexcept { return pending_ && std::chrono::steady_clock::now() < connect_until_; }
  bool has_input() const noexcept {
    pollfd p{context_->fd, POLLIN, 0};
    return ::poll(&p, 1, 0) != 0;
  }

  /// Finishes connecting. What is not done at the deadline goes on, up to the connection's own.
  std::optional<io_error> establish(deadline until) {
    if (!pending_) return {};
    deadline const last = std::min(until, connect_until_);
    if (!wait(POLLOUT, last)) {
      io_error const late{errc::timeout, sent::no};
      return last == connect_until_ ? fail(late.code, sent::no) : late;
    }
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(context_->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
      return fail(errc::refused, sent::no);
    pending_ = false;
#if HIREDIS_MAJOR >= 1
    if (endpoint_.secure && endpoint_.secure(context_.get()) != REDIS_OK) return fail(errc::refused, sent::no);
#endif
    if (!endpoint_.password.empty()) {
      std::vector<std::string_view> auth{"AUTH"};
      if (!endpoint_.user.empty()) auth.push_back(endpoint_.user);
      auth.push_back(endpoint_.password);
      if (auto const refused = greet(auth, until)) return refused;
    }
    if (endpoint_.database != 0) {
      std::string const number = std::to_string(endpoint_.database);
      return greet(std::array<std::string_view, 2>{"SELECT", number}, until);
    }
    return {};
  }

  /// Sends one command and waits for its one answer. Until all of it is sent it cannot have been carried out.
  result<reply> round_trip(std::span<std::string_view const> words, deadline until) {
    std::vector<char const*> text;
    std::vector<std::size_t> length;
    for (std::string_view const word : words) {
      text.push_back(word.data());
      length.push_back(word.size());
    }
    char* formatted = nullptr;
    auto const size = ::redisFormatCommandArgv(&formatted, static_cast<int>(words.size()), text.data(), length.data());
    if (size < 0) return fail(errc::bad_reply, sent::no);
    struct freed {
      char* command;
      ~freed() { ::redisFreeCommand(command); }
    } const owner{formatted};
    if (auto const failed = send_all({formatted, static_cast<std::size_t>(size)}, until)) return *failed;
    return receive(until);
  }

 private:
  struct close_context {
    void operator()(redisContext* c) const noexcept { ::redisFree(c); }
  };
  using context = std::unique_ptr<redisContext, close_context>;

  hiredis_connection(endpoint const& e, context c, deadline connect_until)
      : endpoint_(e), context_(std::move(c)), connect_until_(connect_until) {}

  io_error fail(std::error_code code, sent was) noexcept {
    context_.reset();  // whatever may still come over it is lost with it
    return {code, was};
  }

  bool secured() const noexcept {
#if HIREDIS_MAJOR >= 1
    return static_cast<bool>(endpoint_.secure);
#else
    return false;
#endif
  }

  /// False when the deadline comes first.
  bool wait(short events, deadline until) const noexcept {
    for (;;) {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
      if (left <= 0) return false;
      pollfd p{context_->fd, events, 0};
      int const ready = ::poll(&p, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return true;  // the next call says what is wrong
    }
  }

  std::optional<io_error> greet(std::span<std::string_view const> words, deadline until) {
    auto const answer = round_trip(words, until);
    if (!answer) return io_error{answer.error().code, sent::no};
    if (answer->is == reply::kind::error) return fail(classify(answer->text), sent::no);
    return {};
  }

  std::optional<io_error> send_all(std::string_view bytes, deadline until) {
    if (secured()) return send_secured(bytes, until);
    while (!bytes.empty()) {
      ssize_t const n = ::send(context_->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n >= 0)
        bytes.remove_prefix(static_cast<std::size_t>(n));
      else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait(POLLOUT, until)) return fail(errc::timeout, sent::no);
      } else if (errno != EINTR)
        return fail(errc::closed, sent::no);
    }
    return {};
  }
  std::optional<io_error> send_secured(std::string_view bytes, deadline until) {
    if (::redisAppendFormattedCommand(context_.get(), bytes.data(), bytes.size()) != REDIS_OK)
      return fail(errc::closed, sent::no);
    bool could_write = false;  // and yet nothing went out: TLS wants to read first, as it does in a handshake
    for (int done = 0;;) {
      if (::redisBufferWrite(context_.get(), &done) != REDIS_OK) return fail(errc::closed, sent::unknown);
      if (done != 0) return {};
      pollfd p{context_->fd, POLLOUT, 0};
      bool const can_write = ::poll(&p, 1, 0) > 0;
      if (!wait(can_write && could_write ? POLLIN : POLLIN | POLLOUT, until)) return fail(errc::timeout, sent::unknown);
      could_write = can_write;
    }
  }

  result<reply> receive(deadline until) {
    for (;;) {
      void* found = nullptr;
      if (::redisReaderGetReply(context_->reader, &found) != REDIS_OK) return fail(errc::bad_reply, sent::unknown);
      if (found != nullptr) return taken_over(static_cast<redisReply*>(found));
      auto const came = read_some();
      if (came == input::end) return fail(errc::closed, sent::unknown);
      if (came == input::none && !wait(POLLIN, until)) return fail(errc::timeout, sent::unknown);
    }
  }

  enum class input { some, none, end };

  /// Feeds the reader what there is.
  input read_some() {
    std::size_t const before = context_->reader->len;
    if (secured())
      return ::redisBufferRead(context_.get()) != REDIS_OK ? input::end
             : context_->reader->len > before              ? input::some
                                                           : input::none;
    std::array<char, 4096> bytes;
    ssize_t const n = ::recv(context_->fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0)
      return ::redisReaderFeed(context_->reader, bytes.data(), static_cast<std::size_t>(n)) == REDIS_OK ? input::some
                                                                                                        : input::end;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? input::none : input::end;
  }

  /// A reply, and nothing after it: more would answer a question that nobody asked.
  result<reply> taken_over(redisReply* found) {
    struct freed {
      redisReply* r;
      ~freed() { ::freeReplyObject(r); }
    } const owner{found};
    if (context_->reader->pos < context_->reader->len) return fail(errc::bad_reply, sent::unknown);
    reply r;
    switch (found->type) {
      case REDIS_REPLY_NIL:
        return r;
      case REDIS_REPLY_INTEGER:
        r.is = reply::kind::integers;
        r.integers.push_back(found->integer);
        return r;
      case REDIS_REPLY_STATUS:
      case REDIS_REPLY_STRING:
        r.is = reply::kind::text;
        break;
      case REDIS_REPLY_ERROR:
        r.is = reply::kind::error;
        break;
      case REDIS_REPLY_ARRAY:
        r.is = reply::kind::integers;
        for (std::size_t i = 0; i < found->elements; ++i) {
          if (found->element[i]->type != REDIS_REPLY_INTEGER) return fail(errc::bad_reply, sent::unknown);
          r.integers.push_back(found->element[i]->integer);
        }
        return r;
      default:
        return fail(errc::bad_reply, sent::unknown);
    }
    r.text.assign(found->str, static_cast<std::size_t>(found->len));
    if (r.says("ERR Protocol error"))
      context_.reset();  // the server closes too; so it greets long commands before AUTH
    return r;
  }

  endpoint endpoint_;
  context context_;
  deadline connect_until_;
  bool pending_ = true;
};

}  // namespace detail

/// A redis_transport to one server. Concurrency: safe from any thread.
class hiredis_pool {
 public:
  explicit hiredis_pool(endpoint e, pool_options const& o = pool_options{}) : pool_(std::move(e), o) {}

  result<reply> execute(command const& c, deadline until) { return pool_.run({}, c.words, until); }
  /// For a cluster whose slot is on the move: ASKING goes before it.
  result<reply> execute_asking(command const& c, deadline until) {
    std::string_view const asking[] = {"ASKING"};
    return pool_.run(asking, c.words, until);
  }
  pool_stats stats() const { return pool_.stats(); }

 private:
  detail::pool<detail::hiredis_connection, endpoint> pool_;
};
static_assert(redis_transport<hiredis_pool>);

/// A redis_transport to a cluster, from any of its nodes: hiredis_cluster({{.host = "10.0.0.5"}, {.host =
/// "10.0.0.6"}}).
using hiredis_cluster = cluster<hiredis_pool, endpoint, pool_options>;
static_assert(redis_transport<hiredis_cluster>);

}  // namespace penstock::inline v0_1::redis
