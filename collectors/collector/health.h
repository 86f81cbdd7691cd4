// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "collector/collector.h"
#include "collector/health_part.h"

namespace igpu {

// Faults of the GPUs: hangs, resets, wedged devices, core dumps, and who caused them. One object for all GPUs, because
// the kernel reports the faults of all devices through the same channels.
class HealthCollector final : public MachineCollector {
 public:
  static const CollectorInfo kInfo;
  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  explicit HealthCollector(Machine& machine);

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  std::vector<std::unique_ptr<HealthPart>> parts_;
};

}  // namespace igpu
