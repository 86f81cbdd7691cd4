// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/collector.h"
#include "igpu/device.h"
#include "igpu/log.h"
#include "igpu/units.h"
#include "kernel/device/discovery.h"
#include "kernel/device/drm_query.h"
#include "kernel/faults/fault_text.h"
#include "metric/sample_sink.h"

namespace igpu {

// One scrape, as seen by the parts of the collector `health`.
struct HealthScrape {
  Nanoseconds now{};
  std::span<const Gpu> gpus;            // bound and chosen
  std::span<const std::string> asleep;  // PCI addresses: read nothing that resumes these
  std::set<std::string, std::less<>> faulted =
      {};  // PCI addresses of GPUs for which a channel reported a fault in this scrape

  bool is_awake(std::string_view address) const { return std::ranges::find(asleep, address) == asleep.end(); }
  bool just_faulted(std::string_view address) const { return faulted.contains(address); }
};

// Files that change so seldom that they are read every 20 seconds, and at once after a fault.
class SlowSchedule {
 public:
  static constexpr Nanoseconds kEvery = std::chrono::seconds(20);

  // Makes the next call of is_due() for this device a first call.
  void forget(std::string_view device) {
    if (const auto known = read_.find(device); known != read_.end()) read_.erase(known);
  }

  // True at the first call for this device, and whenever its files must be read again. The caller then reads them.
  bool is_due(std::string_view device, bool just_faulted, Nanoseconds now) {
    const auto known = read_.find(device);
    if (known == read_.end()) {
      read_.emplace(device, now);
      return true;
    }
    if (!just_faulted && now - known->second < kEvery) return false;
    known->second = now;
    return true;
  }

 private:
  std::map<std::string, Nanoseconds, std::less<>> read_;
};

// Reads files that change rarely, for the collector `health`: PCIe error counts, survivability mode, settings of
// runtime power management; also firmware versions. It reads them every 20 seconds, at once after another channel
// reported a fault, and again at the next scrape after a read failed. Only the query of firmware versions can resume a
// GPU; it is sent while the GPU is awake, until the driver answers.
class HealthFiles {
 public:
  static constexpr CounterMetric<Count, 4> kPcieErrors{
      "intel_gpu_pcie_errors_total",
      "PCIe errors (AER) of the GPU, called endpoint, and of the ports above it, as the kernel counts them.",
      {"device", "port", "severity", "type"}};
  static constexpr InfoMetric<Flag, 4> kFirmware{
      "intel_gpu_firmware_info",
      "Firmware that runs on the GPU: HuC with its version (xe), GuC with that of its submission interface (xe).",
      {"device", "uc", "version", "interface"}};
  static constexpr GaugeMetric<Flag, 1> kSurvivability{
      "intel_gpu_survivability_mode",
      "Whether xe holds the card in survivability mode: its firmware failed and must be flashed.",
      {"device"}};
  static constexpr InfoMetric<Flag, 3> kRuntimePm{
      "intel_gpu_runtime_pm_info",
      "Settings of runtime power management: with control on, the GPU never sleeps; d3cold_allowed is 1 or 0.",
      {"device", "control", "d3cold_allowed"}};

  static constexpr std::array<KernelAbsence, 2> kNoPcieErrors{{
      {Driver::i915, kEither, "no PCI function from the GPU to its root port has AER counts",
       "the firmware handles PCIe errors: enable AER in its settings, or boot with pcie_ports=native; in a virtual "
       "machine, read them on the host"},
      {Driver::xe, kEither, "no PCI function from the GPU to its root port has AER counts",
       "the firmware handles PCIe errors: enable AER in its settings, or boot with pcie_ports=native; in a virtual "
       "machine, read them on the host"},
  }};
  static constexpr std::array<KernelAbsence, 6> kNoFirmware{{
      {Driver::i915, kEither, "i915 was told not to load HuC", "remove enable_guc from the options of i915", 95},
      {Driver::i915, kEither, "the file of HuC's firmware is missing",
       "apt install firmware-misc-nonfree, then boot again", 65},
      {Driver::i915, kEither, "i915 could not load HuC", "sudo dmesg | grep -i huc"},
      {Driver::xe, kEither, "xe blocks all calls: the GPU is wedged", "rebind the driver, or boot again", 125},
      {Driver::xe, kEither, "xe reports no firmware: none runs", "sudo dmesg | grep -i -e guc -e huc", 19},
      {Driver::xe, kEither, "this kernel's xe driver has no query of firmware versions", "Linux 6.11 or newer"},
  }};
  // Optional: an operator cannot provide it on a machine without these counts.
  static constexpr FeatureDescriptor kPcieErrorsFeature{
      "pcie_errors", "PCIe errors counted by the kernel.", Need::nothing_special, false, kNoPcieErrors, true};
  static constexpr FeatureDescriptor kFirmwareFeature{
      "firmware", "Firmware of the GPU's microcontrollers.", Need::render_node, false, kNoFirmware, true};
  static constexpr FeatureDescriptor kSurvivabilityFeature{
      "survivability_mode", "Whether the card's firmware failed (xe, discrete).", Need::nothing_special};

  explicit HealthFiles(Machine& machine) : machine_(machine) {}
  // Writes all its samples, from remembered values if nothing is due.
  void collect(const HealthScrape& scrape, SampleSink& out);

 private:
  struct ErrorCount {
    std::string_view port;
    std::string_view severity;
    std::string type;
    std::uint64_t total;
  };
  struct Firmware {
    std::string_view uc;
    std::string version;
    std::string interface;
  };
  struct RuntimePmSettings {
    std::string_view control;
    std::string_view d3cold_allowed;
  };
  // Values read for one GPU.
  struct Files {
    std::uint64_t binding = 0;
    std::optional<Nanoseconds> read_at;  // nullopt: to be read at the next scrape
    std::vector<ErrorCount> errors;
    std::vector<Reading<Unit>> error_files;  // outcomes of the last round
    Reading<bool> survivability = Absent{Reason::hardware};
    Reading<RuntimePmSettings> runtime_pm = Absent{Reason::kernel};
    std::vector<Firmware> firmware;
    Reading<Unit> firmware_outcome = Absent{Reason::suspended};
    unsigned firmware_rounds = 0;  // rounds in which the driver answered
  };

  void read(const Gpu& gpu, Files& files);
  void read_pcie_errors(const Gpu& gpu, Files& files);
  Reading<RuntimePmSettings> runtime_pm(const Gpu& gpu) const;
  void ask_firmware(const Gpu& gpu, Files& files) const;
  static void write(const Gpu& gpu, const Files& files, SampleSink& out);

  Machine& machine_;
  std::map<std::string, Files, std::less<>> files_;             // of bound GPUs, by PCI address
  std::map<std::string, CounterMemory, std::less<>> counters_;  // by PCI address; outlive a binding
};

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
