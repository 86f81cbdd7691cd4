// SPDX-License-Identifier: Apache-2.0
#include "support/metrics_reference.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string_view>

#include "igpu/feature.h"
#include "igpu/monitor.h"
#include "server/self/own_metrics.h"
#include "text/text.h"
#include "view/format/text_writer.h"

namespace igpu::test {

using namespace exporter;

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

// What people ask, and the metric that answers.
struct Question {
  std::string_view question, metric, feature;  // feature: "" if it needs no right
};
constexpr Question kQuestions[] = {
    {"How busy is each engine?", "intel_gpu_engine_busy_ratio", "engine_busy"},
    {"How fast does it run?", "intel_gpu_frequency_hertz", "frequency"},
    {"Is it throttled, and why?", "intel_gpu_throttled", "throttle_reasons"},
    {"Is it asleep?", "intel_gpu_runtime_suspended", ""},
    {"How many watts does it draw?", "intel_gpu_power_watts", "power"},
    {"How hot is it?", "intel_gpu_temperature_celsius", "temperature"},
    {"How much memory is in use?", "intel_gpu_memory_used_bytes", "memory_used"},
    {"Which process uses it?", "intel_gpu_process_engine_busy_ratio", "processes"},
    {"Which container, pod or unit uses it?", "intel_gpu_workload_engine_busy_ratio", "processes"},
    {"Which virtual function uses it?", "intel_gpu_vf_engine_busy_ratio", "vf_engine_busy"},
    {"Did it hang?", "intel_gpu_hangs_total", "kernel_log"},
    {"Which program hung it?", "intel_gpu_process_hangs_total", "kernel_log"},
    {"How long do jobs wait?", "intel_gpu_job_queue_seconds", "jobs"},
    {"Does a channel drop pictures?", "intel_gpu_process_video_jobs_total", "jobs"},
    {"What was the peak since the last scrape?", "intel_gpu_engine_busy_ratio_max", ""},
    {"What does a Level Zero program leak?", "intel_gpu_level_zero_leaked_bytes", "level_zero"},
    {"Is the NPU busy?", "intel_npu_busy_ratio", "npu_busy"},
    {"What cannot be read here, and why?", "intel_gpu_exporter_feature_available", ""},
};

// Throws std::logic_error for a metric that does not exist.
void add_index(std::string& out, const std::vector<CollectorDescription>& collectors) {
  out += "## What answers which question\n\n| question | metric | collector | right |\n|---|---|---|---|\n";
  for (const Question& one : kQuestions) {
    const auto has = [&](std::span<const MetricDescriptor* const> metrics) {
      return std::any_of(metrics.begin(), metrics.end(),
                         [&](const auto* metric) { return metric->name == one.metric; });
    };
    std::string collector, right;
    for (const CollectorDescription& candidate : collectors) {
      if (has(candidate.metrics))
        collector = "[" + std::string(candidate.name) + "](#" + std::string(candidate.name) + ")";
      for (const FeatureDescriptor* const feature : candidate.features)
        if (feature->name == one.feature) right = right_for(*feature);
    }
    if (collector.empty() && !has(registry_metrics())) throw std::logic_error("no metric " + std::string(one.metric));
    out.append("| ").append(one.question).append(" | `").append(one.metric).append("` | ");
    out += (collector.empty() ? "always" : collector) + " | " + cell(right) + " |\n";
  }
  out += '\n';
}

constexpr std::string_view kWindow =
    "## The window\n\n"
    "Ratios, means and watts cover the window: the time since the newest earlier reading that is at least\n"
    "`--scrape.min-window` (1 s) old. With one Prometheus that is the time since its previous scrape; with several it "
    "is the\n"
    "time since the newest scrape by any of them, but never shorter than the minimum. The first scrape waits until "
    "the\n"
    "exporter has run for that long. Counters (`_total`) have no window: `rate()` over them covers any time. `_max` "
    "and\n"
    "`_min` of collector samples cover the time since the previous scrape by the same client\n"
    "([whose window](../docs/between-scrapes.md)).\n\n";

}  // namespace

std::string metrics_reference() {
  std::string out =
      "# Metrics\n\n"
      "Every metric of the exporter, with its labels, and the features and options of each collector. Generated from "
      "the\n"
      "code by the test `contract/metrics_reference`; `tests/run --update` rewrites it.\n\n"
      "Every series of a GPU has the label `device`, its PCI address. A value that is not available is absent, and\n"
      "`intel_gpu_exporter_feature_available` reports why; its features are listed with each collector. The "
      "Prometheus\n"
      "text format writes an info metric as a gauge with value 1. [Words](../docs/words.md) that every view uses.\n\n";
  out += kWindow;
  const std::vector<CollectorDescription> collectors = describe_collectors();
  add_index(out, collectors);
  for (const CollectorDescription& collector : collectors) add_collector(out, collector);
  out += "## The exporter itself\n\n";
  out += "On every system that has what they describe.\n\n";
  out += kMetricsTable;
  for (const auto metrics : {registry_metrics(), own_metrics()}) {
    for (const MetricDescriptor* metric : metrics) {
      add_row(out, *metric);
      out += '\n';
    }
  }
  return out;
}

}  // namespace igpu::test
