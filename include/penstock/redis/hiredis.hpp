#pragma once
// A transport over hiredis (0.14 or 1.x): https://github.com/redis/hiredis. Link penstock::redis.
//
// hiredis reads replies and speaks TLS; connecting, sending and receiving are done here, without blocking, under one
// absolute deadline. (Its synchronous calls were seen to return the previous call's reply after a timeout, and to
// die of SIGPIPE.)

#include <penstock/redis/cluster.hpp>
#include <penstock/redis/pool.hpp>
#include <penstock/redis/transport.hpp>
#include <penstock/redis/words.hpp>

#include <hiredis/hiredis.h>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
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
  bool is_pending() const noexcept { return stage_ != stage::ready; }
  bool is_overdue(deadline now) const noexcept { return is_pending() && now >= connect_until_; }
  bool has_input() const noexcept { return is_now(POLLIN); }

  /// Finishes connecting and greeting. What is not done at the deadline goes on, up to the connection's own.
  std::optional<io_error> establish(deadline until) {
    while (is_pending()) {
      auto const awaited = advance();
      if (!awaited) return awaited.error();
      deadline const last = std::min(until, connect_until_);
      if (*awaited == nothing || wait(*awaited, last)) continue;
      if (last == connect_until_) return fail(errc::timeout, sent::no);
      return io_error{errc::timeout, sent::no};
    }
    return {};
  }
  /// One look at a connection whose time is over. If the network has brought it further, it has until then to end.
  bool came_through(deadline until) {
    if (!is_now(stage_ == stage::connecting ? POLLOUT : POLLIN) || !advance()) return false;
    connect_until_ = until;
    return true;
  }

  /// Sends one command and waits for its one answer, a text of answer_size bytes (0: anything) or an error. Until all
  /// of it is sent it cannot have been carried out.
  result<reply> round_trip(std::span<std::string_view const> words, std::size_t answer_size, deadline until) {
    std::string bytes;
    append_command(bytes, words);
    if (auto const failed = send_all(bytes, until)) return *failed;
    auto answer = receive(until);
    if (!answer || answer->is == reply::kind::error || answer_size == 0) return answer;
    if (answer->is != reply::kind::text || answer->text.size() != answer_size)
      return fail(errc::bad_reply, sent::unknown);
    return answer;
  }

 private:
  struct close_context {
    void operator()(redisContext* c) const noexcept { ::redisFree(c); }
  };
  using context = std::unique_ptr<redisContext, close_context>;
  static constexpr short nothing = 0;

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

  bool is_now(short events) const noexcept {
    pollfd p{context_->fd, events, 0};
    int ready = 0;
    do ready = ::poll(&p, 1, 0);
    while (ready < 0 && errno == EINTR);
    return ready != 0;
  }
  /// False when the deadline comes first. (What else ends the wait, the next call finds out.)
  bool wait(short events, deadline until) const noexcept {
    for (;;) {
      std::chrono::nanoseconds const left = until - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      pollfd p{context_->fd, events, 0};
#if defined(__linux__)
      constexpr std::chrono::seconds one{1};
      timespec const t{static_cast<std::time_t>(left / one), static_cast<long>((left % one).count())};
      int const ready = ::ppoll(&p, 1, &t, nullptr);
#else
      auto const milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      int const ready = ::poll(&p, 1, static_cast<int>(std::min<std::int64_t>(milliseconds, 60'000)));
#endif
      if (ready > 0 || (ready < 0 && errno != EINTR)) return std::chrono::steady_clock::now() < until;
    }
  }

  /// Goes on with connecting and greeting as far as it goes without waiting: what to wait for, or nothing.
  result<short> advance() {
    if (stage_ == stage::connecting) {
      if (!is_now(POLLOUT)) return short{POLLOUT};
      int error = 0;
      socklen_t size = sizeof error;
      if (::getsockopt(context_->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
        return fail(errc::refused, sent::no);
#if HIREDIS_MAJOR >= 1
      if (endpoint_.secure && endpoint_.secure(context_.get()) != REDIS_OK) return fail(errc::refused, sent::no);
#endif
      if (!compose_greeting()) return fail(errc::bad_reply, sent::no);
      stage_ = stage::greeting;
    }
    if (!unsent_.empty()) {
      std::string_view left = unsent_;
      auto const awaited = write(left);
      if (!awaited) return io_error{awaited.error().code, sent::no};
      unsent_.erase(0, unsent_.size() - left.size());
      if (*awaited != nothing) return *awaited;
    }
    while (answers_due_ != 0) {
      auto const answer = next_reply();
      if (!answer) return io_error{answer.error().code, sent::no};
      if (!*answer) return short{POLLIN};
      --answers_due_;
      if ((*answer)->is == reply::kind::error && must_succeed_) return fail(classify((*answer)->text), sent::no);
      if (is_broken()) return io_error{errc::closed, sent::no};
    }
    stage_ = stage::ready;
    return nothing;
  }

  /// What is said before the first command, in one go: AUTH and SELECT as far as needed. TLS without either says PING,
  /// whatever the answer: so that it is the greeting that waits for the handshake, and no command.
  bool compose_greeting() {
    auto const say = [&](std::span<std::string_view const> words) {
      append_command(unsent_, words);
      ++answers_due_;
    };
    if (!endpoint_.password.empty()) {
      std::vector<std::string_view> auth{"AUTH", endpoint_.password};
      if (!endpoint_.user.empty()) auth.insert(auth.begin() + 1, endpoint_.user);
      say(auth);
    }
    std::string const number = std::to_string(endpoint_.database);
    if (endpoint_.database != 0) say(std::array<std::string_view, 2>{"SELECT", number});
    must_succeed_ = answers_due_ != 0;
    if (secured() && answers_due_ == 0) say(std::array<std::string_view, 1>{"PING"});
    return !secured() || hand_over(unsent_);
  }

  std::optional<io_error> send_all(std::string_view bytes, deadline until) {
    if (secured() && !hand_over(bytes)) return fail(errc::closed, sent::no);
    for (;;) {
      auto const awaited = write(bytes);
      if (!awaited) return awaited.error();
      if (*awaited == nothing) return {};
      if (!wait(*awaited, until)) return fail(errc::timeout, secured() ? sent::unknown : sent::no);
    }
  }

  /// Sends as much of it as goes without waiting, and cuts that off: what to wait for, or nothing, as all is out. Over
  /// TLS hiredis has it already, and tells only when all is out.
  result<short> write(std::string_view& bytes) {
    if (secured()) return write_secured(bytes);
    while (!bytes.empty()) {
      ssize_t const n = ::send(context_->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n >= 0)
        bytes.remove_prefix(static_cast<std::size_t>(n));
      else if (errno == EAGAIN || errno == EWOULDBLOCK)
        return short{POLLOUT};
      else if (errno != EINTR)
        return fail(errc::closed, sent::no);
    }
    return nothing;
  }
  result<short> write_secured(std::string_view& bytes) {
    int done = 0;
    if (::redisBufferWrite(context_.get(), &done) != REDIS_OK) return fail(errc::closed, sent::unknown);
    bool const could_write = std::exchange(could_write_, done == 0 && is_now(POLLOUT));
    if (done == 0) return could_write && could_write_ ? short{POLLIN} : short{POLLIN | POLLOUT};
    bytes = {};
    return nothing;
  }
  bool hand_over(std::string_view bytes) {
    return ::redisAppendFormattedCommand(context_.get(), bytes.data(), bytes.size()) == REDIS_OK;
  }

  result<reply> receive(deadline until) {
    for (;;) {
      auto answer = next_reply();
      if (!answer) return answer.error();
      if (*answer) return std::move(**answer);
      if (!wait(POLLIN, until)) return fail(errc::timeout, sent::unknown);
    }
  }
  /// The next reply, if all of it has come.
  result<std::optional<reply>> next_reply() {
    for (;;) {
      void* found = nullptr;
      if (::redisReaderGetReply(context_->reader, &found) != REDIS_OK) return fail(errc::bad_reply, sent::unknown);
      if (found != nullptr) {
        auto answer = taken_over(static_cast<redisReply*>(found));
        if (!answer) return answer.error();
        return std::optional<reply>(std::move(*answer));
      }
      auto const came = read_some();
      if (came == input::end) return fail(errc::closed, sent::unknown);
      if (came == input::none) return std::optional<reply>();
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

  /// A reply, and after the last one nothing: more would answer a question that nobody asked.
  result<reply> taken_over(redisReply* found) {
    struct freed {
      redisReply* r;
      ~freed() { ::freeReplyObject(r); }
    } const owner{found};
    if (answers_due_ <= 1 && context_->reader->pos < context_->reader->len) return fail(errc::bad_reply, sent::unknown);
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
    if (r.says("ERR Protocol error") || r.says("ERR max number of clients"))
      context_.reset();  // the server closes too; so it greets long commands before AUTH, and one client too many
    return r;
  }

  endpoint endpoint_;
  context context_;
  deadline connect_until_;
  enum class stage { connecting, greeting, ready } stage_ = stage::connecting;
  // The greeting: what is not sent yet, answers still due, and whether they must not be errors.
  std::string unsent_;
  unsigned answers_due_ = 0;
  bool must_succeed_ = false;
  bool could_write_ = false;  ///< and yet nothing went out: TLS wants to read first, as it does in a handshake
};

}  // namespace detail

/// A redis_transport to one server. Concurrency: safe from any thread.
class hiredis_pool {
 public:
  explicit hiredis_pool(endpoint e, pool_options const& o = pool_options{}) : pool_(std::move(e), o) {}

  result<reply> execute(command const& c, deadline until) { return pool_.run({}, c, until); }
  /// For a cluster whose slot is on the move: ASKING goes before it.
  result<reply> execute_asking(command const& c, deadline until) {
    std::string_view const asking[] = {"ASKING"};
    return pool_.run(asking, c, until);
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
