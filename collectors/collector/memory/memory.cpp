// SPDX-License-Identifier: Apache-2.0
#include "collector/memory/memory.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace igpu {
namespace {

bool device_has_gone(const Reading<std::vector<RegionUse>>& outcome) {
  return outcome.is_absent() && outcome.absent().os_error == ENODEV;
}

}  // namespace

std::unique_ptr<Collector> MemoryCollector::create(const CollectorContext& context) {
  if (context.gpu.driver == Driver::wddm) return create_wddm(context);
  return std::make_unique<MemoryCollector>(context);
}

MemoryCollector::MemoryCollector(const CollectorContext& context) : machine_(context.machine), gpu_(context.gpu) {}

Reading<std::vector<RegionUse>> MemoryCollector::regions(bool may_know_used) {
  if (node_) {
    auto outcome = memory_regions(*node_, gpu_.driver, may_know_used);
    if (!device_has_gone(outcome)) return outcome;
    node_.reset();
  }
  if (gpu_.render_node.empty()) return Absent{Reason::kernel, ENOENT};
  auto opened = machine_.drm.open(gpu_.render_node);
  if (!opened) {
    // The kernel has the node, but this container was not given it.
    if (opened.is_absent() && opened.absent().os_error == ENOENT) return Absent{Reason::permission, ENOENT};
    return opened.propagate<std::vector<RegionUse>>();
  }
  node_ = *std::move(opened);
  auto outcome = memory_regions(*node_, gpu_.driver, may_know_used);
  if (device_has_gone(outcome)) node_.reset();  // an open node pins the driver module
  return outcome;
}

Absent MemoryCollector::why_use_is_unknown(const std::vector<RegionUse>& regions, bool may_know_used) const {
  const bool only_system_memory =
      std::ranges::all_of(regions, [](const RegionUse& region) { return region.name == "system"; });
  // i915 does not track system memory.
  if (gpu_.driver == Driver::i915 && only_system_memory) return {Reason::kernel, 0};
  if (!may_know_used) return {Reason::permission, EACCES};
  return {Reason::kernel, 0};
}

void MemoryCollector::collect(ScrapePass&, SampleSink& out) {
  const bool may_know_used = machine_.privileges.is_perfmon_capable();
  const auto found = regions(may_know_used);
  if (!found) {
    out.missing(kSizeFeature, found);
    if (found.is_absent()) out.absent(kUsedByNode, found.absent());
    return;
  }

  out.available(kSizeFeature);
  bool any_use_known = false;
  for (const RegionUse& region : *found) {
    out.add(kSize, {gpu_.address, region.name}, region.size);
    if (!region.used) continue;
    any_use_known = true;
    out.add(kUsed, {gpu_.address, region.name}, *region.used);
  }
  if (any_use_known) {
    out.available(kUsedFeature);
  } else {
    out.absent(kUsedFeature, why_use_is_unknown(*found, may_know_used));
  }
}

}  // namespace igpu
