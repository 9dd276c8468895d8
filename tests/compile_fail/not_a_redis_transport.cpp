// A transport that does not say whether the command may have run is none: the limiter could not tell what to repeat.
// expect: redis_transport

#include <penstock/redis.hpp>

#include <optional>
#include <string>

struct careless {
#ifdef PENSTOCK_WRONG
  std::optional<penstock::redis::reply> execute(penstock::redis::command const&, penstock::redis::deadline) {
    return {};
  }
#else
  penstock::redis::result<penstock::redis::reply> execute(penstock::redis::command const&, penstock::redis::deadline) {
    return penstock::redis::io_error{penstock::redis::errc::timeout, penstock::redis::sent::unknown};
  }
#endif
};

careless server;

penstock::redis::token_bucket<std::string, careless> limited(server, "api", {.refill = penstock::per_second(5)},
                                                             penstock::redis::fail_open{});
