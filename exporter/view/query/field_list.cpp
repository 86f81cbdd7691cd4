// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "igpu/monitor.h"
#include "text/text.h"
#include "view/format/json_writer.h"
#include "view/query/query_output.h"

namespace igpu::exporter::query {
namespace {

struct Why {
  std::string_view reason = "failure";
  std::string cause, hint;
};

// In words: what the finding says; where no feature covers the value, what its reason means.
Why why_not(const Field& field, const Row& row, const Value& value, std::span<const Finding> findings) {
  if (value.is_failure()) return {.cause = value.failure().where + ": " + value.failure().code.message()};
  const std::string_view feature = feature_of(field.model);
  const Reason reason = value.absent().reason;
  Why why{to_string(reason)};
  const auto found = std::ranges::find_if(findings, [&](const Finding& one) {
    return one.feature != nullptr && one.feature->name == feature && !one.available &&
           (one.device == row.gpu.address || one.device.empty());
  });
  if (found != findings.end() && !found->cause.empty()) {
    why.cause = found->cause;
    why.hint = found->hint;
    return why;
  }
  switch (reason) {
    case Reason::permission: why.cause = "not permitted"; break;
    case Reason::kernel: why.cause = "this driver does not report it"; break;
    case Reason::hardware: why.cause = "this GPU has none"; break;
    case Reason::suspended: why.cause = "the GPU is asleep and is not woken"; break;
    case Reason::disabled: why.cause = "its collector is turned off"; break;
  }
  return why;
}

}  // namespace

std::string_view source_of(std::string_view field) {
  const std::string_view metric = metric_of(field);
  for (const CollectorDescription& collector : describe_collectors())
    for (const MetricDescriptor* const one : collector.metrics)
      if (one->name == metric) return collector.name;
  return "discovery";
}

std::string field_list(std::span<const Row> rows, std::span<const Finding> findings) {
  constexpr std::size_t kNameWidth = 35, kUnitWidth = 5, kSourceWidth = 11, kIndent = 4;
  std::string out = padded("FIELD", kNameWidth) + padded("UNIT", kUnitWidth) + padded("SOURCE", kSourceWidth) +
                    (rows.empty() ? "\n" : "READABLE\n");
  for (const Field& field : fields()) {
    std::vector<std::pair<std::string, std::vector<std::string>>> whys;  // with the GPUs for which they hold
    std::size_t unreadable = 0;
    for (const Row& row : rows) {
      const Value value = field.get(row);
      if (value) continue;
      ++unreadable;
      const Why why = why_not(field, row, value, findings);
      const std::string text = std::string(why.reason) + ": " + clean_text(why.cause);
      auto same = std::ranges::find_if(whys, [&](const auto& one) { return one.first == text; });
      if (same == whys.end()) same = whys.insert(whys.end(), {text, {}});
      same->second.push_back(row.gpu.address);
    }
    out += padded(field.name, kNameWidth) + padded(field.unit.plain, kUnitWidth);
    const std::string_view source = source_of(field.model);
    if (rows.empty())
      out += source;
    else
      out += padded(source, kSourceWidth) +
             (unreadable == 0 ? "yes"
              : unreadable == rows.size()
                  ? "no"
                  : "on " + std::to_string(rows.size() - unreadable) + " of " + std::to_string(rows.size()));
    out += '\n';
    for (const auto& [text, devices] : whys) {
      out.append(kIndent, ' ');
      if (devices.size() < rows.size()) {
        append_wrapped(out, devices, kIndent);
        out += ": ";
      }
      append_wrapped(out, text, kIndent + 2);
      out += '\n';
    }
  }
  return out;
}

std::string field_list_json(std::span<const Row> rows, std::span<const Finding> findings) {
  JsonWriter json;
  json.begin_array();
  for (const Field& field : fields()) {
    json.begin_object()
        .member("field", field.name)
        .member("unit", field.unit.plain)
        .member("source", source_of(field.model));
    json.member("metric", metric_of(field.model)).name("gpus").begin_array();
    for (const Row& row : rows) {
      const Value value = field.get(row);
      json.begin_object().member("device", row.gpu.address).member("readable", static_cast<bool>(value));
      if (!value) {
        const Why why = why_not(field, row, value, findings);
        json.member("reason", why.reason).member("cause", why.cause);
        if (!why.hint.empty()) json.member("hint", why.hint);
      }
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
  return json.take() + '\n';
}

}  // namespace igpu::exporter::query
