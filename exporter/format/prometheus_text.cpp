// SPDX-License-Identifier: Apache-2.0
#include "format/prometheus_text.h"

#include "format/text_writer.h"

namespace igpu::exporter {
namespace {

std::string_view type_line_end(Kind kind) {
  if (kind == Kind::counter) return " counter\n";
  return kind == Kind::histogram ? " histogram\n" : " gauge\n";
}

}  // namespace

void write_prometheus_text(const PageView& page, std::string& out) {
  TextWriter writer(out);
  for (const PageView::Family& family : page.families()) {
    const MetricDescriptor& metric = *family.metric;
    writer.ensure(2 * metric.name.size() + 2 * metric.help.size() + 64);
    writer.put("# HELP ");
    writer.put(metric.name);
    writer.put(' ');
    writer.put_escaped(metric.help, false);
    writer.put("\n# TYPE ");
    writer.put(metric.name);
    writer.put(type_line_end(metric.kind));
    write_samples(writer, family);
  }
  writer.finish();
}

}  // namespace igpu::exporter
