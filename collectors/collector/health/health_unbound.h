// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/health/health_part.h"
#include "igpu/log.h"
#include "kernel/device/discovery.h"
#include "kernel/faults/fault_text.h"

namespace igpu {

// Intel GPUs that neither i915 nor xe drives, and why. The bus is searched at the start, after the list of GPUs, one of
// these or the bus changed. Without uevents a card that is plugged in, and that no driver takes, is not noticed.
class HealthUnbound {
 public:
  static constexpr GaugeMetric<Flag, 4> kUnbound{"intel_gpu_unbound",
                                                 "An Intel GPU without i915 or xe, or without their DRM node; reason: "
                                                 "no_driver, firmware, other_driver, no_node, guest (passed through).",
                                                 {"device", "device_id", "name", "reason"}};
  static constexpr InfoMetric<Flag, 2> kDriver{
      "intel_gpu_unbound_driver_info", "The driver that has such a GPU: vfio-pci, for example.", {"device", "driver"}};
  static constexpr InfoMetric<Flag, 4> kProbeFailure{
      "intel_gpu_probe_failure_info",
      "A driver's last try to take such a GPU, by the kernel log: its error, or force_probe where it must be forced, "
      "and firmware that is missing.",
      {"device", "driver", "error", "firmware"}};

  // chosen: the names of --gpu; none: all. log may be null.
  HealthUnbound(const Machine& machine, std::span<const std::string> chosen, Log* log)
      : machine_(machine), chosen_(chosen.begin(), chosen.end()), log_(log) {}

  void take(const KernelLogRecord& record);
  void bus_changed() { is_due_ = true; }
  void search();
  void collect(const HealthScrape& scrape, SampleSink& out);

 private:
  std::string_view reason_of(const UnboundGpu& gpu) const;

  const Machine& machine_;
  const std::vector<std::string> chosen_;
  Log* const log_;
  Reading<std::vector<UnboundGpu>> gpus_ = std::vector<UnboundGpu>();
  std::vector<std::pair<std::string, std::uint64_t>> bound_;  // addresses and bindings in the last scrape
  std::map<std::string, ProbeLine, std::less<>> probes_;      // by PCI address
  bool is_due_ = false;
};

}  // namespace igpu
