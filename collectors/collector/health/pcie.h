// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/collector.h"
#include "kernel/sysfs/pcie_link.h"

namespace igpu {

// The link between a card and its slot.
class PcieCollector final : public Collector {
 public:
  static const CollectorInfo kInfo;
  explicit PcieCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  const Gpu& gpu_;
  PcieLinkFiles link_;
};

}  // namespace igpu
