// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "level_zero/event_rows.h"

namespace igpu::exporter {

struct FunctionUse {
  std::string function;
  std::uint64_t calls = 0;
  double megabytes = 0;  // by which resident memory grew over its calls
  double mean() const { return calls == 0 ? 0 : megabytes / static_cast<double>(calls); }
};

// A destroy over which resident memory grew. That is how the known tool finds leaks; it is a guess.
struct GrowthEvent {
  double seconds = 0;
  std::string function;
  double megabytes = 0;
};

struct Statistics {
  std::vector<FunctionUse> functions;
  std::vector<GrowthEvent> growth;
  double seconds = 0;
  std::int64_t peak_resident = 0;  // kB
  std::uint64_t peak_total_bytes = 0;
};

Statistics statistics_of(const Rows& rows);

// The first `most` functions by what `of` says, largest first; those with 0 are left out.
std::vector<std::pair<std::string, double>> top(const Statistics& statistics, std::size_t most,
                                                double (*of)(const FunctionUse&));

}  // namespace igpu::exporter
