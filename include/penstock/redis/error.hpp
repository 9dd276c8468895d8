#pragma once
// What can be wrong with the store, as std::error_code. A limit that is reached is no error: see decision.

#include <string>
#include <string_view>
#include <system_error>

namespace penstock::inline v0_1::redis {

enum class errc {
  refused = 1,    ///< no connection could be made
  pool_timeout,   ///< all connections were in use until the deadline
  timeout,        ///< no answer before the deadline
  closed,         ///< the connection ended in mid-call
  bad_reply,      ///< an answer that is none to what was asked
  unavailable,    ///< the server answers, but does not serve: LOADING, BUSY, MASTERDOWN, OOM, READONLY ...
  misconfigured,  ///< NOAUTH, NOPERM, ERR: somebody must change something
  cross_slot,     ///< the keys of one stack lie in different slots of a cluster
  moved,          ///< the slot is served by another node, and the transport does not follow
  bad_state,      ///< this key holds something else: WRONGTYPE, or a state that cannot be read
  no_script,      ///< NOSCRIPT, and EVAL did not help
  breaker_open,   ///< not asked, because too many calls failed of late
};

namespace detail {

class error_category final : public std::error_category {
 public:
  char const* name() const noexcept override { return "penstock.redis"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::refused:
        return "no connection to Redis";
      case errc::pool_timeout:
        return "no free connection to Redis before the deadline";
      case errc::timeout:
        return "no answer from Redis before the deadline";
      case errc::closed:
        return "Redis closed the connection in mid-call";
      case errc::bad_reply:
        return "an answer from Redis that could not be understood";
      case errc::unavailable:
        return "Redis does not serve at present";
      case errc::misconfigured:
        return "Redis refused the command: check permissions and configuration";
      case errc::cross_slot:
        return "the keys of this stack lie in different cluster slots";
      case errc::moved:
        return "the slot is served by another node";
      case errc::bad_state:
        return "the key holds something that is no state of this limit";
      case errc::no_script:
        return "Redis does not keep scripts";
      case errc::breaker_open:
        return "Redis was not asked: too many calls failed of late";
    }
    return "unknown";
  }
};

}  // namespace detail

inline std::error_category const& error_category() noexcept {
  static detail::error_category const category;
  return category;
}
inline std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), error_category()}; }

/// What an error reply of the server means. Inside a script, servers before 7.0 put ERR in front of the word. The
/// script's own errors are looked for first: they name a key, and an identity may be called BUSY.
inline errc classify(std::string_view error) noexcept {
  error = error.substr(0, error.find(", with args beginning with"));  // there follows what was sent, identities too
  auto const says = [&](std::string_view word) {
    return error.starts_with(word) || (error.starts_with("ERR") && error.find(word) != std::string_view::npos);
  };
  if (says("BADSTATE") || says("WRONGTYPE")) return errc::bad_state;
  for (std::string_view const word : {"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "OOM", "MISCONF",
                                      "NOREPLICAS", "READONLY", "max number of clients reached"})
    if (says(word)) return errc::unavailable;
  if (error.starts_with("NOSCRIPT")) return errc::no_script;
  if (error.starts_with("MOVED ") || error.starts_with("ASK ")) return errc::moved;
  if (says("CROSSSLOT")) return errc::cross_slot;
  return errc::misconfigured;
}

/// Does it speak against the store as a whole? Such errors open the breaker.
inline bool counts_against_store(std::error_code const& e) noexcept {
  if (e.category() != error_category()) return true;
  switch (static_cast<errc>(e.value())) {
    case errc::misconfigured:
    case errc::cross_slot:
    case errc::bad_state:
    case errc::breaker_open:
      return false;
    default:
      return true;
  }
}

}  // namespace penstock::inline v0_1::redis

template <>
struct std::is_error_code_enum<penstock::redis::errc> : std::true_type {};
