// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace igpu::exporter {

// The answer of an OTLP receiver. Malformed parts are ignored.
struct OtlpResponse {
  std::uint64_t rejected = 0;  // data points
  std::string message;         // one line; "" for none
};

OtlpResponse parse_export_response(std::string_view body);  // ExportMetricsServiceResponse, of status 200
OtlpResponse parse_status(std::string_view body);           // google.rpc.Status, of other statuses

}  // namespace igpu::exporter
