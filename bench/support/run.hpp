#pragma once
// What every benchmark program here begins with: its options, and a place for what is costly to prepare.

#include <benchmark/benchmark.h>

#include <charconv>
#include <cstddef>
#include <future>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

namespace bench {

/// --most_keys=N leaves out everything larger: 1000 tries the programs out in seconds.
inline std::size_t most_keys = 10'000'000;

inline std::vector<std::size_t> key_counts() {
  std::vector<std::size_t> counts;
  for (std::size_t const n : std::initializer_list<std::size_t>{1'000, 100'000, 1'000'000, 10'000'000})
    if (n <= most_keys) counts.push_back(n);
  return counts;
}

/// 1 and 2 threads, and the powers of two above for which there are processors.
inline std::vector<unsigned> thread_counts() {
  std::vector<unsigned> counts{1, 2};
  for (unsigned n = 4; n <= std::thread::hardware_concurrency(); n *= 2) counts.push_back(n);
  return counts;
}

/// Repetitions call a benchmark anew, but what took seconds to fill is kept from one to the next: the last thing only.
class keep {
 public:
  template <class T, class Make>
  static T& or_make(std::string const& name, Make make) {
    if (name != name_) {
      thing_.reset();  // before making the next: two of them may not fit
      name_.clear();
      thing_ = std::shared_ptr<T>(make());
      name_ = name;
    }
    return *static_cast<T*>(thing_.get());
  }

 private:
  static inline std::string name_;
  static inline std::shared_ptr<void> thing_;
};

/// Joins the parts of a benchmark's name with slashes; report.py takes them apart again.
template <class... Part>
std::string name_of(Part const&... part) {
  std::string name;
  auto const append = [&](std::string_view text) { name.append(name.empty() ? "" : "/").append(text); };
  auto const text = [](auto const& p) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(p)>>)
      return std::to_string(p);
    else
      return std::string(p);
  };
  (append(text(part)), ...);
  return name;
}

/// A thread that only waits. In a process that has one thread only, glibc's mutex leaves out the locked instruction,
/// which no service that needs a mutex would see.
class company {
 public:
  company() : thread_([this] { leave_.get_future().wait(); }) {}
  ~company() {
    leave_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> leave_;
  std::thread thread_;
};

template <class Register>
int run(int argc, char** argv, Register register_all) {
  std::vector<char*> others;
  for (char** arg = argv; arg != argv + argc; ++arg) {
    std::string_view text = *arg;
    if (constexpr std::string_view most = "--most_keys="; text.starts_with(most)) {
      text.remove_prefix(most.size());
      if (std::from_chars(text.data(), text.data() + text.size(), most_keys).ec != std::errc{}) {
        std::cerr << "not a number of keys: " << text << '\n';
        return 2;
      }
    } else {
      others.push_back(*arg);
    }
  }
  int count = static_cast<int>(others.size());
  benchmark::Initialize(&count, others.data());
  if (benchmark::ReportUnrecognizedArguments(count, others.data())) return 2;
  register_all();
  company const other;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace bench
