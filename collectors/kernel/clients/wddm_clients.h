// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/monotonic_counter.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/clients/clients.h"
#include "kernel/windows/wddm.h"
#include "machine/machine.h"

namespace igpu {

// Engine time of a GPU, added up from Windows' performance counters, which count by process.

// "pid_1234_luid_0x00000000_0x0000D1E7_phys_0_eng_3_engtype_VideoDecode"
struct EngineCounterName {
  std::uint32_t pid = 0;
  std::uint64_t luid = 0;
  std::uint32_t adapter = 0;  // index among linked adapters
  std::uint32_t node = 0;
  bool operator==(const EngineCounterName&) const = default;
};
std::optional<EngineCounterName> parse_engine_counter_name(std::string_view name);

// Engine time of all processes together since the first reading. The counter of a process ends with the process; its
// gain up to the last reading is kept.
class ProcessEngineTimes {
 public:
  ProcessEngineTimes(const Machine& machine, std::uint64_t luid) : machine_(machine), luid_(luid) {}

  // Absent: there are no such counters, or none of this GPU.
  Reading<Unit> refresh();
  // Busy time of a node (WddmEngine::node) at the last refresh().
  Nanoseconds busy(std::uint32_t node) const;
  // Number of instances of this GPU with an impossible value, at the last refresh().
  std::size_t refused() const { return refused_; }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // process, node

  const Machine& machine_;
  std::uint64_t luid_;
  std::map<Key, MonotonicCounter> known_;
  std::map<std::uint32_t, std::uint64_t> totals_;  // by node, 100 ns
  std::optional<Nanoseconds> last_;                // refresh
  std::size_t refused_ = 0;
};

// Processes that use a GPU under Windows: those with engine time, or with memory committed to the GPU. Each process is
// one client. The time of engines without a class in Linux is left out.
class WddmClients final : public ClientFinder {
 public:
  explicit WddmClients(Machine& machine) : machine_(machine) {}
  Reading<ClientSnapshot> find(std::span<const std::string> asleep) override;

 private:
  struct Device {
    std::string address;
    GpuKind kind;
    std::shared_ptr<GpuAdapter> adapter;
    std::vector<WddmEngine> engines;
    std::vector<WddmSegment> segments;
    std::uint64_t binding = 0;
  };
  Reading<Unit> find_devices();

  Machine& machine_;
  std::vector<Device> devices_;
};

}  // namespace igpu
