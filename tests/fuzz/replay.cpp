// Runs a fuzz target without a fuzzer: replay [MUTANTS] FILE-OR-FOLDER...
//
// Every file is an input; then each is changed at random, the same way on every machine, to give MUTANTS more in all.
// (What a fuzzer finds by watching the program it finds better; this is what any compiler can do.) An input that fails
// is kept in the working folder as failed-input.

#include "input.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string current;  // the input that is running
std::string current_name;

void keep_and_die(int signal) {
  std::signal(signal, SIG_DFL);
  std::ofstream("failed-input", std::ios::binary).write(current.data(), static_cast<std::streamsize>(current.size()));
  std::fprintf(stderr, "failed on %s, kept as failed-input\n", current_name.c_str());
  std::raise(signal);
}

void run(std::string input, std::string name) {
  current = std::move(input);
  current_name = std::move(name);
  // A copy of its own length, so that a sanitizer sees a read beyond the end.
  std::vector<std::uint8_t> const exact(current.begin(), current.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

class mutator {
 public:
  explicit mutator(std::vector<std::string> const& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string bytes = seeds_[below(seeds_.size())];
    for (std::size_t changes = 1 + below(4); changes-- > 0;) change(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  char any_byte() {
    constexpr std::string_view telling("\0\1\x7f\x80\xff 09,;:=\"\\/[]%\r\n", 21);
    return below(2) == 0 ? telling[below(telling.size())] : static_cast<char>(below(256));
  }
  void change(std::string& bytes) {
    if (bytes.empty()) bytes.push_back(any_byte());
    std::size_t const at = below(bytes.size()), length = 1 + below(std::min<std::size_t>(bytes.size() - at, 16));
    switch (below(6)) {
      case 0:
        bytes[at] = any_byte();
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.insert(at, 1, any_byte());
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(at, length));
        break;
      default: {
        std::string const& other = seeds_[below(seeds_.size())];
        bytes = bytes.substr(0, at) + other.substr(below(other.size() + 1));
      }
    }
  }

  std::vector<std::string> const& seeds_;
  std::mt19937_64 engine_{1};
};

std::string contents_of(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::size_t mutants = 0;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    char const* const end = argv[i] + std::strlen(argv[i]);
    if (std::from_chars(argv[i], end, mutants).ptr == end) continue;
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (auto const& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fputs("no inputs\n", stderr);
    return 2;
  }
  for (int const signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(signal, keep_and_die);

  std::vector<std::string> seeds;
  for (fs::path const& file : files) {
    seeds.push_back(contents_of(file));
    run(seeds.back(), file.string());
  }
  mutator change(seeds);
  for (std::size_t i = 0; i < mutants; ++i) run(change.next(), "mutant " + std::to_string(i));
  std::printf("%zu inputs, %zu mutants\n", seeds.size(), mutants);
  return 0;
}
