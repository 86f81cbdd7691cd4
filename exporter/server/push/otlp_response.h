// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/push/credentials.h"

namespace igpu::exporter {

// The answer of an OTLP receiver. Malformed parts are ignored.
struct OtlpResponse {
  std::uint64_t rejected = 0;  // data points
  std::string message;         // one line; "" for none
};

// ExportMetricsServiceResponse, of status 200; google.rpc.Status, of other statuses. credentials: not in the message.
OtlpResponse parse_export_response(std::string_view body, const PushCredentials& credentials = {});
OtlpResponse parse_status(std::string_view body, const PushCredentials& credentials = {});

}  // namespace igpu::exporter
