// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/monotonic_counter.h"
#include "collector/collector.h"
#include "kernel/clients/container_names.h"
#include "kernel/clients/workload_naming.h"
#include "kernel/sriov/sriov_files.h"
#include "kernel/sriov/vfio_holders.h"

namespace igpu {

// SR-IOV virtual functions of the GPUs, as their host sees them, and the machines that hold them. One object for all
// GPUs, because one search of /proc finds the holders of all functions.
class SriovCollector final : public MachineCollector {
 public:
  static const CollectorInfo kInfo;
  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  SriovCollector(Machine& machine, WorkloadBy by, std::shared_ptr<WorkloadRuleSource> rules);

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  struct Device {
    Device(const Directory& sys, const Gpu& gpu) : binding(gpu.binding), pf(sys, gpu), adverse(sys, gpu) {}
    std::uint64_t binding;
    PhysicalFunction pf;
    AdverseEventFiles adverse;
    std::span<const VfDevice> functions;  // of this scrape
  };
  struct NamedHolder {
    std::uint64_t serial = 0;  // of the VfioHolders::Holder
    std::string workload;
  };
  // By function and kind. They continue when the GPU is rebound.
  using AdverseCounters = std::map<std::pair<std::uint32_t, std::string>, MonotonicCounter>;

  Device& device_of(const Gpu& gpu);
  bool read_functions(const Gpu& gpu, Device& device, MachinePass& pass, SampleSink& out);
  static void write_shares(const Gpu& gpu, Device& device, SampleSink& out);
  static void write_engines(const Gpu& gpu, const Device& device, MachinePass& pass, SampleSink& out);
  void write_adverse_events(const Gpu& gpu, Device& device, SampleSink& out);
  void write_info(const Gpu& gpu, const Device& device, SampleSink& out);
  std::string_view workload_of(const VfDevice& function);

  Machine& machine_;
  std::shared_ptr<WorkloadRuleSource> rules_;
  std::optional<ContainerNames> names_;
  WorkloadNaming naming_;
  std::shared_ptr<const WorkloadRules> current_rules_;
  VfioHolders holders_;
  std::map<std::string, NamedHolder, std::less<>> named_;    // by PCI address of the function
  std::map<std::string, Device> devices_;                    // by PCI address
  std::map<std::string, AdverseCounters> adverse_counters_;  // by PCI address
};

}  // namespace igpu
