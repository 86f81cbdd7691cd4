// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "collector/shared/shared_options.h"
#include "igpu/monitor.h"
#include "run/registry.h"

namespace igpu {
namespace {

void check_collectors(std::span<const CollectorEntry> known, const MonitorOptions& options) {
  for (const auto& [name, on] : options.collectors) {
    const auto is_it = [&wanted = name](const CollectorEntry& e) {
      return e.info->name == wanted && !e.info->always_on;
    };
    if (std::ranges::none_of(known, is_it))
      throw OptionError((on ? "collector." : "no-collector.") + name, "there is no such collector");
  }
}

void check_options(std::span<const CollectorEntry> known, const MonitorOptions& options) {
  for (const auto& [flag, values] : options.collector_options) {
    const auto declares_it = [&wanted = flag](const CollectorEntry& e) {
      return std::ranges::any_of(e.info->options,
                                 [&](const OptionDescriptor* option) { return option->flag() == wanted; });
    };
    if (std::ranges::none_of(known, declares_it)) throw OptionError(flag, "there is no such option");
  }
}

CollectorDescription describe(const CollectorInfo& info) {
  return {info.name,
          info.help,
          info.enabled_by_default,
          info.for_commands,
          info.always_on,
          info.metrics,
          info.features,
          info.options,
          info.notes,
          info.reads_processes,
          info.proc_files,
          info.in_windows,
          info.not_in_linux};
}

}  // namespace

std::optional<Nanoseconds> ConfiguredCollector::read_within(Nanoseconds longest) const {
  constexpr Nanoseconds kShortest = std::chrono::milliseconds(100);
  if (is_read_between_scrapes(*entry.info)) {
    const Nanoseconds every = options[kScanInterval];
    if (every > Nanoseconds::zero()) return std::min(std::max(every, kShortest), longest);
  }
  return entry.info->accumulates_on_read ? std::optional(longest) : std::nullopt;
}

bool is_read_between_scrapes(const CollectorInfo& collector) {
  return std::ranges::find(collector.options, &kScanInterval) != collector.options.end();
}

bool is_enabled(const CollectorInfo& collector, const MonitorOptions& options) {
  if (collector.always_on) return true;
  const auto chosen = options.collectors.find(std::string(collector.name));
  if (chosen != options.collectors.end()) return chosen->second;
  const auto is_given = [&](const OptionDescriptor* option) {
    return options.collector_options.contains(option->flag());
  };
  if (std::ranges::any_of(collector.enabled_by, is_given)) return true;
  return collector.enabled_by_default && !options.disable_default_collectors;
}

std::vector<ConfiguredCollector> configure(std::span<const CollectorEntry> collectors, const MonitorOptions& options) {
  check_collectors(collectors, options);
  check_options(collectors, options);
  std::vector<ConfiguredCollector> configured;
  for (const CollectorEntry& entry : collectors) {
    configured.push_back(
        {entry, is_enabled(*entry.info, options), OptionValues(entry.info->options, options.collector_options)});
  }
  return configured;
}

std::vector<CollectorDescription> describe_collectors() {
  std::vector<CollectorDescription> descriptions;
  for (const CollectorEntry& entry : all_collectors()) descriptions.push_back(describe(*entry.info));
  return descriptions;
}

std::vector<CollectorDescription> describe_collectors(const MonitorOptions& options) {
  std::vector<CollectorDescription> descriptions;
  for (const CollectorEntry& entry : all_collectors())
    if (is_enabled(*entry.info, options)) descriptions.push_back(describe(*entry.info));
  return descriptions;
}

bool reads_processes(const MonitorOptions& options) {
  const auto& all = all_collectors();
  return options.simulate.empty() && std::ranges::any_of(all, [&](const CollectorEntry& entry) {
           return entry.info->reads_processes && is_enabled(*entry.info, options);
         });
}

std::span<const MetricDescriptor* const> registry_metrics() { return kRegistryMetrics; }

}  // namespace igpu
