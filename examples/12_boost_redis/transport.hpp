#pragma once
// A redis_transport over Boost.Redis (1.86 or later): one connection that all threads' commands share, run by a thread
// of its own. Its program compiles the library in one file: #include <boost/redis/src.hpp>.
//
// What it must not do is to send a command again after a reconnect, which would count twice: the two cancel_ settings
// say so, whatever the defaults of a version are. And a call that ends at its deadline after its command was written
// closes the connection, with all other calls that wait on it: Boost.Redis has no other way to forget a reply.

#include <penstock/redis/transport.hpp>

#include <boost/asio/cancel_at.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/redis/connection.hpp>

#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <thread>

class boost_redis {
 public:
  explicit boost_redis(boost::redis::config const& to) : connection_(context_) {
    connection_.async_run(to, {boost::redis::logger::level::disabled}, boost::asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  boost_redis(boost_redis const&) = delete;
  boost_redis& operator=(boost_redis const&) = delete;
  ~boost_redis() {
    boost::asio::dispatch(context_, [this] { connection_.cancel(); });
    thread_.join();
  }

  penstock::redis::result<penstock::redis::reply> execute(penstock::redis::command const& c,
                                                          penstock::redis::deadline until) {
    boost::redis::request request(
        {.cancel_on_connection_lost = true, .cancel_if_not_connected = true, .cancel_if_unresponded = true});
    request.push_range(c.words.front(), c.words.begin() + 1, c.words.end());
    boost::redis::generic_response found;
    std::promise<boost::system::error_code> done;
    boost::asio::steady_timer timer(context_);
    boost::asio::dispatch(context_, [&] {
      auto const told = [&](boost::system::error_code e, std::size_t) { done.set_value(e); };
      connection_.async_exec(request, found, boost::asio::cancel_at(timer, until, told));
    });
    using penstock::redis::errc, penstock::redis::io_error, penstock::redis::sent;
    if (auto const e = done.get_future().get()) {
      if (e == boost::redis::error::not_connected) return io_error{errc::refused, sent::no};
      bool const late = std::chrono::steady_clock::now() >= until;
      return io_error{late ? errc::timeout : errc::closed, sent::unknown};
    }
    auto answer = reply_of(found);
    if (answer && is_answer(*answer, c)) return answer;
    // Not from whom we asked: the connection is closed, and made anew.
    boost::asio::dispatch(context_, [this] { connection_.cancel(boost::redis::operation::run); });
    return io_error{errc::bad_reply, sent::unknown};
  }

 private:
  static bool is_answer(penstock::redis::reply const& r, penstock::redis::command const& to) {
    using kind = penstock::redis::reply::kind;
    return r.is == kind::error || to.answer_size == 0 || (r.is == kind::text && r.text.size() == to.answer_size);
  }
  static penstock::redis::result<penstock::redis::reply> reply_of(boost::redis::generic_response const& found) {
    using penstock::redis::reply, boost::redis::resp3::type;
    if (!found.has_value()) return reply{reply::kind::error, {}, found.error().diagnostic};
    reply r;
    for (auto const& node : found.value()) switch (node.data_type) {
        case type::array:
          r.is = reply::kind::integers;
          break;
        case type::number:
          r.is = reply::kind::integers;
          r.integers.push_back(std::stoll(node.value));
          break;
        case type::simple_string:
        case type::blob_string:
          r.is = reply::kind::text;
          r.text = node.value;
          break;
        case type::null:
          break;
        default:
          return penstock::redis::io_error{penstock::redis::errc::bad_reply, penstock::redis::sent::unknown};
      }
    return r;
  }

  boost::asio::io_context context_{1};
  boost::redis::connection connection_;
  std::thread thread_;
};
static_assert(penstock::redis::redis_transport<boost_redis>);
