// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock_rate.h"
#include "base/counter_window.h"
#include "base/tree_usage.h"
#include "collector/shared/client_engine_counter.h"
#include "source/clients.h"

namespace igpu {

// What a workload is called, and what its info metric says.
struct WorkloadLabels {
  std::string workload;
  std::string kind;  // "pod", "container", "systemd_unit", "comm", "user", "rule", "tree"
  std::string name_space;
  std::string pod;
  std::string container;
  std::string container_id;
  std::string pod_uid;
  std::string systemd_unit;
};

// Counts by workload, from scan to scan. Pure: the caller passes what a scan found; nothing is read.
//
// How engine time is attributed:
//   - A client's time belongs to the workload of the process that holds it when it is read: the lowest PID, where it
//     is held by several (dup, fork, SCM_RIGHTS). After exec, or in another cgroup, what follows belongs to the new
//     workload, and what was counted stays where it is.
//   - A client that the first scan finds counts from then on. A later one counts in full, with two exceptions that
//     count from now on: one with more time than fits into the time since the last scan, because it existed before and
//     only became visible; and one that is first seen after an incomplete scan, unless its process is younger than the
//     last complete scan.
//   - A workload keeps what its clients and processes have used after they ended.
//
// At most `most` workloads have counters of their own. Beyond that, those that used the GPUs least in the last window
// are added to "other", with all they have counted, and stay there: a series that returned would begin again at zero.
class WorkloadTable {
 public:
  static constexpr std::string_view kOther = "other";
  static constexpr std::string_view kUnattributed = "unattributed";

  WorkloadTable(std::size_t most, Nanoseconds min_window) : most_(most), min_window_(min_window) {}

  using Seconds5 = std::array<double, kEngineClasses>;
  struct Device {
    Seconds5 busy{};
    std::array<std::optional<Ratio>, kEngineClasses> ratio;
    std::array<bool, kEngineClasses> shown{};  // a client has reported this class
    std::size_t clients = 0;
    std::map<std::pair<std::string, std::string_view>, double> memory;  // (region, state) -> bytes; now
  };
  struct Workload {
    WorkloadLabels labels;
    std::map<std::string, Device, std::less<>> devices;  // by PCI address
    std::uint64_t started = 0;                           // clients
    std::uint64_t user_ticks = 0;
    std::uint64_t system_ticks = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    bool disk_known = false;           // the bytes of some process could be read
    std::uint64_t resident_bytes = 0;  // now
    std::size_t processes = 0;         // now
  };

  // What one scan found.
  struct Scan {
    const ClientSnapshot& snapshot;
    // All processes that are counted, sorted by PID: the holders of clients, and their descendants.
    std::span<const TreeProcess> processes;
    std::uint64_t now_ticks = 0;
    // False: some are missing. What processes have used is not counted then, and the next scan continues from the last
    // one.
    bool all_processes = true;
    // The workload of a process; for one that holds no client, and is no root of a tree, nothing: it belongs to its
    // parent's.
    std::function<std::optional<WorkloadLabels>(std::uint32_t pid)> workload_of;
    // Called for every process that is counted, with the name of its workload; may be empty.
    std::function<void(std::uint32_t pid, std::uint64_t start_ticks, std::string_view workload)> found;
  };
  void advance(const Scan& scan);

  // The PMU's engine time by class since some beginning, read at about the time of the scan: what workloads do not
  // explain. Time before the first call is not counted. Skipped while clients' cycles wait for the rate of their clock.
  using Measured5 = std::array<std::optional<double>, kEngineClasses>;  // nothing: the GPU has no such engine
  void measured(const std::string& device, const Measured5& busy);
  // Empty until something was measured.
  const std::map<std::string, Measured5, std::less<>>& unattributed() const { return unattributed_; }

  // In the order of their names; "other" among them if anybody has been folded.
  std::vector<const Workload*> workloads() const;
  std::size_t folded() const { return folded_.size(); }
  // The names of those in "other".
  const std::set<std::string, std::less<>>& folded_names() const { return folded_; }

  void know_clock(const std::string& device, double hertz) { clocks_[device].know(hertz); }
  // The clocks of GPUs that sleep stand still.
  void pause_clock(const std::string& device) { clocks_[device].pause(); }

 private:
  struct ClassState {
    explicit ClassState(Nanoseconds min_window) : window(min_window) {}
    std::uint64_t nanoseconds = 0;
    std::uint64_t cycles = 0;  // not in nanoseconds yet: the rate of the clock is not known
    std::uint32_t capacity = 1;
    CounterWindow<1> window;
  };
  struct Group {
    Workload workload;
    std::map<std::string, std::vector<ClassState>, std::less<>> engines;  // by device
    double recent = 0;                                                    // seconds of engines since the last scan
    Nanoseconds last_active{};
  };
  struct Client {
    std::array<ClientEngineCounter, kEngineClasses> engines;
    std::uint32_t pid = 0;
    std::uint64_t start_ticks = 0;
    Nanoseconds seen{};
  };
  using ClientKey = std::pair<std::string, std::uint64_t>;  // device, drm-client-id

  Group& group_of(const WorkloadLabels& labels, Nanoseconds now);
  Group& make(const WorkloadLabels& labels);
  static void report_found(const Scan& scan, const std::map<std::uint32_t, Group*>& groups);
  void begin_scan();
  void count_clients(const Scan& scan, const std::map<std::uint32_t, Group*>& groups);
  void count_client(const DrmClient& client, std::uint64_t start_ticks, const Scan& scan, Group& group);
  static bool is_another(const Client& known, const DrmClient& client, std::uint64_t start_ticks,
                         const ClientSnapshot& snapshot);
  void count_processes(const Scan& scan, const std::map<std::uint32_t, Group*>& groups);
  void add_memory(const DrmClient& client, Device& device) const;
  void finish(const Scan& scan);
  bool awaits_rate(const std::string& device) const;
  void fold();
  void fold_into_other(Group& group);
  void forget_clients(const ClientSnapshot& snapshot);

  const std::size_t most_;
  const Nanoseconds min_window_;
  std::map<std::string, Group, std::less<>> groups_;  // by name
  std::set<std::string, std::less<>> folded_;         // names
  std::map<ClientKey, Client> clients_;
  std::map<std::string, ClockRate, std::less<>> clocks_;  // by device
  TreeUsage tree_;
  std::optional<Nanoseconds> last_scan_;
  std::optional<std::uint64_t> whole_scan_ticks_;  // of the last scan that was not cut short, or of the first scan
  bool last_showed_all_ = false;

  std::map<std::string, Seconds5, std::less<>> attributed_;  // by device; since the first scan
  struct Beginning {
    std::optional<double> measured;  // by the PMU, when it was asked first
    double attributed = 0;           // by then
  };
  std::map<std::string, std::array<Beginning, kEngineClasses>, std::less<>> beginnings_;
  std::map<std::string, Measured5, std::less<>> unattributed_;
};

}  // namespace igpu
