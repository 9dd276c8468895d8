#pragma once
// The bytes in which a table survives a restart.
//
// A list of instants: each state as a distance from the reading at which the snapshot was taken, and the wall time of
// that reading, so that what passed meanwhile counts. All numbers are 64 bits, little-endian; in this order: mark,
// version, kind of states, the secret under which keys are hashed, wall time, shape of the table, floors, entries
// (index, tag, state), and a checksum. The secret makes the file as confidential as the process's memory.
//
// Portable, because a state is written as its words: whole numbers. Where parts of a state share a word, the
// algorithm's relative() and absolute() put them in little-endian order.

#include <penstock/algorithm.hpp>
#include <penstock/config_error.hpp>
#include <penstock/key.hpp>
#include <penstock/siphash.hpp>
#include <penstock/store/words.hpp>
#include <penstock/time.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::inline v0_1::detail {

inline constexpr std::uint64_t snapshot_mark = 0x4b434f54534e4550;  // "PENSTOCK"
inline constexpr std::uint64_t snapshot_version = 2;

inline std::uint64_t checksum(std::span<std::byte const> bytes) {
  siphash<> hash(snapshot_mark, snapshot_version);
  hash.bytes({reinterpret_cast<char const*>(bytes.data()), bytes.size()});
  return hash.finish().low;
}

class snapshot_writer {
 public:
  void word(std::uint64_t value) {
    bytes_.resize(bytes_.size() + 8);
    put(bytes_.size() - 8, value);
  }
  template <word_state State>
  void state(State const& s) {
    for (std::uint64_t const w : words_of(s)) word(w);
  }
  std::vector<std::byte> finish() && {
    word(checksum(bytes_));
    return std::move(bytes_);
  }

  /// Writes into words that were left out; not beyond them.
  class gap {
   public:
    template <word_state State>
    void state(State const& s) {
      for (std::uint64_t const w : words_of(s)) {
        out_.put(at_, w);
        at_ += 8;
      }
    }

   private:
    friend snapshot_writer;
    gap(snapshot_writer& out, std::size_t at) : out_(out), at_(at) {}
    snapshot_writer& out_;
    std::size_t at_;
  };
  gap leave_out(std::size_t words) {
    std::size_t const at = bytes_.size();
    bytes_.resize(at + 8 * words);
    return {*this, at};
  }

 private:
  template <word_state State>
  static std::array<std::uint64_t, word_count<State>> words_of(State const& s) noexcept {
    return std::bit_cast<std::array<std::uint64_t, word_count<State>>>(s);
  }
  void put(std::size_t at, std::uint64_t value) {
    for (std::size_t byte = 0; byte < 8; ++byte) bytes_[at + byte] = static_cast<std::byte>(value >> 8 * byte);
  }

  std::vector<std::byte> bytes_;
};

/// Reads what a snapshot_writer wrote; the constructor refuses bytes that are damaged or something else.
class snapshot_reader {
 public:
  explicit snapshot_reader(std::span<std::byte const> bytes) : bytes_(bytes) {
    if (bytes.size() < 24 || bytes.size() % 8 != 0 || word() != snapshot_mark)
      refuse("snapshot: these bytes are not a snapshot");
    if (std::uint64_t const version = word(); version != snapshot_version)
      refuse({"snapshot", "version"}, std::to_string(version), std::to_string(snapshot_version));
    snapshot_reader last(bytes.last(8), 0);
    if (last.word() != checksum(bytes.first(bytes.size() - 8)))
      refuse("snapshot: the checksum does not match; the bytes are damaged or cut short");
    bytes_ = bytes_.first(bytes_.size() - 8);
  }
  std::uint64_t word() {
    if (left() < 1) refuse("snapshot: it ends too early");
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < 8; ++byte)
      value |= std::to_integer<std::uint64_t>(bytes_[at_ + byte]) << 8 * byte;
    at_ += 8;
    return value;
  }
  template <word_state State>
  State state() {
    std::array<std::uint64_t, word_count<State>> words;
    for (std::uint64_t& w : words) w = word();
    return std::bit_cast<State>(words);
  }
  /// Refuses unless the next word is what this limiter has.
  void expect(std::string_view what, std::uint64_t ours) {
    if (std::uint64_t const theirs = word(); theirs != ours)
      refuse({"snapshot", what}, std::to_string(theirs), std::to_string(ours) + ", as in this limiter");
  }
  std::size_t left() const noexcept { return (bytes_.size() - at_) / 8; }

 private:
  snapshot_reader(std::span<std::byte const> bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  std::span<std::byte const> bytes_;
  std::size_t at_ = 0;
};

/// A word for the kind of states: which algorithm, and in which units of time.
template <class A>
std::uint64_t kind_of_states(A const& algorithm) {
  siphash<> hash(0, 0);
  hash.bytes(A::name);
  if constexpr (requires { algorithm.units(); }) hash.word(algorithm.units().per_nanosecond);
  if constexpr (requires { algorithm.for_each_rule([](auto const&) {}); })
    algorithm.for_each_rule([&](auto const& rule) { hash.word(kind_of_states(rule)); });
  hash.word(tied_to_epoch(algorithm) ? 1 : 0);
  return hash.finish().low;
}

}  // namespace penstock::inline v0_1::detail
