// SPDX-License-Identifier: Apache-2.0
#include "view/format/json_writer.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "text/text.h"
#include "view/format/text_writer.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kDeviceLabel = "device";
constexpr std::string_view kNpuPrefix = "intel_npu_";
constexpr std::size_t kNone = kMaxLabels;

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
void write_histogram(JsonWriter& json, const PageView::Entry& entry) {
  const std::span<const std::uint64_t> counts = entry.list->bucket_counts(*entry.sample);
  const std::span<const double> bounds = entry.sample->metric->bounds;
  json.name("buckets").begin_array();
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    cumulative += counts[i];
    json.begin_array().value(bounds[i]).value(cumulative).end_array();
  }
  json.end_array().member("count", cumulative + counts.back());
}

void write_sample(JsonWriter& json, const MetricDescriptor& metric, const PageView::Entry& entry, std::size_t omitted) {
  json.begin_object();
  for (std::size_t i = 0; i < metric.label_count; ++i) {
    const std::string_view value = entry.list->label_value(*entry.sample, i);
    if (i != omitted && !value.empty()) json.member(metric.label_names[i], value);
  }
  if (metric.kind == Kind::histogram) write_histogram(json, entry);
  json.member("value", entry.sample->value).end_object();
}

// The "metrics" object of one device, or of the series without a device ("").
void write_metrics(JsonWriter& json, const PageView& page, std::string_view device) {
  json.name("metrics").begin_object();
  for (const PageView::Family& family : page.families()) {
    const std::size_t label = device_label(*family.metric);
    bool found = false;
    for (const PageView::Entry& entry : family.entries) {
      if (device_of(entry, label) != device) continue;
      if (!std::exchange(found, true)) json.name(family.metric->name).begin_array();
      write_sample(json, *family.metric, entry, label);
    }
    if (found) json.end_array();
  }
  json.end_object();
}

void write_devices(JsonWriter& json, const PageView& page, std::span<const std::string_view> devices) {
  json.begin_array();
  for (const std::string_view device : devices) {
    json.begin_object().member("device", device);
    write_metrics(json, page, device);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  std::string valid;
  if (!is_ascii(text)) text = valid = valid_utf8(text);
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void JsonWriter::separate() {
  if (out_.empty()) return;
  if (out_.back() == ':') {
    if (indented_) out_ += ' ';
    return;
  }
  if (out_.back() != '{' && out_.back() != '[') out_ += ',';
  break_line();
}

void JsonWriter::break_line() {
  if (!indented_) return;
  out_ += '\n';
  out_.append(level_, '\t');
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  ++level_;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  --level_;
  if (indented_ && out_.back() == '{') out_ += '\n';  // of an empty object, as in intel_gpu_top
  break_line();
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::name(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ':';
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  out_ += text;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  append_number(out_, number);
  return *this;
}

JsonWriter& JsonWriter::value(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return raw(std::to_string(ms / 1000) + formatted(".%03d", static_cast<int>(ms % 1000)));
}

JsonWriter& JsonWriter::fixed(double number) {
  separate();
  append_fixed(out_, number);
  return *this;
}

void write_reading(JsonWriter& json, const PageView& page, std::chrono::system_clock::time_point time) {
  json.member("version", 1).member("time", time).name("gpus");
  write_devices(json, page, devices_of(page, false));
  if (const auto npus = devices_of(page, true); !npus.empty()) {
    json.name("npus");
    write_devices(json, page, npus);
  }
  write_metrics(json, page, {});
}

void write_json_line(const PageView& page, std::chrono::system_clock::time_point time, std::string& out) {
  JsonWriter json;
  json.begin_object();
  write_reading(json, page, time);
  out += json.end_object().take() + '\n';
}

}  // namespace igpu::exporter
