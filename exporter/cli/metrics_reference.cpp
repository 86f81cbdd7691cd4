// SPDX-License-Identifier: Apache-2.0
#include "cli/metrics_reference.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "flights/flight_metrics.h"
#include "format/openmetrics.h"
#include "igpu/monitor.h"
#include "push/push_metrics.h"
#include "self/build_info.h"
#include "self/log_metrics.h"
#include "self/process_metrics.h"
#include "self/request_metrics.h"
#include "self/sandbox_metrics.h"
#include "text/wrap.h"
#include "web_config/follower.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kNotesWidth = 120;

// Text of a table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

constexpr std::string_view kMetricsTable = "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n";

void add_row(std::string& out, const MetricDescriptor& metric) {
  out += "| `" + std::string(metric.name) + "` | " + std::string(openmetrics_type(metric.kind)) + " | " +
         std::string(metric.unit) + " | ";
  for (std::size_t i = 0; i < metric.label_count; ++i) {
    if (i > 0) out += ", ";
    out += metric.label_names[i];
  }
  out += " | " + cell(metric.help) + " |";
}

// Which system gives it.
std::string_view systems_of(const CollectorDescription& collector, const MetricDescriptor* metric) {
  const auto in = [&](std::span<const MetricDescriptor* const> metrics) {
    return std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
  };
  if (in(collector.not_in_linux)) return "Windows";
  return in(collector.in_windows) ? "Linux, Windows" : "Linux";
}

void add_metrics(std::string& out, const CollectorDescription& collector) {
  if (collector.metrics.empty()) return;
  out += "| metric | type | unit | labels | meaning | systems |\n|---|---|---|---|---|---|\n";
  for (const MetricDescriptor* metric : collector.metrics) {
    add_row(out, *metric);
    ((out += ' ') += systems_of(collector, metric)) += " |\n";
  }
  out += '\n';
}

void add_collector(std::string& out, const CollectorDescription& collector) {
  out += "## " + std::string(collector.name) + "\n\n" + std::string(collector.help);
  if (collector.always_on) {
    out += " Always on: every page has it, and `collect[]` and `exclude[]` do not accept its name.\n\n";
  } else if (collector.enabled_by_default) {
    out += " On by default; `--no-collector." + std::string(collector.name) + "` turns it off.\n\n";
  } else {
    out += " Off by default; `--collector." + std::string(collector.name) + "` turns it on.\n\n";
  }
  add_metrics(out, collector);
  if (!collector.notes.empty()) {
    append_wrapped(out, collector.notes, 0, kNotesWidth);
    out += "\n\n";
  }
  if (!collector.options.empty()) {
    out += "| option | default | meaning |\n|---|---|---|\n";
    for (const OptionDescriptor* option : collector.options) {
      const std::string default_value(option->default_value());
      out += "| `--" + std::string(option->flag()) + "` | " + (default_value.empty() ? "" : "`" + default_value + "`") +
             " | " + cell(option->help());
      const std::string placeholder = option->placeholder();
      if (placeholder.find('|') != std::string::npos) out += " One of `" + cell(placeholder) + "`.";
      out += " |\n";
    }
    out += '\n';
  }
  if (!collector.features.empty()) {
    out += "| feature | what it covers |\n|---|---|\n";
    for (const FeatureDescriptor* feature : collector.features) {
      out += "| `" + std::string(feature->name) + "` | " + cell(feature->meaning) +
             (feature->optional ? " Optional. |\n" : " |\n");
    }
    out += '\n';
  }
}

}  // namespace

std::string metrics_reference() {
  std::string out =
      "# Metrics\n\n"
      "Every metric of the exporter, with its labels, and the features and options of each collector. Generated from "
      "the\n"
      "code by `intel-gpu-exporter metrics-reference`; a test compares.\n\n"
      "Every series of a GPU has the label `device`, its PCI address. A value that is not available is absent, and\n"
      "`intel_gpu_exporter_feature_available` reports why; its features are listed with each collector. The "
      "Prometheus\n"
      "text format writes an info metric as a gauge with value 1.\n\n";
  for (const CollectorDescription& collector : describe_collectors()) add_collector(out, collector);
  out += "## The exporter itself\n\n";
  out += "On every system that has what they describe.\n\n";
  out += kMetricsTable;
  for (const auto metrics : {registry_metrics(), build_info_metrics(), SandboxMetrics::metrics(), LogMetrics::metrics(),
                             RequestMetrics::metrics(), WebConfigFollower::metrics(), PushMetrics::metrics(),
                             FlightMetrics::metrics(), process_metrics()}) {
    for (const MetricDescriptor* metric : metrics) {
      add_row(out, *metric);
      out += '\n';
    }
  }
  return out;
}

}  // namespace igpu::exporter
