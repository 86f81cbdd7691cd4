// SPDX-License-Identifier: Apache-2.0
#include "server/push/otlp_response.h"

#include <limits>

#include "text/unicode.h"
#include "view/format/proto_reader.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMaxMessageBytes = 200;

// After it is cleaned, which could join the parts of a token, and before it is cut, which could leave one.
std::string message_of(std::string_view bytes, const PushCredentials& credentials) {
  return clean_text(without_credentials(clean_text(bytes), credentials), kMaxMessageBytes);
}

}  // namespace

OtlpResponse parse_export_response(std::string_view body, const PushCredentials& credentials) {
  OtlpResponse response;
  ProtoFields fields(body);
  for (ProtoField field; fields.next(field);) {
    if (field.number != 1) continue;
    ProtoFields partial(field.bytes);
    for (ProtoField part; partial.next(part);) {
      // An int64, which is not negative in a sound answer.
      if (part.number == 1 && part.value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        response.rejected = part.value;
      if (part.number == 2) response.message = message_of(part.bytes, credentials);
    }
  }
  return response;
}

OtlpResponse parse_status(std::string_view body, const PushCredentials& credentials) {
  OtlpResponse response;
  ProtoFields fields(body);
  for (ProtoField field; fields.next(field);)
    if (field.number == 2) response.message = message_of(field.bytes, credentials);
  return response;
}

}  // namespace igpu::exporter
