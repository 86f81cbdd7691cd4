// SPDX-License-Identifier: Apache-2.0
#include "view/format/json_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "view/format/json_writer.h"
#include "view/format/number.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kDeviceLabel = "device";
constexpr std::string_view kNpuPrefix = "intel_npu_";
constexpr std::size_t kNone = kMaxLabels;

template <class Number>
void append_chars(std::string& out, Number value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

void append_value(std::string& out, double value) {
  if (std::isfinite(value)) {
    append_number(out, value);
  } else {
    out += "null";
  }
}

void append_time(std::string& out, std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  append_chars(out, ms / 1000);
  out += '.';
  for (std::int64_t rest = ms % 1000, place = 100; place > 0; place /= 10) {
    out += static_cast<char>('0' + rest / place % 10);
  }
}

std::size_t device_label(const MetricDescriptor& metric) {
  for (std::size_t i = 0; i < metric.label_count; ++i) {
    if (metric.label_names[i] == kDeviceLabel) return i;
  }
  return kNone;
}

std::string_view device_of(const PageView::Entry& entry, std::size_t label) {
  return label == kNone ? std::string_view{} : entry.list->label_value(*entry.sample, label);
}

std::vector<std::string_view> devices_of(const PageView& page, bool npus) {
  std::vector<std::string_view> devices;
  for (const PageView::Family& family : page.families()) {
    if (family.metric->name.starts_with(kNpuPrefix) != npus) continue;
    const std::size_t label = device_label(*family.metric);
    if (label == kNone) continue;
    for (const PageView::Entry& entry : family.entries) {
      const std::string_view device = device_of(entry, label);
      if (!device.empty() && std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
    }
  }
  std::ranges::sort(devices);
  return devices;
}

// Cumulative counts by upper bound, as in the text formats; the bucket up to +Inf, which JSON cannot write, is "count".
// The value is the sum of the observations.
void append_json_histogram(std::string& out, const PageView::Entry& entry) {
  const std::span<const std::uint64_t> counts = entry.list->bucket_counts(*entry.sample);
  const std::span<const double> bounds = entry.sample->metric->bounds;
  out += "\"buckets\":[";
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    cumulative += counts[i];
    out += i == 0 ? "[" : ",[";
    append_number(out, bounds[i]);
    out += ',';
    append_chars(out, cumulative);
    out += ']';
  }
  out += "],\"count\":";
  append_chars(out, cumulative + counts.back());
  out += ',';
}

void append_sample(std::string& out, const MetricDescriptor& metric, const PageView::Entry& entry,
                   std::size_t omitted) {
  out += '{';
  for (std::size_t i = 0; i < metric.label_count; ++i) {
    const std::string_view value = entry.list->label_value(*entry.sample, i);
    if (i == omitted || value.empty()) continue;
    append_json_string(out, metric.label_names[i]);
    out += ':';
    append_json_string(out, value);
    out += ',';
  }
  if (metric.kind == Kind::histogram) append_json_histogram(out, entry);
  out += "\"value\":";
  append_value(out, entry.sample->value);
  out += '}';
}

// The "metrics" object of one device, or of the series without a device ("").
void append_metrics(std::string& out, const PageView& page, std::string_view device) {
  out += "\"metrics\":{";
  bool first_family = true;
  for (const PageView::Family& family : page.families()) {
    const std::size_t label = device_label(*family.metric);
    bool first_sample = true;
    for (const PageView::Entry& entry : family.entries) {
      if (device_of(entry, label) != device) continue;
      if (first_sample) {
        if (!first_family) out += ',';
        first_family = false;
        append_json_string(out, family.metric->name);
        out += ":[";
      } else {
        out += ',';
      }
      first_sample = false;
      append_sample(out, *family.metric, entry, label);
    }
    if (!first_sample) out += ']';
  }
  out += '}';
}

void append_devices(std::string& out, const PageView& page, std::span<const std::string_view> devices) {
  out += '[';
  bool first = true;
  for (const std::string_view device : devices) {
    if (!first) out += ',';
    first = false;
    out += "{\"device\":";
    append_json_string(out, device);
    out += ',';
    append_metrics(out, page, device);
    out += '}';
  }
  out += "],";
}

}  // namespace

void write_json_line(const PageView& page, std::chrono::system_clock::time_point time, std::string& out) {
  out += "{\"version\":1,\"time\":";
  append_time(out, time);
  out += ",\"gpus\":";
  append_devices(out, page, devices_of(page, false));
  if (const auto npus = devices_of(page, true); !npus.empty()) {
    out += "\"npus\":";
    append_devices(out, page, npus);
  }
  append_metrics(out, page, {});
  out += "}\n";
}

}  // namespace igpu::exporter
