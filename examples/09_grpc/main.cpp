// A gRPC server that asks before each call, and a client that waits as long as it is told to. Time is moved by hand.
//
// An interceptor of gRPC's C++ library sees a call but cannot answer it: the handler would run all the same. So what
// asks is a service of the same interface, in front of the one that works.

#include "gate.hpp"

#include <weather.grpc.pb.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

using google::protobuf::util::TimeUtil;

namespace {

class forecast final : public weather::Weather::Service {
  grpc::Status Today(grpc::ServerContext*, weather::Place const* place, weather::Report* report) override {
    report->set_celsius(place->city() == "Oslo" ? 7 : 21);
    return grpc::Status::OK;
  }
};

template <penstock::clock_source Clock>
class limited final : public weather::Weather::Service {
 public:
  limited(weather::Weather::Service& service, gate<Clock>& limits) : service_(service), limits_(limits) {}

  grpc::Status Today(grpc::ServerContext* context, weather::Place const* place, weather::Report* report) override {
    auto const answer = limits_.ask(*context);
    return answer.ok() ? service_.Today(context, place, report) : answer;
  }

 private:
  weather::Weather::Service& service_;
  gate<Clock>& limits_;
};

/// How long the server asks us to wait; 0 if it does not say.
std::chrono::nanoseconds retry_delay(grpc::Status const& answer) {
  google::rpc::Status status;
  google::rpc::RetryInfo retry;
  if (!status.ParseFromString(answer.error_details())) return {};
  for (auto const& detail : status.details())
    if (detail.UnpackTo(&retry)) return std::chrono::nanoseconds{TimeUtil::DurationToNanoseconds(retry.retry_delay())};
  return {};
}

std::string text(std::chrono::nanoseconds time) {
  return TimeUtil::ToString(TimeUtil::NanosecondsToDuration(time.count()));
}

std::string text(grpc::StatusCode code) {
  if (code == grpc::StatusCode::RESOURCE_EXHAUSTED) return "RESOURCE_EXHAUSTED";
  if (code == grpc::StatusCode::UNAVAILABLE) return "UNAVAILABLE";
  if (code == grpc::StatusCode::UNAUTHENTICATED) return "UNAUTHENTICATED";
  return "status " + std::to_string(code);
}

/// One call: prints how it went, and returns how long to wait before the next.
std::chrono::nanoseconds ask(weather::Weather::Stub& stub, std::string const& name, std::string const& api_key) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes{1});
  context.AddMetadata("x-api-key", api_key);
  weather::Place place;
  place.set_city("Oslo");
  weather::Report report;
  auto const answer = stub.Today(&context, place, &report);
  auto const wait = retry_delay(answer);
  std::cout << name << ": ";
  if (answer.ok())
    std::cout << report.celsius() << " degrees\n";
  else if (wait.count() > 0)
    std::cout << text(answer.error_code()) << ", " << answer.error_message() << ", again in " << text(wait) << '\n';
  else
    std::cout << text(answer.error_code()) << ", " << answer.error_message() << '\n';
  return wait;
}

}  // namespace

int main() {
  penstock::manual_clock clock;
  gate limits(clock);
  forecast service;
  limited in_front(service, limits);

  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port).RegisterService(&in_front);
  auto const server = builder.BuildAndStart();
  if (!server || port == 0) return std::cerr << "cannot listen on 127.0.0.1\n", EXIT_FAILURE;

  grpc::ChannelArguments direct;
  direct.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  auto const channel =
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), direct);
  auto const stub = weather::Weather::NewStub(channel);
  auto const ann = [&] { return ask(*stub, "ann", "ann-4e1f"); };
  auto const bob = [&] { return ask(*stub, "bob", "bob-77c0"); };
  auto const later = [&](std::chrono::nanoseconds by) {
    clock.advance(by);
    std::cout << "at " << text(clock.now().time_since_epoch()) << '\n';
  };

  for (int calls = 0; calls < 4; ++calls) ann();  // three at once, then one every ten seconds
  for (int calls = 0; calls < 2; ++calls) bob();
  later(bob());  // the server has answered five calls: it sheds the sixth
  bob();
  auto const wait = ann();
  later(wait - std::chrono::nanoseconds{1});
  later(ann());
  ann();
  ask(*stub, "eve", "guess");
}
