// SPDX-License-Identifier: Apache-2.0
// Protobuf messages: what the writer wrote, the reader reads back.
#include "view/format/proto.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace igpu::exporter;

namespace {

ProtoField only_field(std::string_view message) {
  ProtoFields fields(message);
  ProtoField field;
  REQUIRE(fields.next(field));
  CHECK(fields.left() == 0);
  return field;
}

}  // namespace

TEST_CASE("a field is written as the format's examples are") {
  std::string out;
  write_proto(out, [](ProtoWriter& proto) {
    proto.number(1, 150);
    proto.text(2, "testing");
    proto.fixed64(3, 0x0102030405060708);
    proto.message(4, [&] { proto.number(1, 1); });
    proto.short_message(5, 20, [&] { proto.number(1, 300); });
    proto.fields("\x30\x01");
  });
  using namespace std::string_view_literals;
  CHECK(out ==
        "\x08\x96\x01"
        "\x12\x07testing"
        "\x19\x08\x07\x06\x05\x04\x03\x02\x01"
        "\x22\x82\x80\x80\x00\x08\x01"
        "\x2a\x03\x08\xac\x02"
        "\x30\x01"sv);
}

TEST_CASE("text is made valid UTF-8, and appended to what the string had") {
  std::string out = "before";
  write_proto(out, [](ProtoWriter& proto) { proto.text(1, "a\xff"); });
  CHECK(only_field(std::string_view(out).substr(6)).bytes == "a\xef\xbf\xbd");
}

TEST_CASE("nested messages of every size keep their lengths") {
  for (std::size_t size = 0; size < 1200; ++size) {
    CAPTURE(size);
    const std::string text(size, 'x');
    const std::vector<double> numbers(size / 8, 0.5);
    std::string out;
    write_proto(out, [&](ProtoWriter& proto) {
      proto.message(1, [&] {
        proto.bytes(2, text);
        proto.message(3, [&] {
          proto.short_message(4, ProtoWriter::kShort, [&] { proto.number(1, ~std::uint64_t{0}); });
          proto.packed(5, std::span<const double>(numbers));
        });
        proto.number(6, size);
      });
    });
    ProtoFields outer(only_field(out).bytes);
    ProtoField field;
    REQUIRE(outer.next(field));
    CHECK(field.bytes == text);
    REQUIRE(outer.next(field));
    ProtoFields inner(field.bytes);
    ProtoField innermost;
    REQUIRE(inner.next(innermost));
    CHECK(only_field(innermost.bytes).value == ~std::uint64_t{0});
    REQUIRE(inner.next(innermost));
    CHECK(innermost.bytes.size() == numbers.size() * 8);
    CHECK(inner.left() == 0);
    REQUIRE(outer.next(field));
    CHECK(field.value == size);
    CHECK(outer.left() == 0);
    CHECK(!outer.damaged());
  }
}
