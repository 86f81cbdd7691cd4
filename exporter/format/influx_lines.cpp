// SPDX-License-Identifier: Apache-2.0
#include "format/influx_lines.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "format/number.h"

namespace igpu::exporter {
namespace {

void append_tag_value(std::string& out, std::string_view value) {
  const std::size_t last = value.find_last_not_of('\\');
  value = value.substr(0, last == std::string_view::npos ? 0 : last + 1);
  if (value.empty()) value = "_";  // only backslashes; a tag cannot be empty
  for (const char c : value) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (c == ',' || c == '=' || c == ' ' || control) out += '\\';
    out += control ? ' ' : c;
  }
}

// One field for each bucket, named by its upper bound; counts are cumulative.
void append_influx_histogram(std::string& out, const PageView::Entry& entry) {
  const std::span<const double> bounds = entry.sample->metric->bounds;
  const std::span<const std::uint64_t> counts = entry.list->bucket_counts(*entry.sample);
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    cumulative += counts[i];
    if (i < bounds.size()) {
      append_number(out, bounds[i]);
    } else {
      out += "+Inf";
    }
    out += '=' + std::to_string(cumulative) + ',';
  }
  out += "count=" + std::to_string(cumulative) + ",sum=";
  append_number(out, entry.sample->value);
}

}  // namespace

void write_influx_lines(const PageView& page, std::chrono::system_clock::time_point time, std::string& out) {
  const std::string timestamp =
      std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
  for (const PageView::Family& family : page.families()) {
    const MetricDescriptor& metric = *family.metric;
    for (const PageView::Entry& entry : family.entries) {
      if (!std::isfinite(entry.sample->value)) continue;
      out += metric.name;
      for (std::size_t i = 0; i < metric.label_count; ++i) {
        const std::string_view value = entry.list->label_value(*entry.sample, i);
        if (value.empty()) continue;
        out += ',';
        out += metric.label_names[i];
        out += '=';
        append_tag_value(out, value);
      }
      out += ' ';
      if (metric.kind == Kind::histogram) {
        append_influx_histogram(out, entry);
      } else {
        out += metric.kind == Kind::counter ? "counter=" : "gauge=";
        append_number(out, entry.sample->value);
      }
      out += ' ';
      out += timestamp;
      out += '\n';
    }
  }
}

}  // namespace igpu::exporter
