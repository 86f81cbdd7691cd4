// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "collector/collector.h"
#include "kernel/device/drm_query.h"

namespace igpu {

// Size and use of the GPU's memory regions, queried from the driver through the render node. The node stays open; it is
// reopened when its device disappears.
class MemoryCollector final : public Collector {
 public:
  static constexpr GaugeMetric<Bytes, 2> kSize{
      "intel_gpu_memory_size_bytes", "Size of a memory region.", {"device", "memory_region"}};
  static constexpr GaugeMetric<Bytes, 2> kUsed{
      "intel_gpu_memory_used_bytes", "Allocated memory of a memory region.", {"device", "memory_region"}};
  static constexpr std::array<KernelAbsence, 3> kNoSize{{
      {Driver::i915, kEither, "this kernel's i915 driver has no query of memory regions, or no render node",
       "Linux 5.15 or newer"},
      {Driver::xe, kEither, "this kernel's xe driver has no query of memory regions, or no render node",
       "Linux 6.8 or newer"},
      {Driver::wddm, kEither, "Windows does not report the segments of this GPU's memory", ""},
  }};
  static constexpr std::array<KernelAbsence, 4> kNoUsed{{
      {Driver::i915, GpuKind::integrated,
       "the i915 driver keeps no account of system memory, in any version; intel_gpu_process_memory_bytes shows what "
       "processes hold",
       ""},
      {Driver::i915, GpuKind::discrete, "this kernel's i915 driver does not say how much card memory is in use",
       "Linux 6.1 or newer"},
      {Driver::xe, kEither, "this kernel's xe driver does not say how much memory is in use", "Linux 6.17 or newer"},
      {Driver::wddm, kEither, "Windows does not report the segments of this GPU's memory", ""},
  }};
  static constexpr FeatureDescriptor kSizeFeature{"memory_size", "Sizes of the memory regions.", Need::render_node,
                                                  false, kNoSize};
  static constexpr FeatureDescriptor kUsedFeature{
      "memory_used", "GPU memory in use: by the render node and, but for xe since Linux 6.17, CAP_PERFMON.",
      Need::perfmon_capability, false, kNoUsed};
  // The same feature while there is no node to query.
  static constexpr FeatureDescriptor kUsedByNode{kUsedFeature.name, kUsedFeature.meaning, Need::render_node, false,
                                                 kNoUsed};

  static constexpr std::array<const MetricDescriptor*, 2> kMetrics{&kSize, &kUsed};
  static constexpr CollectorInfo kInfo{
      .name = "memory",
      .help = "Size and use of the GPU's memory regions.",
      .metrics = kMetrics,
      .in_windows = kMetrics,
      .features = kListOf<FeatureDescriptor, kSizeFeature, kUsedFeature>,
      .notes = "Under Windows: the segments of the adapter, vram0 (cards only) and system.",
  };

  static std::unique_ptr<Collector> create(const CollectorContext& context);
  static std::unique_ptr<Collector> create_wddm(const CollectorContext& context);
  explicit MemoryCollector(const CollectorContext& context);

  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  Reading<std::vector<RegionUse>> regions(bool may_know_used);
  Absent why_use_is_unknown(const std::vector<RegionUse>& regions, bool may_know_used) const;

  Machine& machine_;
  const Gpu& gpu_;
  std::unique_ptr<DrmNode> node_;
};

}  // namespace igpu
