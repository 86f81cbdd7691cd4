// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collector/collector.h"
#include "igpu/options.h"

namespace igpu {

// A collector as it was configured.
struct ConfiguredCollector {
  CollectorEntry entry;
  bool enabled = true;  // always_on ones are
  OptionValues options;

  // The longest time between two readings, even without scrapes; nothing if it is read by scrapes only.
  std::optional<Nanoseconds> read_within(Nanoseconds longest) const;
};

// Whether the collector counts what ended, so that reading it between scrapes makes a difference.
bool is_read_between_scrapes(const CollectorInfo& collector);

// Whether the collector runs with these options: the one place that decides it.
bool is_enabled(const CollectorInfo& collector, const MonitorOptions& options);

// All of them, in the same order. Throws OptionError for options of collectors that do not exist, and for values that
// an option refuses.
std::vector<ConfiguredCollector> configure(std::span<const CollectorEntry> collectors, const MonitorOptions& options);

}  // namespace igpu
