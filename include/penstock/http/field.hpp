#pragma once
// Header fields: with text of their own, or as views into memory of the caller.

#include <penstock/http/text_writer.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::inline v0_1::http {

struct field {
  std::string name, value;
  friend bool operator==(field const&, field const&) = default;
};

struct field_view {
  std::string_view name, value;
  friend bool operator==(field_view const&, field_view const&) = default;
};

namespace detail {
class fields_writer;
}

/// What the write_... functions return: a range of field_view, the values lying in the memory that was handed in.
/// False when there was too little of it: then there are no fields at all, and needed() says how many bytes would do.
class written_fields {
 public:
  static constexpr std::size_t most = 6;

  field_view const* begin() const noexcept { return fields_.data(); }
  field_view const* end() const noexcept { return fields_.data() + size_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t needed() const noexcept { return needed_; }
  explicit operator bool() const noexcept { return fits_; }

  /// The same fields with text of their own. Allocates.
  std::vector<field> copy() const {
    std::vector<field> fields;
    fields.reserve(size_);
    for (auto const& [name, value] : *this) fields.push_back({std::string(name), std::string(value)});
    return fields;
  }

 private:
  friend detail::fields_writer;
  std::array<field_view, most> fields_{};
  std::size_t size_ = 0, needed_ = 0;
  bool fits_ = true;
};

namespace detail {

/// Writes field after field; what is put after open() is the value. The names must outlive the fields.
class fields_writer {
 public:
  explicit fields_writer(std::span<char> room) noexcept : text_(room) {}

  text_writer& open(std::string_view name) noexcept {
    names_[size_] = name;
    starts_[size_++] = text_.size();
    return text_;
  }
  void add(std::string_view name, std::string_view value) noexcept { open(name).put(value); }

  /// Goes on with the field that is open.
  text_writer& more(std::string_view separator) noexcept {
    text_.put(separator);
    return text_;
  }

  /// The fields are complete; what is put from now on belongs to no field.
  text_writer& close() noexcept {
    starts_[size_] = text_.size();
    return text_;
  }

  /// Everything is written.
  written_fields finish() const noexcept {
    written_fields fields;
    fields.needed_ = text_.size();
    fields.fits_ = text_.fits();
    if (!fields.fits_) return fields;
    for (; fields.size_ < size_; ++fields.size_)
      fields.fields_[fields.size_] = {names_[fields.size_],
                                      text_.text(starts_[fields.size_], starts_[fields.size_ + 1])};
    return fields;
  }
  /// What was put after close(); empty when it did not fit.
  std::string_view rest() const noexcept {
    return text_.fits() ? text_.text(starts_[size_], text_.size()) : std::string_view{};
  }

 private:
  text_writer text_;
  std::array<std::string_view, written_fields::most> names_{};
  std::array<std::size_t, written_fields::most + 1> starts_{};
  std::size_t size_ = 0;
};

/// Calls write(room) with room on the stack and, if that was too little, once more with as much as it needed; then
/// keep(what was written).
template <class Write, class Keep>
auto with_room(Write write, Keep keep) {
  std::array<char, 512> room;
  auto const written = write(std::span<char>(room));
  if (written) return keep(written);
  std::string more(written.needed(), '\0');
  return keep(write(std::span<char>(more)));
}

}  // namespace detail
}  // namespace penstock::inline v0_1::http
