// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/memory.h"
#include "source/wddm.h"

namespace igpu {

// MemoryCollector's metrics under Windows: the segments of the adapter. Resident bytes count as used.
class WddmMemory final : public Collector {
 public:
  explicit WddmMemory(const CollectorContext& context) : gpu_(context.gpu), adapter_(context.machine, context.gpu) {}
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  const Gpu& gpu_;
  WddmGpu adapter_;
};

}  // namespace igpu
