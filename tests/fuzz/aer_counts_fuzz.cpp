// SPDX-License-Identifier: Apache-2.0
// The files aer_dev_*: whatever they hold, types are few, short and fit for a label, and each count stands in the text.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "kernel/faults/fault_files.h"

FUZZ_TARGET(aer_counts) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto counts = igpu::parse_aer_counts(text);
  FUZZ_CHECK(counts.size() <= 64);
  std::set<std::string> types;
  for (const igpu::AerCount& count : counts) {
    FUZZ_CHECK(types.insert(count.type).second);
    FUZZ_CHECK(!count.type.empty() && count.type.size() <= 40);
    FUZZ_CHECK(std::none_of(count.type.begin(), count.type.end(), [](char c) { return c < ' ' || c > 'z'; }));
    FUZZ_CHECK(!count.type.starts_with("TOTAL_ERR"));
    FUZZ_CHECK(text.find(count.type) != std::string_view::npos);
    FUZZ_CHECK(count.count == 0 || text.find(std::to_string(count.count)) != std::string_view::npos);
  }
  return 0;
}
