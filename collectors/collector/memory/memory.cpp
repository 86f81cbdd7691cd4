// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "collector/collector.h"
#include "kernel/device/drm_query.h"
#include "kernel/windows/wddm.h"

namespace igpu {
namespace {

constexpr GaugeMetric<Bytes, 2> kSize{
    "intel_gpu_memory_size_bytes", "Size of a memory region.", {"device", "memory_region"}};
constexpr GaugeMetric<Bytes, 2> kUsed{
    "intel_gpu_memory_used_bytes", "Allocated memory of a memory region.", {"device", "memory_region"}};
constexpr std::array<KernelAbsence, 3> kNoSize{{
    {Driver::i915, kEither, "this kernel's i915 driver has no query of memory regions, or no render node",
     "Linux 5.15 or newer"},
    {Driver::xe, kEither, "this kernel's xe driver has no query of memory regions, or no render node",
     "Linux 6.8 or newer"},
    {Driver::wddm, kEither, "Windows does not report the segments of this GPU's memory", ""},
}};
constexpr std::array<KernelAbsence, 4> kNoUsed{{
    {Driver::i915, GpuKind::integrated,
     "the i915 driver keeps no account of system memory, in any version; intel_gpu_process_memory_bytes shows what "
     "processes hold",
     ""},
    {Driver::i915, GpuKind::discrete, "this kernel's i915 driver does not say how much card memory is in use",
     "Linux 6.1 or newer"},
    {Driver::xe, kEither, "this kernel's xe driver does not say how much memory is in use", "Linux 6.17 or newer"},
    {Driver::wddm, kEither, "Windows does not report the segments of this GPU's memory", ""},
}};
constexpr FeatureDescriptor kSizeFeature{"memory_size", "Sizes of the memory regions.", Need::render_node, false,
                                         kNoSize};
constexpr FeatureDescriptor kUsedFeature{
    "memory_used", "GPU memory in use: by the render node and, but for xe since Linux 6.17, CAP_PERFMON.",
    Need::perfmon_capability, false, kNoUsed};
// The same feature while there is no node to query.
constexpr FeatureDescriptor kUsedByNode{kUsedFeature.name, kUsedFeature.meaning, Need::render_node, false, kNoUsed};
// The same features under Windows.
constexpr FeatureDescriptor kSizeBySegments{kSizeFeature.name, kSizeFeature.meaning, Need::windows_rights, false,
                                            kNoSize};
constexpr FeatureDescriptor kUsedBySegments{kUsedFeature.name, kUsedFeature.meaning, Need::windows_rights, false,
                                            kNoUsed};

bool device_has_gone(const Reading<std::vector<RegionUse>>& outcome) {
  return outcome.is_absent() && outcome.absent().os_error == ENODEV;
}

// Size and use of the GPU's memory regions, queried from the driver through the render node. The node stays open; it is
// reopened when its device disappears.
class DrmMemory final : public Collector {
 public:
  explicit DrmMemory(const CollectorContext& context) : machine_(context.machine), gpu_(context.gpu) {}

  void collect(ScrapePass&, SampleSink& out) override {
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

 private:
  Reading<std::vector<RegionUse>> regions(bool may_know_used) {
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

  Absent why_use_is_unknown(const std::vector<RegionUse>& regions, bool may_know_used) const {
    const bool only_system_memory =
        std::ranges::all_of(regions, [](const RegionUse& region) { return region.name == "system"; });
    // i915 does not track system memory.
    if (gpu_.driver == Driver::i915 && only_system_memory) return {Reason::kernel, 0};
    if (!may_know_used) return {Reason::permission, EACCES};
    return {Reason::kernel, 0};
  }

  Machine& machine_;
  const Gpu& gpu_;
  std::unique_ptr<DrmNode> node_;
};

// Under Windows: the segments of the adapter. Resident bytes count as used.
class WddmMemory final : public Collector {
 public:
  explicit WddmMemory(const CollectorContext& context) : gpu_(context.gpu), adapter_(context.machine, context.gpu) {}

  void collect(ScrapePass&, SampleSink& out) override {
    const auto regions = adapter_.memory();
    if (!regions) {
      out.missing(kSizeBySegments, regions);
      if (regions.is_absent()) out.absent(kUsedBySegments, regions.absent());
      return;
    }
    out.available(kSizeBySegments);
    out.available(kUsedBySegments);
    for (const RegionUse& region : *regions) {
      out.add(kSize, {gpu_.address, region.name}, region.size);
      if (region.used) out.add(kUsed, {gpu_.address, region.name}, *region.used);
    }
  }

 private:
  const Gpu& gpu_;
  WddmGpu adapter_;
};

struct MemoryCollector {
  static constexpr CollectorInfo kInfo{
      .name = "memory",
      .help = "Size and use of the GPU's memory regions.",
      .metrics = kListOf<MetricDescriptor, kSize, kUsed>,
      .in_windows = kListOf<MetricDescriptor, kSize, kUsed>,
      .features = kListOf<FeatureDescriptor, kSizeFeature, kUsedFeature>,
      .notes = "Under Windows: the segments of the adapter, vram0 (cards only) and system.",
  };

  static std::unique_ptr<Collector> create(const CollectorContext& context) {
    if (context.gpu.driver == Driver::wddm) return std::make_unique<WddmMemory>(context);
    return std::make_unique<DrmMemory>(context);
  }
};

}  // namespace

CollectorEntry memory_collector() { return entry<MemoryCollector>(); }

}  // namespace igpu
