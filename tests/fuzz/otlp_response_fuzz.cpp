// SPDX-License-Identifier: Apache-2.0
//
// The answer of a receiver of OTLP: never a count that is negative, never more than one line of text.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "server/push/otlp.h"

using namespace igpu::exporter;

FUZZ_TARGET(otlp_response) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const OtlpResponse& response : {parse_export_response(body), parse_status(body)}) {
    FUZZ_CHECK(response.rejected <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    FUZZ_CHECK(response.message.size() <= 200);
    FUZZ_CHECK(response.message.find('\n') == std::string::npos);
  }
  return 0;
}
