// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/held_counter.h"
#include "collector/collector.h"
#include "kernel/sysfs/host_stat.h"

namespace igpu {

// CPU time by processor and the number of processes of the machine; a node exporter reports more.
class HostCollector final : public MachineCollector {
 public:
  static const CollectorInfo kInfo;

  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  explicit HostCollector(Machine& machine) : machine_(machine) {}

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  void read_processors(SampleSink& out);
  void count_processes(SampleSink& out) const;

  Machine& machine_;
  struct Time {
    HeldCounter counter;  // idle and iowait sometimes step back
    std::uint64_t ticks = 0;
  };
  std::map<std::uint32_t, std::array<Time, kCpuModes>> processors_;
  std::vector<char> buffer_;
};

}  // namespace igpu
