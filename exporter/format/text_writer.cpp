// SPDX-License-Identifier: Apache-2.0
#include "format/text_writer.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kSeparators = 4;  // ,="" of one label

bool needs_escape(std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"' || c == '\n') return true;
  }
  return false;
}

}  // namespace

void write_samples(TextWriter& writer, const PageView::Family& family) {
  const MetricDescriptor& metric = *family.metric;
  std::size_t fixed = metric.name.size() + TextWriter::kNumberSize + kSeparators;
  for (std::size_t i = 0; i < metric.label_count; ++i) fixed += metric.label_names[i].size() + kSeparators;

  for (const PageView::Entry& entry : family.entries) {
    std::string_view values[kMaxLabels];
    std::size_t size = fixed;
    for (std::size_t i = 0; i < metric.label_count; ++i) {
      values[i] = entry.list->label_value(*entry.sample, i);
      size += 2 * values[i].size();
    }
    writer.ensure(size);

    writer.put(metric.name);
    char before = '{';
    for (std::size_t i = 0; i < metric.label_count; ++i) {
      if (values[i].empty()) continue;
      writer.put(before);
      before = ',';
      writer.put(metric.label_names[i]);
      writer.put(std::string_view("=\""));
      if (needs_escape(values[i])) {
        writer.put_escaped(values[i], true);
      } else {
        writer.put(values[i]);
      }
      writer.put('"');
    }
    if (before == ',') writer.put('}');
    writer.put(' ');
    writer.put_number(entry.sample->value);
    writer.put('\n');
  }
}

}  // namespace igpu::exporter
