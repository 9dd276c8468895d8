#pragma once
// What is limited, by what, and what a gRPC client is told: RESOURCE_EXHAUSTED is this caller's quota, UNAVAILABLE is
// the whole server shedding load. Both say in a google.rpc.RetryInfo when to come back.

#include <penstock/penstock.hpp>

#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>
#include <retry_info.pb.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct call {
  std::string_view caller;  ///< whose API key this is
};

/// In a real service this is a look-up; what matters is that an unknown key is nobody's, and never gets a bucket.
inline std::optional<std::string_view> caller_of(grpc::ServerContext const& context) {
  auto const& metadata = context.client_metadata();
  auto const api_key = metadata.find("x-api-key");
  if (api_key == metadata.end()) return {};
  if (api_key->second == "ann-4e1f") return "ann";
  if (api_key->second == "bob-77c0") return "bob";
  return {};
}

/// A refused decision as a status, the exact wait in its details.
template <class Decision>
grpc::Status refusal(Decision const& d) {
  auto const code = d.limited_by() == "server" ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::RESOURCE_EXHAUSTED;
  google::rpc::Status status;
  status.set_code(code);
  status.set_message("over the limit of the " + std::string(d.limited_by()));
  if (d.outcome == penstock::verdict::limited) {  // else waiting cannot help
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = google::protobuf::util::TimeUtil::NanosecondsToDuration(d.retry_after.count());
    status.add_details()->PackFrom(retry);
  }
  return {code, status.message(), status.SerializeAsString()};
}

template <penstock::clock_source Clock>
class gate {
 public:
  explicit gate(Clock clock)
      : per_caller_({.refill = penstock::per_minute(6), .burst = 3}, {.max_keys = 10'000}, clock),
        server_({.refill = penstock::per_second(1), .burst = 5}, clock) {}

  /// OK, or what to answer in place of the call.
  /// Concurrency: safe from any thread.
  grpc::Status ask(grpc::ServerContext const& context) {
    auto const caller = caller_of(context);
    if (!caller) return {grpc::StatusCode::UNAUTHENTICATED, "unknown API key"};
    auto const d = limits_.allow(call{*caller});
    return d ? grpc::Status::OK : refusal(d);
  }

 private:
  using buckets = penstock::token_bucket<std::string, Clock>;
  using bucket = penstock::token_bucket<penstock::no_key, Clock>;

  static auto stack_of(buckets& per_caller, bucket& server) {
    return penstock::stack(penstock::layer("caller", per_caller, &call::caller), penstock::layer("server", server));
  }

  buckets per_caller_;
  bucket server_;
  decltype(stack_of(std::declval<buckets&>(), std::declval<bucket&>())) limits_ = stack_of(per_caller_, server_);
};
