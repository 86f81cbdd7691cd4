// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "igpu/metric.h"
#include "igpu/page.h"
#include "server/push/address.h"
#include "server/push/curl_session.h"
#include "server/push/push_target.h"
#include "view/format/text_writer.h"

namespace igpu::exporter {

// OpenTelemetry's names: semantic conventions for hardware (docs/system/hardware-metrics.md of
// open-telemetry/semantic-conventions, status "development").
enum class Instrument { gauge, counter, updown_counter, histogram };

struct ConventionAttribute {
  std::string_view name, value;
};

struct Convention {
  std::string_view metric;  // the exporter's name
  // Applies only to samples with this value of this label; "": to all.
  std::string_view label, value;
  std::string_view name, unit;
  Instrument instrument;
  std::array<ConventionAttribute, 2> attributes{};  // in addition to the labels
  // The label `renamed` becomes `attribute`. The label device becomes hw.id in every row.
  std::string_view renamed{}, attribute{};
};

// Null: the conventions have no such metric, which then keeps its name and labels.
using LabelValue = std::function<std::string_view(std::string_view label)>;  // "": absent
const Convention* convention_of(std::string_view metric, const LabelValue& value_of);

// The unit in UCUM's notation: "s", "By".
std::string_view ucum_unit(const MetricDescriptor& metric);

// Pages as ExportMetricsServiceRequest of OTLP (opentelemetry-proto, collector/metrics/v1). Counters are cumulative.
// The true start of a series is unknown, so its start time is the time of its first point, as the data model says. If
// its value falls, the series restarts at the time of the previous point.
class OtlpEncoder {
 public:
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  OtlpEncoder(Attributes resource, std::string scope, std::string version)
      : resource_(std::move(resource)), scope_(std::move(scope)), version_(std::move(version)) {}

  // Replaces out; returns the number of data points.
  std::uint64_t encode(const PageView& page, std::chrono::system_clock::time_point time, std::string& out);

 private:
  struct Series {
    std::uint64_t start = 0, last = 0;  // nanoseconds
    double value = 0;
    std::uint64_t reading = 0;
  };
  // A metric under its final name; points: encoded data points.
  struct Output {
    std::string_view name, help, unit;
    Instrument instrument;
    std::string points;
  };
  Output& output_of(std::string_view name, std::string_view help, std::string_view unit, Instrument instrument);
  std::uint64_t start_of(std::string series, double value, std::uint64_t now, bool resets);
  void add_point(const PageView::Entry& entry, const MetricDescriptor& metric, std::uint64_t now);

  Attributes resource_;
  std::string scope_, version_;
  std::unordered_map<std::string, Series> series_;
  std::uint64_t readings_ = 0;
  std::vector<Output> outputs_;  // of the current reading
  std::string attributes_;
};

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
