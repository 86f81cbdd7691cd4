// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/push/address.h"
#include "server/push/curl_session.h"
#include "server/push/otlp_encoder.h"
#include "server/push/push_target.h"
#include "view/format/negotiation.h"

namespace igpu::exporter {

// OTLP/HTTP with protobuf (opentelemetry.io/docs/specs/otlp, version 1).
class OtlpReadings final : public PushReadings {
 public:
  explicit OtlpReadings(OtlpEncoder::Attributes resource);

  std::string_view name() const override { return "otlp"; }
  PushItem encode(const PageView& page, std::chrono::system_clock::time_point time) override;

 private:
  OtlpEncoder encoder_;
  Gzip gzip_;
  std::string plain_;
};

class OtlpClient final : public PushClient {
 public:
  OtlpClient(std::unique_ptr<CurlSession> session, PushCredentials credentials)
      : session_(std::move(session)), credentials_(std::move(credentials)) {}

  PushOutcome deliver(std::string_view bytes, const PushWait& wait) override;

 private:
  std::unique_ptr<CurlSession> session_;
  PushCredentials credentials_;
};

// host.name, service.name, service.version and service.instance.id of this program on this machine.
OtlpEncoder::Attributes own_resource();

// The answer of an OTLP receiver. Malformed parts are ignored.
struct OtlpResponse {
  std::uint64_t rejected = 0;  // data points
  std::string message;         // one line; "" for none
};

// ExportMetricsServiceResponse, of status 200; google.rpc.Status, of other statuses. credentials: not in the message.
OtlpResponse parse_export_response(std::string_view body, const PushCredentials& credentials = {});
OtlpResponse parse_status(std::string_view body, const PushCredentials& credentials = {});

}  // namespace igpu::exporter
