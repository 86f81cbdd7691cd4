// SPDX-License-Identifier: Apache-2.0
#include "push/otlp_response.h"

#include <limits>
#include <optional>

#include "text/unicode.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMaxMessageBytes = 200;

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

// use(field, number, bytes): one of the two, by the field's type. Ends at the first byte that is no protobuf.
template <class Use>
void read_message(std::string_view bytes, const Use& use) {
  while (!bytes.empty()) {
    const std::optional<std::uint64_t> key = take_varint(bytes);
    if (!key) return;
    switch (*key & 7) {
      case 0: {
        const std::optional<std::uint64_t> value = take_varint(bytes);
        if (!value) return;
        use(*key >> 3, *value, std::string_view());
        break;
      }
      case 2: {
        const std::optional<std::uint64_t> size = take_varint(bytes);
        if (!size || *size > bytes.size()) return;
        use(*key >> 3, 0, bytes.substr(0, *size));
        bytes.remove_prefix(*size);
        break;
      }
      case 1:
      case 5: {
        const std::size_t size = (*key & 7) == 1 ? 8 : 4;
        if (bytes.size() < size) return;
        bytes.remove_prefix(size);
        break;
      }
      default:
        return;
    }
  }
}

}  // namespace

OtlpResponse parse_export_response(std::string_view body) {
  OtlpResponse response;
  read_message(body, [&](std::uint64_t field, std::uint64_t, std::string_view partial) {
    if (field != 1) return;
    read_message(partial, [&](std::uint64_t part, std::uint64_t number, std::string_view text) {
      // An int64, which is not negative in a sound answer.
      if (part == 1 && number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        response.rejected = number;
      if (part == 2) response.message = clean_text(text, kMaxMessageBytes);
    });
  });
  return response;
}

OtlpResponse parse_status(std::string_view body) {
  OtlpResponse response;
  read_message(body, [&](std::uint64_t field, std::uint64_t, std::string_view text) {
    if (field == 2) response.message = clean_text(text, kMaxMessageBytes);
  });
  return response;
}

}  // namespace igpu::exporter
