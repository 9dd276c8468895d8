// Replays an access log through each of the six algorithms: whom would this limit have refused?
//
//   02_access_log [--limit RATE] [FILE]

#include <penstock/penstock.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using time_point = penstock::manual_clock::time_point;
using std::chrono::seconds;

constexpr char usage[] =
    "usage: 02_access_log [--limit RATE] [FILE]\n"
    "  Replays FILE, an access log in Common Log Format, in the order of its times,\n"
    "  through a limiter of each of the six algorithms that counts per client.\n"
    "  FILE          - is standard input; without it, the log that comes with Penstock\n"
    "  --limit RATE  what each client may do: 10/min (without it), 5/s, \"100 per 15 minutes\"\n";

// ---- reading --------------------------------------------------------------------------------------------------------

/// Takes what is expected from the front of a text, piece by piece. False once something else was there.
class scanner {
 public:
  explicit scanner(std::string_view text) : rest_(text) {}
  explicit operator bool() const { return good_; }

  void require(bool holds) { good_ = good_ && holds; }

  std::string_view take(std::size_t length) {
    std::string_view const taken = rest_.substr(0, length);
    require(taken.size() == length);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void skip(std::string_view expected) { require(take(expected.size()) == expected); }
  std::string_view word() { return take(std::min(rest_.find(' '), rest_.size())); }

  /// Up to the next `mark` and past it.
  void skip_past(std::string_view mark) {
    take(std::min(rest_.find(mark), rest_.size()));
    skip(mark);
  }
  /// Up to a quote that no backslash escapes, and past it.
  void skip_quoted() {
    std::size_t length = 0;
    while (length < rest_.size() && rest_[length] != '"') length += rest_[length] == '\\' ? 2 : 1;
    take(length);
    skip("\"");
  }
  unsigned number(std::size_t digits) {
    std::string_view const taken = take(digits);
    unsigned value = 0;
    auto const [end, error] = std::from_chars(taken.data(), taken.data() + taken.size(), value);
    require(error == std::errc{} && end == taken.data() + taken.size());
    return value;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

/// "17/May/2015:10:05:03 +0000"
time_point read_time(scanner& text) {
  using namespace std::chrono;
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  unsigned const day_of_month = text.number(2);
  text.skip("/");
  std::size_t const month_at = months.find(text.take(3));
  text.skip("/");
  unsigned const full_year = text.number(4);
  text.skip(":");
  unsigned const hour = text.number(2);
  text.skip(":");
  unsigned const minute = text.number(2);
  text.skip(":");
  unsigned const second = text.number(2);
  text.skip(" ");
  std::string_view const sign = text.take(1);
  unsigned const zone_hours = text.number(2), zone_minutes = text.number(2);

  text.require(month_at < months.size() && month_at % 3 == 0 && full_year >= 1970 && full_year < 2200);
  text.require(hour < 24 && minute < 60 && second <= 60);  // 60: a leap second
  text.require((sign == "+" || sign == "-") && zone_hours < 24 && zone_minutes < 60);
  if (!text) return {};
  year_month_day const date{year{static_cast<int>(full_year)}, month{static_cast<unsigned>(month_at / 3 + 1)},
                            day{day_of_month}};
  text.require(date.ok());
  seconds const local = sys_days{date}.time_since_epoch() + hours{hour} + minutes{minute} + seconds{second};
  seconds const zone = hours{zone_hours} + minutes{zone_minutes};
  return time_point{sign == "+" ? local - zone : local + zone};
}

struct entry {
  std::string_view client;
  time_point time;
};

/// client identity user [time] "request" status bytes; more may follow, as in the combined format.
std::optional<entry> read_entry(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  scanner text(line);
  std::string_view const client = text.word();
  // It will be printed: nothing that a terminal would obey, and not longer than a host name can be.
  auto const is_printable = [](char c) { return c > ' ' && c <= '~'; };
  text.require(!client.empty() && client.size() <= 255 && std::all_of(client.begin(), client.end(), is_printable));
  text.skip(" ");
  text.skip_past(" [");
  time_point const time = read_time(text);
  text.skip("] \"");
  text.skip_quoted();
  text.skip(" ");
  text.number(3);
  text.skip(" ");
  std::string_view const bytes = text.word();
  text.require(bytes == "-" || (!bytes.empty() && bytes.find_first_not_of("0123456789") == bytes.npos));
  if (!text) return {};
  return entry{client, time};
}

struct request {
  time_point time;
  std::size_t line;
  std::size_t client;
  friend auto operator<=>(request const&, request const&) = default;
};

struct access_log {
  std::vector<std::string> clients;
  std::vector<request> requests;       ///< in the order of their times
  std::vector<std::size_t> malformed;  ///< lines
};

access_log read_log(std::istream& in) {
  access_log log;
  std::unordered_map<std::string, std::size_t> clients;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (auto const read = read_entry(line)) {
      auto const [known, is_new] = clients.try_emplace(std::string(read->client), log.clients.size());
      if (is_new) log.clients.push_back(known->first);
      log.requests.push_back({read->time, number, known->second});
    } else {
      log.malformed.push_back(number);
    }
  }
  if (in.bad()) throw std::runtime_error("cannot be read to its end");
  // A server stamps a request when it comes and writes the line when it is done, so lines stand out of order.
  std::sort(log.requests.begin(), log.requests.end());
  return log;
}

access_log read_log(std::string const& path) {
  if (path == "-") return read_log(std::cin);
  if (!std::filesystem::exists(path)) throw std::runtime_error("no such file");
  if (std::filesystem::is_directory(path)) throw std::runtime_error("is a folder, not a log");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot be opened");
  return read_log(in);
}

/// The log that comes with Penstock: below the folder where the program runs, or beside this source.
std::string default_path() {
  constexpr char here[] = "examples/data/access.log";
  if (std::filesystem::exists(here)) return here;
  return (std::filesystem::path(__FILE__).parent_path() / "data" / "access.log").string();
}

// ---- replaying ------------------------------------------------------------------------------------------------------

struct result {
  char const* algorithm;
  std::vector<std::size_t> refused{};  ///< of each client
  seconds longest_retry_after{}, longest_delay{};
  std::uint64_t evictions = 0;
};

template <class Algorithm>
result replay(char const* name, access_log const& log, penstock::rate limit) {
  // A limiter measures time from its clock's reading at construction: the middle of the log, not today.
  penstock::manual_clock const clock(log.requests.empty() ? time_point{} : log.requests[log.requests.size() / 2].time);
  // Room to spare, so that no client's answers depend on how many others there are.
  penstock::store_options const options{.max_keys = 4 * log.clients.size() + 1024};
  penstock::limiter<Algorithm, std::string, penstock::manual_clock> per_client({limit}, options, clock);

  result r{name, std::vector<std::size_t>(log.clients.size())};
  for (request const& asked : log.requests) {
    auto const d = per_client.allow_at(asked.time, log.clients[asked.client]);
    if (!d) ++r.refused[asked.client];
    r.longest_retry_after = std::max(r.longest_retry_after, ceil<seconds>(d.retry_after));
    r.longest_delay = std::max(r.longest_delay, ceil<seconds>(d.delay));
  }
  r.evictions = per_client.stats().evictions;
  return r;
}

// ---- telling --------------------------------------------------------------------------------------------------------

void tell_what_was_read(access_log const& log, std::string const& path, std::string const& limit) {
  std::printf("%s: %zu requests of %zu clients, each allowed %s\n", path == "-" ? "standard input" : path.c_str(),
              log.requests.size(), log.clients.size(), limit.c_str());

  if (log.malformed.empty()) return;
  std::printf("malformed, and left out: %zu lines, number", log.malformed.size());
  std::size_t const listed = std::min<std::size_t>(log.malformed.size(), 5);
  for (std::size_t i = 0; i < listed; ++i) std::printf("%s %zu", i == 0 ? "" : ",", log.malformed[i]);
  std::puts(log.malformed.size() > listed ? ", ..." : "");
}

template <std::size_t N>
void tell_results(access_log const& log, std::array<result, N> const& results) {
  std::printf("\n%-15s %10s %10s %20s %15s\n", "algorithm", "admitted", "refused", "longest Retry-After",
              "longest delay");
  for (auto const& r : results) {
    std::size_t const refused = std::accumulate(r.refused.begin(), r.refused.end(), std::size_t{0});
    std::printf("%-15s %10zu %10zu %18lld s %13lld s\n", r.algorithm, log.requests.size() - refused, refused,
                static_cast<long long>(r.longest_retry_after.count()), static_cast<long long>(r.longest_delay.count()));
    if (r.evictions != 0)
      std::printf("%15s (its table was too full: %llu live clients were dropped)\n", "",
                  static_cast<unsigned long long>(r.evictions));
  }
}

template <std::size_t N>
void tell_clients_refused_most(access_log const& log, std::array<result, N> const& results) {
  std::size_t const clients = log.clients.size();
  std::vector<std::size_t> requests(clients), refused(clients), order(clients);
  for (auto const& r : log.requests) ++requests[r.client];
  for (auto const& r : results)
    std::transform(refused.begin(), refused.end(), r.refused.begin(), refused.begin(), std::plus<>{});
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t const listed = std::min<std::size_t>(clients, 5);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(listed), order.end(),
                    [&](std::size_t a, std::size_t b) { return std::pair(refused[b], a) < std::pair(refused[a], b); });
  order.resize(listed);
  if (order.empty() || refused[order.front()] == 0) return;

  std::printf("\n%-20s %8s %8s %6s %8s %7s %6s %6s\n", "refused most", "requests", "window", "log", "counter", "bucket",
              "meter", "queue");
  for (std::size_t const client : order) {
    if (refused[client] == 0) break;
    std::printf("%-20s %8zu", log.clients[client].c_str(), requests[client]);
    constexpr std::array width{8, 6, 8, 7, 6, 6};
    for (std::size_t i = 0; i < N; ++i) std::printf(" %*zu", width[i], results[i].refused[client]);
    std::puts("");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, limit = "10/min";
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument = argv[i];
    if (argument == "--help") {
      std::fputs(usage, stdout);
      return 0;
    }
    if (argument == "--limit" && i + 1 < argc) {
      limit = argv[++i];
    } else if (path.empty() && (argument == "-" || !argument.starts_with('-'))) {
      path = argument;
    } else {
      std::fputs(usage, stderr);
      return 2;
    }
  }

  try {
    penstock::rate const rate = penstock::parse_rate(limit);
    if (path.empty()) path = default_path();
    access_log const log = read_log(path);
    namespace algorithm = penstock::algorithm;
    std::array const results{
        replay<algorithm::fixed_window>("fixed_window", log, rate),
        replay<algorithm::sliding_log>("sliding_log", log, rate),
        replay<algorithm::sliding_counter>("sliding_counter", log, rate),
        replay<algorithm::token_bucket>("token_bucket", log, rate),
        replay<algorithm::leaky_meter>("leaky_meter", log, rate),
        replay<algorithm::leaky_queue>("leaky_queue", log, rate),
    };
    tell_what_was_read(log, path, limit);
    tell_results(log, results);
    tell_clients_refused_most(log, results);
  } catch (penstock::config_error const& e) {
    std::fprintf(stderr, "02_access_log: %s\n", e.what());
    return 2;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "02_access_log: %s: %s\n", path.c_str(), e.what());
    return 2;
  }
}
