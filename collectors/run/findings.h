// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/log.h"
#include "igpu/units.h"
#include "machine/machine.h"

namespace igpu {

// Facts that decide which hint helps.
struct PermissionFacts {
  std::optional<int> perf_event_paranoid;  // /proc/sys/kernel/perf_event_paranoid
  bool has_perfmon = false;
  bool has_ptrace = false;
  bool in_user_namespace = false;  // not the initial one: the kernel ignores capabilities from it
};
PermissionFacts permission_facts(Machine& machine);

struct Advice {
  std::string cause;
  std::string hint;
  Rights rights = Rights::none;
  std::string command = {};
};
// The advice for a machine without an Intel GPU.
Advice no_gpu_advice(const Machine& machine, const std::string& sysfs_root);
// The members as in Finding. gpu: the GPU that lacks the feature; null: the machine does.
Advice advise(const FeatureDescriptor& feature, const Absent& absent, const PermissionFacts& facts,
              const Gpu* gpu = nullptr);
// Of a GPU that sleeps, what is known without waking it: whether the feature is of another system (nullopt), and
// whether no GPU of its kind has it, or no version of its driver.
std::optional<Absent> absence_while_asleep(const FeatureDescriptor& feature, const Gpu& gpu);
// The advice for Windows, where other hints apply.
Advice advise_for_windows(const FeatureDescriptor& feature, const Absent& absent, const Gpu* gpu = nullptr);

// Findings with their explanations. What a machine lacks seldom changes, so the explanations of one scrape are kept for
// the next scrapes, and the list is shared while nothing changes. Any thread.
class KeptFindings {
 public:
  using List = std::shared_ptr<const std::vector<Finding>>;

  // Before anything is explained, once: the exporter's sandbox leaves the file out of reach.
  void read_release(Machine& machine);

  // noted: the findings of this scrape, unexplained. gpu_of(device): the GPU, or nullptr for the whole machine.
  template <class F>
  List explain(std::vector<Finding>&& noted, Machine& machine, F&& gpu_of) {
    const std::lock_guard lock(mutex_);
    const Nanoseconds now = machine.clock.now();
    if (last_ && is_last(noted) && !(depends_on_rights_ && now - explained_at_ >= kRightsBelieved)) return last_;
    explained_at_ = now;
    depends_on_rights_ = false;
    std::optional<PermissionFacts> facts;
    for (Finding& finding : noted)
      if (!finding.available) explain(finding, machine, gpu_of(finding.device), facts);
    last_ = std::make_shared<const std::vector<Finding>>(std::move(noted));
    return last_;
  }

 private:
  // For how long permission facts are used again. A sysctl or a rule of a security module may change while access stays
  // denied; the hint then changes within this time.
  static constexpr Nanoseconds kRightsBelieved = std::chrono::minutes(1);

  bool is_last(std::span<const Finding> noted) const;
  void explain(Finding& finding, Machine& machine, const Gpu* gpu, std::optional<PermissionFacts>& facts);

  std::mutex mutex_;
  List last_;
  Nanoseconds explained_at_{};
  std::string running_;  // release of the kernel; "": unknown
  bool depends_on_rights_ = false;
};

// Logs problems when they begin and when they end, not at every scrape. Any thread.
class ScrapeLog {
 public:
  ScrapeLog(Log& log, bool windows) : log_(log), windows_(windows) {}

  void device_found(const Gpu& gpu);
  void device_gone(const Gpu& gpu);
  void no_device();
  // name: given with --gpu. is_here: a GPU has it now. True if the name is missing and has never been found or
  // reported.
  bool is_first_miss(const std::string& name, bool is_here);
  void no_such_device(const std::string& name, const std::vector<Gpu>& present);

  struct Trouble {
    std::string collector;  // "" for the discovery of GPUs
    std::string device, where, error;
    auto operator<=>(const Trouble&) const = default;
  };
  // Logs what is missing or failed in one scrape. partial: not all collectors ran, so a problem that is not listed may
  // persist. findings: the same list as last time if nothing has changed.
  void scrape(const std::shared_ptr<const std::vector<Finding>>& findings, const std::set<Trouble>& failures,
              bool partial);
  // Logs that a caller's deadline passed before these collectors had finished. Logged once for each collector, and
  // again only after an hour without a late result.
  void late(const std::vector<std::string_view>& collectors, Nanoseconds now);

 private:
  // Collectors by problem: a problem that several collectors share is one line.
  struct Cause {
    std::string device, where, error;
    auto operator<=>(const Cause&) const = default;
  };
  using Causes = std::map<Cause, std::vector<std::string>>;
  void log_findings(const std::vector<Finding>& findings);
  void log_broken(const Causes& causes);
  void log_working(const Causes& causes);

  struct State {
    bool available;
    Absent absent;
  };
  Log& log_;
  const bool windows_;  // hints differ on Windows
  std::mutex mutex_;
  bool no_device_logged_ = false;
  std::set<std::string> known_names_;
  std::map<std::pair<std::string, std::string>, State> known_;  // by (feature, device)
  std::shared_ptr<const std::vector<Finding>> last_findings_;
  std::set<Trouble> failing_;
  std::map<std::string, Nanoseconds, std::less<>> late_;  // by collector: when it was last late
};

}  // namespace igpu
