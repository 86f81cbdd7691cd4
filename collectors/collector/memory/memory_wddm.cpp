// SPDX-License-Identifier: Apache-2.0
#include "collector/memory/memory.h"
#include "kernel/windows/wddm.h"

namespace igpu {
namespace {

// MemoryCollector's metrics under Windows: the segments of the adapter. Resident bytes count as used.
class WddmMemory final : public Collector {
 public:
  explicit WddmMemory(const CollectorContext& context) : gpu_(context.gpu), adapter_(context.machine, context.gpu) {}
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  const Gpu& gpu_;
  WddmGpu adapter_;
};

constexpr FeatureDescriptor kSizeBySegments{MemoryCollector::kSizeFeature.name, MemoryCollector::kSizeFeature.meaning,
                                            Need::windows_rights, false, MemoryCollector::kSizeFeature.kernel_absences};
constexpr FeatureDescriptor kUsedBySegments{MemoryCollector::kUsedFeature.name, MemoryCollector::kUsedFeature.meaning,
                                            Need::windows_rights, false, MemoryCollector::kUsedFeature.kernel_absences};

}  // namespace

void WddmMemory::collect(ScrapePass&, SampleSink& out) {
  const auto regions = adapter_.memory();
  if (!regions) {
    out.missing(kSizeBySegments, regions);
    if (regions.is_absent()) out.absent(kUsedBySegments, regions.absent());
    return;
  }
  out.available(kSizeBySegments);
  out.available(kUsedBySegments);
  for (const RegionUse& region : *regions) {
    out.add(MemoryCollector::kSize, {gpu_.address, region.name}, region.size);
    if (region.used) out.add(MemoryCollector::kUsed, {gpu_.address, region.name}, *region.used);
  }
}

std::unique_ptr<Collector> MemoryCollector::create_wddm(const CollectorContext& context) {
  return std::make_unique<WddmMemory>(context);
}

}  // namespace igpu
