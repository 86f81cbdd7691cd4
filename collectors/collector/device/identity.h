// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "collector/collector.h"
#include "kernel/faults/driver_state.h"

namespace igpu {

// What a GPU is, whether it sleeps, and whether it hung. Always on, and runs while the GPU sleeps.
class IdentityCollector final : public Collector {
 public:
  static const CollectorInfo kInfo;
  explicit IdentityCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  const Gpu& gpu_;
  const std::string device_id_, revision_, numa_node_;
  ErrorState error_state_;
};

}  // namespace igpu
