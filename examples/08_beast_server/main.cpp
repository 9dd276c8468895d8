// The server of example 07 on Boost.Beast, with the same middleware: one thread for each connection.
//
// Beast reads the head of a request by itself, so a refused body is never even received.

#include "../07_http_server/gate.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace beast = boost::beast;
namespace limits = penstock::http;
using boost::asio::ip::tcp;

namespace {

using head_parser = beast::http::request_parser<beast::http::empty_body>;
using answer = beast::http::response<beast::http::string_body>;

std::string_view view(auto const& text) { return {text.data(), text.size()}; }

request_head head_of(head_parser::value_type const& request, tcp::endpoint const& peer, limits::trusted_proxies const& trusted) {
  std::vector<std::string_view> lines;
  auto const [first, last] = request.equal_range("X-Forwarded-For");
  for (auto line = first; line != last; ++line) lines.push_back(view(line->value()));
  auto const address = limits::ip_address::parse(peer.address().to_string()).value_or(limits::ip_address{});
  auto const path = view(request.target());
  return {limits::address_key(limits::caller_from_x_forwarded_for(address, lines, trusted).address), view(request.method_string()),
          path.substr(0, path.find('?')), {}};
}

answer route(std::string_view method, std::string_view path, std::string_view body) {
  if (method == "GET" && path == "/") return {beast::http::status::ok, 11, "hello\n"};
  if (method == "POST" && path == "/login") return {beast::http::status::ok, 11, std::to_string(body.size()) + " bytes read\n"};
  return {beast::http::status::not_found, 11};
}

void converse(tcp::socket socket, gate<std::chrono::steady_clock>& gate) try {
  limits::trusted_proxies const nobody;
  beast::flat_buffer buffer;
  for (bool open = true; open;) {
    head_parser head;
    beast::http::read_header(socket, buffer, head);
    request_head const asked = head_of(head.get(), socket.remote_endpoint(), nobody);
    std::string const method(asked.method), path(asked.path);
    open = head.get().keep_alive();

    limits::response const said = gate.admit(asked);
    answer out;
    if (said.status == 200) {
      if (view(head.get()[beast::http::field::expect]) == "100-continue")
        beast::http::write(socket, beast::http::response<beast::http::empty_body>(beast::http::status::continue_, 11));
      beast::http::request_parser<beast::http::string_body> whole(std::move(head));
      beast::http::read(socket, buffer, whole);
      out = route(method, path, whole.get().body());
    } else {
      out = answer(beast::http::int_to_status(static_cast<unsigned>(said.status)), 11, said.body);
      open = open && head.is_done();  // what is left of the body is not the next request
    }
    for (auto const& [name, value] : said.fields) out.set(name, value);
    out.keep_alive(open);
    out.prepare_payload();
    beast::http::write(socket, out);
  }
  socket.shutdown(tcp::socket::shutdown_send);
} catch (boost::system::system_error const& e) {
  if (e.code() != beast::http::error::end_of_stream) std::cerr << e.what() << '\n';
}

}  // namespace

int main() {
  gate<std::chrono::steady_clock> gate{std::chrono::steady_clock{}};
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::make_address("127.0.0.1"), 0});
  std::cout << "listening on " << acceptor.local_endpoint() << std::endl;
  for (;;) std::thread(converse, acceptor.accept(), std::ref(gate)).detach();
}
