// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/health/health_incidents.h"
#include "collector/health/health_named_hangs.h"
#include "collector/health/health_wedged.h"
#include "igpu/device.h"
#include "kernel/device/engine_class.h"
#include "kernel/faults/wedged_probe.h"
#include "machine/slow_reads.h"

namespace igpu {

// The state of the collector `health` for one GPU.
struct HealthDevice {
  static constexpr std::size_t kClasses = kEngineClasses + 1;  // the last one: unknown

  HealthDevice(DrmNodes& nodes, const Gpu& gpu)
      : address(gpu.address), binding(gpu.binding), driver(gpu.driver), pci_path(gpu.pci_path), probe(nodes, gpu) {}

  std::string address;
  std::uint64_t binding;
  Driver driver;
  std::string pci_path;
  WedgedProbe probe;
  WedgedVerdict wedged;
  std::optional<Absent> why_unknown;  // why it is not known whether the GPU is wedged
  bool may_have_been_wedged = false;  // before the start: no answer has shown the opposite yet
  HangIncidents incidents;
  NamedHangs named;

  std::uint64_t resets = 0, dumps = 0;
  std::array<std::array<std::uint64_t, kClasses>, kHangKinds> hangs{};
  struct Line {
    std::string text;
    Nanoseconds age{};
  };
  std::optional<Line> first_line;  // of the first hang in this scrape
  struct Process {
    FaultProcess who;
    std::uint64_t hangs = 0;
  };
  std::vector<Process> processes;           // in the order of their last hangs
  std::string unread_dump;                  // path of a new dump's content
  std::unique_ptr<SlowReads> dump;          // reads the start of the dump, for as long as that takes
  bool dump_is_new = false;                 // reading it began in this scrape
  std::map<std::string_view, double> last;  // time of the last line or event by kind, in seconds since 1970
  std::map<std::string_view, std::uint64_t> events;

  bool has_unread_dump() const { return !unread_dump.empty() || dump; }
};

}  // namespace igpu
