// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "collector/collector.h"

namespace igpu {

// Traffic of the memory controllers that an integrated GPU shares with the CPU: every read and write of main memory,
// not only the GPU's. Does not include a card's own memory.
class ImcCollector final : public Collector {
 public:
  static const CollectorInfo kInfo;

  explicit ImcCollector(const CollectorContext& context);

  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  // A memory controller, or a channel of it, with its own PMU.
  struct Box {
    std::unique_ptr<PmuSession> pmu;
    std::vector<PmuSession::Handle> reads, writes;
    bool has_counted = false;
  };

  void find_boxes();

  Machine& machine_;
  const Gpu& gpu_;
  CounterMemory& memory_;
  std::vector<Box> boxes_;
};

}  // namespace igpu
