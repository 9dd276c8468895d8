// http/structured.hpp: structured field values, against a parser written from RFC 9651.

#include <penstock/http/structured.hpp>

#include "support/catch.hpp"
#include "support/structured_fields.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <variant>

using namespace penstock;

namespace {

std::string written(auto put) {
  std::array<char, 4096> room;
  http::detail::text_writer to(room);
  put(to);
  REQUIRE(to.fits());
  return std::string(to.text(0, to.size()));
}
std::string written_string(std::string_view text) {
  return written([&](auto& to) { http::detail::put_structured_string(to, text); });
}
std::string written_bytes(std::string_view bytes) {
  return written([&](auto& to) { http::detail::put_structured_bytes(to, bytes); });
}
std::string written_integer(std::uint64_t number) {
  return written([&](auto& to) { http::detail::put_structured_integer(to, number); });
}

template <class T>
T parsed(std::string const& text) {
  auto const list = structured_fields::parse_list(text);
  REQUIRE(list.size() == 1);
  CHECK(list[0].parameters.empty());
  REQUIRE(std::holds_alternative<T>(list[0].value));
  return std::get<T>(list[0].value);
}

}  // namespace

TEST_CASE("the judge of structured fields knows right from wrong") {
  using structured_fields::parse_list;
  CHECK(parse_list("").empty());
  CHECK(parse_list("\"a\";q=1, b;c, 1.5, :aGk=:, ?1 , -5").size() == 6);
  CHECK(std::get<structured_fields::bytes>(parse_list(":aGk=:")[0].value).data == "hi");
  for (char const* const wrong : {"\"a", "\"a\"b", "\"\\n\"", "\"a\",", ",\"a\"", "\"a\" ;q=1", "\"a\";Q=1", "\"a\";q=", "\"a\";q =1",
                                  "1000000000000000", "1.", "1.2345", ":aGk:", ":aGk=", ":a=k=:", ":aGl=:", "?2", "\"\x7f\"", "\"\xc3\xa4\"",
                                  "\"a\n\"", "\"a\"\r\n", "\"a\";q=1;q=2", "\"a\", , \"b\""}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_list(wrong), structured_fields::malformed);
  }
}

TEST_CASE("a string is quoted, with quotes and backslashes escaped") {
  CHECK(written_string("default") == "\"default\"");
  CHECK(written_string("") == "\"\"");
  CHECK(written_string("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(written_string(" a, b; c=d ") == "\" a, b; c=d \"");
}

TEST_CASE("every character that a string can carry comes back; every other becomes a question mark") {
  for (int code = 0; code < 256; ++code) {
    char const c = static_cast<char>(code);
    std::string const text{'<', c, '>'};
    bool const carried = code >= 0x20 && code <= 0x7e;
    CHECK(http::is_structured_string(text) == carried);
    CHECK(parsed<std::string>(written_string(text)) == (carried ? text : "<?>"));
  }
}

TEST_CASE("an integer has at most fifteen digits") {
  CHECK(written_integer(0) == "0");
  CHECK(written_integer(999'999'999'999'999) == "999999999999999");
  CHECK(written_integer(1'000'000'000'000'000) == "999999999999999");
  CHECK(written_integer(std::numeric_limits<std::uint64_t>::max()) == "999999999999999");
}

TEST_CASE("a byte sequence is padded base64 between colons") {  // RFC 4648, section 10
  CHECK(written_bytes("") == "::");
  CHECK(written_bytes("f") == ":Zg==:");
  CHECK(written_bytes("fo") == ":Zm8=:");
  CHECK(written_bytes("foo") == ":Zm9v:");
  CHECK(written_bytes("foob") == ":Zm9vYg==:");
  CHECK(written_bytes("fooba") == ":Zm9vYmE=:");
  CHECK(written_bytes("foobar") == ":Zm9vYmFy:");
  CHECK(written_bytes(std::string_view("\xff\xfe\x00\n", 4)) == "://4ACg==:");
}

TEST_CASE("whatever the bytes, they come back") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    CHECK(parsed<structured_fields::bytes>(written_bytes(bytes)).data == bytes);
  }
}

TEST_CASE("a writer without room counts on and writes nothing outside") {
  std::array<char, 8> room{'#', '#', '#', '#', '#', '#', '#', '#'};
  http::detail::text_writer to(std::span<char>(room).first(4));
  to.put("abc");
  CHECK(to.fits());
  to.put("defg");
  to.put('h');
  to.put(std::uint64_t{18'446'744'073'709'551'615u});
  CHECK_FALSE(to.fits());
  CHECK(to.size() == 28);
  CHECK(std::string_view(room.data(), room.size()) == "abc#####");
}
