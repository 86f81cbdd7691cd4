// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counter_window.h"
#include "base/tree_usage.h"
#include "collector/shared/client_gains.h"
#include "kernel/clients/clients.h"
#include "kernel/clients/workload_naming.h"

namespace igpu {

// Counters by workload. The caller passes the result of each scan; this class reads no files and no clock.
//
// How engine time is attributed:
//   - A client's time belongs to the workload of the process that holds it when it is read: the lowest PID, where it
//     is held by several (dup, fork, SCM_RIGHTS). After exec, or in another cgroup, what follows belongs to the new
//     workload, and what was counted stays where it is.
//   - A client of the first scan counts from then on. A client that appears later counts in full, unless it existed
//     before and only became visible (client_gains.h).
//   - A workload keeps what its clients and processes have used after they ended.
//
// At most `most` workloads have counters of their own. Beyond that, the workloads that used the GPUs least in the last
// window are added to "other" with all their counts, and stay there, because a series that returned would restart at
// zero.
class WorkloadTable {
 public:
  static constexpr std::string_view kOther = kOtherWorkload;
  static constexpr std::string_view kUnattributed = kUnattributedWorkload;

  WorkloadTable(std::size_t most, Nanoseconds min_window) : most_(most), min_window_(min_window) {}

  using Seconds5 = std::array<double, kEngineClasses>;
  struct Device {
    Seconds5 busy{};
    std::array<std::optional<Ratio>, kEngineClasses> ratio;
    std::array<bool, kEngineClasses> shown{};  // a client has reported this class
    std::size_t clients = 0;
    std::map<std::pair<std::string, std::string_view>, double> memory;  // (region, state) -> bytes, at the last scan
  };
  struct Workload {
    WorkloadLabels labels;
    std::map<std::string, Device, std::less<>> devices;  // by PCI address
    std::uint64_t started = 0;                           // clients that began
    std::uint64_t user_ticks = 0;
    std::uint64_t system_ticks = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    bool disk_known = false;           // the bytes of at least one process could be read
    std::uint64_t resident_bytes = 0;  // at the last scan
    std::size_t processes = 0;         // at the last scan
  };

  // A process with a workload of its own: it holds a client, or belongs to a tree.
  struct Owner {
    std::uint32_t pid = 0;
    WorkloadLabels labels;
  };
  // The result of one scan.
  struct Scan {
    const ClientSnapshot& snapshot;
    std::span<const Owner> owners;
    // All processes that are counted, sorted by PID: the holders of clients, and their descendants.
    std::span<const TreeProcess> processes;
    std::uint64_t now_ticks = 0;
    // False: some processes are missing. This scan then adds nothing to the counters of processes; the next complete
    // scan adds what was used since the previous complete scan.
    bool all_processes = true;
    std::span<const std::string> asleep = {};  // GPUs that sleep: their clients may be hidden
  };
  void advance(const Scan& scan);
  // The name of the workload of a process of the last scan: its own, or that of its nearest ancestor that has one.
  // Null: it has none.
  const std::string* workload_of(std::uint32_t pid) const;

  // Compares the PMU's engine time by class, read at about the time of the scan, with the time of all workloads; the
  // rest is unattributed. Time before the first call is not counted. Does nothing while cycles of clients wait for the
  // rate of their clock.
  using Measured5 = std::array<std::optional<double>, kEngineClasses>;  // nullopt: the GPU has no such engine
  void measured(const std::string& device, const Measured5& busy);
  // Empty until the first call of measured().
  const std::map<std::string, Measured5, std::less<>>& unattributed() const { return unattributed_; }

  // Sorted by name, with "other" if a workload has been folded into it.
  std::vector<const Workload*> workloads() const;
  // The names of the workloads in "other".
  const std::set<std::string, std::less<>>& folded_names() const { return folded_; }

 private:
  struct ClassState {
    explicit ClassState(Nanoseconds min_window) : window(min_window) {}
    EngineTime time;
    std::uint32_t capacity = 1;
    CounterWindow<1> window;
  };
  struct Group {
    Workload workload;
    std::map<std::string, std::vector<ClassState>, std::less<>> engines;  // by device
    double recent = 0;                                                    // seconds of engines since the last scan
    Nanoseconds last_active{};
  };

  Group& group_of(const WorkloadLabels& labels, Nanoseconds now);
  Group& make(const WorkloadLabels& labels);
  void assign(const Scan& scan);
  void begin_scan();
  void count_clients(const Scan& scan);
  void count_client(const DrmClient& client, const ClientGains::Use& use, Group& group);
  void count_processes(const Scan& scan);
  void add_memory(const DrmClient& client, Device& device) const;
  void finish(const Scan& scan);
  void fold();
  void fold_into_other(Group& group);
  // A GPU that is seen for the first time had no clients in the scans before.
  ClientGains& gains_of(const std::string& device) { return gains_.try_emplace(device, no_clients_).first->second; }

  const std::size_t most_;
  const Nanoseconds min_window_;
  std::map<std::string, Group, std::less<>> groups_;       // by name
  std::map<std::uint32_t, Group*> members_;                // by PID; processes of the last scan
  std::set<std::string, std::less<>> folded_;              // names
  std::map<std::string, ClientGains, std::less<>> gains_;  // by device
  ClientGains no_clients_;
  std::set<std::string, std::less<>> awaiting_rate_;  // GPUs: some of their cycles wait for the rate of their clock
  TreeUsage tree_;

  std::map<std::string, Seconds5, std::less<>> attributed_;  // by device; since the first scan
  struct Beginning {
    std::optional<double> measured;  // the PMU's engine time at the first call of measured()
    double attributed = 0;           // the time of all workloads at that moment
  };
  std::map<std::string, std::array<Beginning, kEngineClasses>, std::less<>> beginnings_;
  std::map<std::string, Measured5, std::less<>> unattributed_;
};

}  // namespace igpu
