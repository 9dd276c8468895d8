// An HTTP server on cpp-httplib whose clients are limited by address, by API key and by endpoint.
//
//   07_http_server [--port N] [--trust NETWORK]... [--times N | --unlimited] [--clock stdin]
//
// GET / 100 a minute, GET /export 25 times as dear, POST /login 10 in 15 minutes, GET /metrics. Requests are refused
// before their body is read. With --clock stdin, time stands still until a line says how many milliseconds have passed.

#include "gate.hpp"

#include <httplib.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace http = penstock::http;

namespace {

struct options {
  int port = 0;  ///< 0: whichever is free
  http::trusted_proxies trusted;
  std::uint64_t times = 1;
  bool unlimited = false, clock_on_stdin = false;
};

/// In a real service this is a look-up; what matters is that an unknown key is nobody's.
std::optional<std::string_view> principal_of(std::string const& api_key) {
  if (api_key == "ann-4e1f") return "ann";
  if (api_key == "bob-77c0") return "bob";
  return {};
}

http::ip_address address_of(httplib::Request const& request, http::trusted_proxies const& trusted) {
  std::vector<std::string_view> lines;
  auto const [first, last] = request.headers.equal_range("X-Forwarded-For");
  for (auto line = first; line != last; ++line) lines.push_back(line->second);
  auto const peer = http::ip_address::parse(request.remote_addr).value_or(http::ip_address{});
  return http::caller_from_x_forwarded_for(peer, lines, trusted).address;
}

/// Turns a refusal into this framework's response. If there is a body, it stays unread, and what comes next on the
/// connection is no request: a content provider that fails at its end makes cpp-httplib close it.
void answer(httplib::Request const& request, httplib::Response& response, http::response const& refusal) {
  response.status = refusal.status;
  for (auto const& [name, value] : refusal.fields)
    if (name != "Content-Type") response.set_header(name, value);
  constexpr char type[] = "application/problem+json";
  if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding"))
    return response.set_content(refusal.body, type);
  response.set_header("Connection", "close");
  response.set_content_provider(refusal.body.size(), type, [body = refusal.body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
    sink.write(body.data() + offset, length);
    return false;
  });
}

template <penstock::clock_source Clock>
int serve(options const& chosen, Clock clock) {
  gate<Clock> limits(std::move(clock), chosen.times);
  httplib::Server server;
  server.set_keep_alive_max_count(1'000'000);
  server.set_tcp_nodelay(true);  // head and body are written apart

  // True if the request may go on.
  auto const admit = [&](httplib::Request const& request, httplib::Response& response) {
    if (chosen.unlimited || request.path == "/metrics") return true;
    auto const api_key = request.get_header_value("X-Api-Key");
    auto const said = limits.admit({http::address_key(address_of(request, chosen.trusted)), request.method, request.path, principal_of(api_key)});
    if (said.status != 200) return answer(request, response, said), false;
    for (auto const& [name, value] : said.fields) response.set_header(name, value);
    return true;
  };
  // A client that asks before it sends a large body is answered here, and once.
  server.set_expect_100_continue_handler([&](httplib::Request const& request, httplib::Response& response) {
    if (admit(request, response)) return 100;
    response.set_header("Content-Length", std::to_string(response.content_length_));
    return response.status;
  });
  server.set_pre_routing_handler([&](httplib::Request const& request, httplib::Response& response) {
    bool const asked = response.has_header("RateLimit");
    return asked || admit(request, response) ? httplib::Server::HandlerResponse::Unhandled : httplib::Server::HandlerResponse::Handled;
  });

  server.Get("/", [](httplib::Request const&, httplib::Response& response) { response.set_content("hello\n", "text/plain"); });
  server.Get("/export", [](httplib::Request const&, httplib::Response& response) { response.set_content("1,2,3\n", "text/csv"); });
  server.Post("/login", [](httplib::Request const&, httplib::Response& response) { response.set_content("wrong password\n", "text/plain"); });
  server.Get("/metrics", [&](httplib::Request const&, httplib::Response& response) { response.set_content(limits.metrics(), "text/plain; version=0.0.4"); });

  int const port = chosen.port == 0 ? server.bind_to_any_port("127.0.0.1") : server.bind_to_port("127.0.0.1", chosen.port) ? chosen.port : -1;
  if (port < 0) throw std::runtime_error("cannot listen on 127.0.0.1:" + std::to_string(chosen.port));
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  return server.listen_after_bind() ? EXIT_SUCCESS : EXIT_FAILURE;
}

options read(int argc, char** argv) {
  options chosen;
  for (int i = 1; i < argc; ++i) {
    std::string_view const option = argv[i];
    if (option == "--unlimited") {
      chosen.unlimited = true;
    } else if (i + 1 == argc) {
      throw std::invalid_argument("what is " + std::string(option) + "?");
    } else if (std::string_view const value = argv[++i]; option == "--port") {
      chosen.port = std::stoi(argv[i]);
    } else if (option == "--trust") {
      auto const network = http::ip_network::parse(value);
      if (!network) throw std::invalid_argument(std::string(value) + " is not a network");
      chosen.trusted.networks.push_back(*network);
    } else if (option == "--times") {
      chosen.times = std::stoull(argv[i]);
    } else if (option == "--clock" && value == "stdin") {
      chosen.clock_on_stdin = true;
    } else {
      throw std::invalid_argument("what is " + std::string(option) + "?");
    }
  }
  return chosen;
}

}  // namespace

int main(int argc, char** argv) try {
  options const chosen = read(argc, argv);
  if (!chosen.clock_on_stdin) return serve(chosen, std::chrono::steady_clock{});
  penstock::manual_clock clock;
  std::thread([clock]() mutable {
    for (std::int64_t milliseconds; std::cin >> milliseconds;) {
      clock.advance(std::chrono::milliseconds{milliseconds});
      std::cout << clock.now().time_since_epoch() / std::chrono::milliseconds{1} << " ms" << std::endl;
    }
  }).detach();
  return serve(chosen, clock);
} catch (std::exception const& e) {
  std::cerr << "07_http_server: " << e.what() << '\n';
  return 2;
}
