// TLS, where hiredis can (1.0 or later, and its hiredis_ssl): a server with a certificate that the test makes itself.

#include "support/subject.hpp"

#include <support/catch.hpp>

#if PENSTOCK_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>

using namespace test;

namespace {

/// An authority and a server's certificate signed by it, in a folder of their own.
struct certificates {
  certificates() {
    std::string made = (std::filesystem::temp_directory_path() / "penstock-tls-XXXXXX").string();
    REQUIRE(::mkdtemp(made.data()) != nullptr);
    folder = made;
    std::string const ec = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 ";
    run("req -x509" + ec + "-keyout ca.key -out ca.crt -subj /CN=authority");
    run("req -x509" + ec + "-keyout other.key -out other.crt -subj /CN=stranger");
    run("req" + ec + "-keyout server.key -out server.csr -subj /CN=127.0.0.1");
    run("x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out server.crt");
  }
  ~certificates() { std::filesystem::remove_all(folder); }
  std::string path(std::string const& name) const { return (folder / name).string(); }
  void run(std::string const& what) const {
    std::string const line = "cd '" + folder.string() + "' && openssl " + what + " >openssl.log 2>&1";
    REQUIRE(std::system(line.c_str()) == 0);
  }
  std::filesystem::path folder;
};

/// A server that speaks TLS at one port, and plainly at another, for whoever watches.
struct tls_server {
  explicit tls_server()
      : port(free_port()),
        plain({"--tls-port", std::to_string(port), "--tls-cert-file", made.path("server.crt"), "--tls-key-file",
               made.path("server.key"), "--tls-ca-cert-file", made.path("ca.crt"), "--tls-auth-clients", "no"}) {}

  redis::endpoint at(redisSSLContext* context) const {
    redis::endpoint e{.host = "127.0.0.1", .port = port};
    e.secure = [context](redisContext* c) { return ::redisInitiateSSLWithContext(c, context); };
    return e;
  }
  certificates made;
  std::uint16_t port;
  server plain;
};

struct free_context {
  void operator()(redisSSLContext* c) const noexcept { ::redisFreeSSLContext(c); }
};
auto trusting(std::string const& authority) {
  std::signal(SIGPIPE, SIG_IGN);
  ::redisInitOpenSSL();
  redisSSLContextError error{};
  std::unique_ptr<redisSSLContext, free_context> context(
      ::redisCreateSSLContext(authority.c_str(), nullptr, nullptr, nullptr, nullptr, &error));
  REQUIRE(context != nullptr);
  return context;
}

}  // namespace

TEST_CASE("over TLS: the same answers, one connection, long commands and replies too") {
  tls_server server;
  auto const context = trusting(server.made.path("ca.crt"));
  subject s(server.at(context.get()), {}, settings(5s));
  s.limit = 5s;
  for (std::uint64_t left = 100; left-- > 0;) check_admitted(s.ask(), left);
  CHECK(s.ask().outcome == verdict::limited);
  CHECK(s.pool.stats().made == 1);
  CHECK(used(server.plain) == 100);
  std::string const large(3'000'000, 'x');  // more than a socket takes at once, and many TLS records
  CHECK(say(s.pool, {"SET", "large", large}, 10s).text == "OK");
  CHECK(say(s.pool, {"GET", "large"}, 10s).text == large);
}

TEST_CASE("over TLS: a server that nobody vouches for gets no command") {
  tls_server server;
  auto const context = trusting(server.made.path("other.crt"));
  subject s(server.at(context.get()), {}, settings(2s));
  s.limit = 2s;
  auto const d = s.ask();
  CHECK(d.from == redis::origin::policy);
  CHECK(d.error);
  CHECK(d.outcome == verdict::limited);
  CHECK(s.took < 2s);
  CHECK(s.pool.stats().open == 0);
  CHECK(s.limited.stats().maybe_counted == 0);  // it failed before any command
  CHECK(used(server.plain) == 0);
}

TEST_CASE(
    "over TLS: a frozen server is waited for until the deadline, in the handshake and after it, without spinning") {
  tls_server server;
  auto const context = trusting(server.made.path("ca.crt"));
  subject s(server.at(context.get()), {}, settings(2s));
  s.limit = 2s;
  check_admitted(s.ask(), 99);
  subject hasty(server.at(context.get()));
  server.plain.freeze();
  check_degraded(hasty.ask(), redis::errc::timeout);  // it never shook hands
  hasty.check_waited();
  CHECK(hasty.limited.stats().maybe_counted == 0);
  server.plain.thaw();
  hasty.limit = 2s;
  check_admitted(
      redis_limiter(hasty.pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, settings(2s)).allow("k"),
      98);
  server.plain.freeze();
  hasty.limit = timeout;
  check_degraded(hasty.ask(), redis::errc::timeout);  // it had
  hasty.check_waited();
  server.plain.thaw();
  CHECK(hasty.limited.stats().maybe_counted == 1);
  CHECK(hasty.pool.stats().open == 0);
}

TEST_CASE("over TLS: a handshake goes on when the call's deadline comes first") {
  tls_server server;
  auto const context = trusting(server.made.path("ca.crt"));
  subject s(server.at(context.get()), {.connect_timeout = 1h});
  server.plain.freeze();
  for (int call = 0; call < 2; ++call) {
    check_degraded(s.ask(), redis::errc::timeout);
    s.check_waited();
    CHECK(s.pool.stats().idle == 1);
  }
  server.plain.thaw();
  check_admitted(
      redis_limiter(s.pool, "f", {.refill = "100/10 d"_rate}, redis::fail_closed{told}, settings(5s)).allow("k"), 99);
  CHECK(s.pool.stats().made == 1);
  CHECK(s.limited.stats().maybe_counted == 0);
}

TEST_CASE("over TLS: AUTH and SELECT, also where PING is not permitted") {
  tls_server server;
  auto const context = trusting(server.made.path("ca.crt"));
  redis::hiredis_pool admin(server.plain.at());
  REQUIRE(say(admin, {"ACL", "SETUSER", "default", "-ping"}).text == "OK");
  auto at = server.at(context.get());
  subject nobody(at, {}, settings(5s));
  nobody.limit = 5s;
  check_admitted(nobody.ask(), 99);
  say(admin, {"CONFIG", "SET", "requirepass", "right"});
  at.password = "wrong";
  subject wrong(at, {}, settings(5s));
  wrong.limit = 5s;
  check_degraded(wrong.ask(), redis::errc::misconfigured);
  CHECK(wrong.pool.stats().made == 1);
  at.password = "right";
  at.database = 3;
  subject right(at, {}, settings(5s));
  right.limit = 5s;
  check_admitted(right.ask(), 99);
  check_admitted(right.ask(), 98);
  CHECK(right.pool.stats().made == 1);
}

TEST_CASE("over TLS: killed in mid-connection") {
  tls_server server;
  auto const context = trusting(server.made.path("ca.crt"));
  subject s(server.at(context.get()), {}, settings(2s));
  s.limit = 2s;
  check_admitted(s.ask(), 99);
  server.plain.stop();
  check_degraded(s.ask(), redis::errc::closed);
  CHECK(s.pool.stats().open == 0);
  check_degraded(s.ask(), redis::errc::refused);
}

#else

TEST_CASE("TLS") {
  WARN("skipped: TLS needs hiredis 1.0 or later with hiredis_ssl; this is " << HIREDIS_MAJOR << '.' << HIREDIS_MINOR);
}

#endif
