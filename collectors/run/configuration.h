// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collector/collector.h"
#include "igpu/options.h"

namespace igpu {

// A collector with its configuration.
struct ConfiguredCollector {
  CollectorEntry entry;
  bool enabled = true;  // always_on collectors are always enabled
  OptionValues options;

  // The longest time between two readings, even without scrapes; nullopt if only scrapes read it.
  std::optional<Nanoseconds> read_within(Nanoseconds longest) const;
};

// Whether the collector counts short jobs, so that it is worth reading between scrapes.
bool is_read_between_scrapes(const CollectorInfo& collector);

// Whether the collector runs with these options; nothing else decides it.
bool is_enabled(const CollectorInfo& collector, const MonitorOptions& options);

// All collectors, in the same order. Throws OptionError for an unknown collector or option, and for an invalid value.
std::vector<ConfiguredCollector> configure(std::span<const CollectorEntry> collectors, const MonitorOptions& options);

}  // namespace igpu
