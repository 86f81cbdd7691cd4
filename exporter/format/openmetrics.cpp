// SPDX-License-Identifier: Apache-2.0
#include "format/openmetrics.h"

#include "format/text_writer.h"

namespace igpu::exporter {
namespace {

// A unit that is not the suffix of the family's name is an error, as is a unit of an info.
bool may_state_unit(const MetricDescriptor& metric, std::string_view family) {
  const std::string_view unit = metric.unit;
  return !unit.empty() && metric.kind != Kind::info && family.size() > unit.size() + 1 && family.ends_with(unit) &&
         family[family.size() - unit.size() - 1] == '_';
}

}  // namespace

std::string_view openmetrics_type(Kind kind) {
  switch (kind) {
    case Kind::counter:
      return "counter";
    case Kind::gauge:
      return "gauge";
    case Kind::info:
      return "info";
    case Kind::histogram:
      return "histogram";
  }
  return "unknown";
}

std::string_view openmetrics_family_name(const MetricDescriptor& metric) {
  std::string_view name = metric.name;
  const std::string_view suffix = metric.kind == Kind::counter ? "_total" : metric.kind == Kind::info ? "_info" : "";
  if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name;
}

void write_openmetrics(const PageView& page, std::string& out) {
  TextWriter writer(out);
  for (const PageView::Family& family : page.families()) {
    const MetricDescriptor& metric = *family.metric;
    const std::string_view name = openmetrics_family_name(metric);
    writer.ensure(3 * name.size() + metric.unit.size() + 2 * metric.help.size() + 64);
    writer.put("# TYPE ");
    writer.put(name);
    writer.put(' ');
    writer.put(openmetrics_type(metric.kind));
    if (may_state_unit(metric, name)) {
      writer.put("\n# UNIT ");
      writer.put(name);
      writer.put(' ');
      writer.put(metric.unit);
    }
    writer.put("\n# HELP ");
    writer.put(name);
    writer.put(' ');
    writer.put_escaped(metric.help, true);
    writer.put('\n');
    write_samples(writer, family);
  }
  writer.ensure(8);
  writer.put("# EOF\n");
  writer.finish();
}

}  // namespace igpu::exporter
