// SPDX-License-Identifier: Apache-2.0
#include "collector/collector.h"
#include "collector/fdinfo.h"
#include "collector/memory.h"

namespace igpu {
namespace {

// In the order they run. To add a collector: one line here, its file pair, its test.
constexpr CollectorEntry kCollectors[] = {
    entry<MemoryCollector>(),
    entry<FdinfoCollector>(),
};

}  // namespace

std::span<const CollectorEntry> all_collectors() { return kCollectors; }

}  // namespace igpu
