// SPDX-License-Identifier: Apache-2.0
#include "view/report/fixes.h"

#include <algorithm>
#include <utility>

#include "igpu/monitor.h"
#include "igpu/words.h"

namespace igpu::exporter {

bool is_optional_fix(const Finding& finding) {
  return !finding.available && finding.feature != nullptr && finding.feature->optional && !finding.hint.empty();
}

std::string title_of(std::span<const GrantStep> steps, const std::string& place, std::size_t granted,
                     std::size_t missing, std::size_t optional) {
  if (missing == 0) return {};
  const auto counted = [](std::size_t count, const char* one, const char* more) {
    return std::to_string(count) + (count == 1 ? one : more);
  };
  if (granted == 0)
    return counted(missing, " value is", " values are") + " missing, and no command here grants " +
           (missing == 1 ? "it." : "them.");
  const std::string values = (granted == missing ? "" : std::to_string(granted) + " of ") +
                             counted(missing, " value", " values") +
                             (optional == 0 ? "" : " and " + counted(optional, " optional one", " optional ones"));
  std::size_t commands = 0;
  for (const GrantStep& step : steps) {
    if (step.lines.empty() && commands == 0) return "This grants " + values + " here (" + place + "):";
    commands += step.lines.size();
  }
  return counted(commands, " command grants ", " commands grant ") + values + ":";
}

std::vector<Fix> fixes_for(std::span<const Finding> findings, bool optional) {
  std::vector<Fix> fixes;
  for (const Finding& finding : findings) {
    if (!is_missing(finding) && !is_optional_fix(finding)) continue;
    // Without a hint, findings are grouped by cause.
    const auto same = [&](const Fix& fix) {
      return fix.hint == finding.hint && (!fix.hint.empty() || fix.causes.front() == finding.cause);
    };
    auto fix = std::ranges::find_if(fixes, same);
    if (fix == fixes.end()) fix = fixes.insert(fixes.end(), {finding.hint, {finding.cause}, {}, {}});
    if (std::ranges::find(fix->causes, finding.cause) == fix->causes.end()) {
      fix->causes.push_back(finding.cause);
    }
    (is_missing(finding) ? fix->findings : fix->optional).push_back(&finding);
  }
  std::erase_if(fixes, [&](const Fix& fix) { return fix.findings.empty() != optional; });
  return fixes;
}

std::string names_of(const Fix& fix) {
  std::vector<std::string_view> names;
  for (const Finding* finding : fix.findings)
    if (!contains(names, finding->feature->name)) names.push_back(finding->feature->name);
  return joined(names);
}

std::vector<std::string> gains_of(const Fix& fix) {
  std::vector<std::pair<const FeatureDescriptor*, std::string>> features;
  std::vector<const Finding*> findings = fix.findings;
  findings.insert(findings.end(), fix.optional.begin(), fix.optional.end());
  for (const Finding* finding : findings) {
    const auto same = [&](const auto& known) { return known.first == finding->feature; };
    auto known = std::ranges::find_if(features, same);
    if (known == features.end()) known = features.insert(features.end(), {finding->feature, ""});
    if (finding->device.empty()) continue;
    known->second += (known->second.empty() ? " of " : ", ") + finding->device;
  }
  std::vector<std::string> lines;
  lines.reserve(features.size());
  for (const auto& [feature, devices] : features)
    lines.push_back(std::string(feature->name) + (feature->optional && !fix.findings.empty() ? " (optional)" : "") +
                    devices + ": " + std::string(feature->meaning));
  return lines;
}

// What the collectors that are always on cannot read is the least useful to know.
std::vector<Finding> most_useful_first(std::span<const Finding> findings) {
  const std::vector<CollectorDescription> collectors = describe_collectors();
  const auto is_always_on = [&](const Finding& finding) {
    return std::ranges::any_of(collectors, [&](const CollectorDescription& collector) {
      return collector.always_on && collector.name == finding.collector;
    });
  };
  std::vector<Finding> ordered(findings.begin(), findings.end());
  std::stable_partition(ordered.begin(), ordered.end(), [&](const Finding& finding) { return !is_always_on(finding); });
  return ordered;
}

}  // namespace igpu::exporter
