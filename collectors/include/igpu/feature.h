// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "igpu/device.h"
#include "igpu/reading.h"

// What a machine offers and what it does not, reported beside the data: the rows of
// intel_gpu_exporter_feature_available, the lines of `doctor`, the log.
namespace igpu {

// What a feature needs; selects the hint if access is denied.
enum class Need {
  nothing_special,
  perf_events,         // perf_event_open on the GPU's PMU
  awake_event,         // the same, for an event that i915 has since Linux 5.15
  rapl_pmu,            // perf_event_open on the PMU `power`
  powercap_file,       // /sys/class/powercap, readable by root only
  imc_pmu,             // perf_event_open on the PMUs of the memory controllers
  card_hwmon,          // the hwmon device that the driver creates for a card
  render_node,         // opening /dev/dri/renderD*
  other_processes,     // /proc/<pid>/fdinfo of other users
  client_finder,       // BPF programs
  job_events,          // BPF programs on the tracepoints of the driver
  hang_events,         // the same, on those of xe's queues
  descriptor_links,    // /proc/<pid>/fd of other users: which file it is, without reading it (while a GPU sleeps)
  perfmon_capability,  // values that the drivers report only to CAP_PERFMON
  root_only_file,      // files of mode 0400/0600
  tracker_folder,      // where the tracker inside Level Zero programs keeps its pages
  uevents,             // a netlink socket that receives the kernel's uevents
  kernel_log,          // /dev/kmsg
  windows_rights,      // queries of Windows' graphics kernel, and processes of other users
  container_files,     // what kubelet and container engines keep on the host's file system
};

// Permissions that bring a feature: a set. `doctor` knows the commands that grant them in each place.
enum class Rights : std::uint32_t {
  none = 0,
  perfmon = 1 << 0,  // this and the next four: the capabilities
  sys_ptrace = 1 << 1,
  dac_read_search = 1 << 2,
  bpf = 1 << 3,
  syslog = 1 << 4,          // with /dev/kmsg
  render_group = 1 << 5,    // with /dev/dri
  host_processes = 1 << 6,  // the host's PID namespace, and no confinement that hides processes
  host_users = 1 << 7,      // the host's user namespace
  perf_level = 1 << 8,      // kernel.perf_event_paranoid at most 2
};
constexpr Rights operator|(Rights a, Rights b) {
  return static_cast<Rights>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr Rights operator&(Rights a, Rights b) {
  return static_cast<Rights>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}

// Why a kernel does not offer a feature (Reason::kernel), in words. Features themselves are detected, never derived
// from a version, because distributions backport drivers. If the first release is not known exactly, the text names a
// range of releases.
inline constexpr std::nullopt_t kEither = std::nullopt;
struct KernelAbsence {
  std::optional<Driver> driver;  // or kEither
  std::optional<GpuKind> kind;   // or kEither
  std::string_view cause;
  std::string_view hint;          // "": no version has it
  int os_error = 0;               // 0: any
  std::string_view command = {};  // as in Finding
};

struct FeatureDescriptor {
  std::string_view name;     // snake_case, value of the feature label
  std::string_view meaning;  // what the feature covers; a sentence
  Need need = Need::nothing_special;
  bool machine_wide = false;                            // carries no device label
  std::span<const KernelAbsence> kernel_absences = {};  // the first matching row applies
  bool optional = false;                                // saves time only, or needs rights that the packages withhold
};

struct Finding {
  const FeatureDescriptor* feature = nullptr;
  std::string_view collector;
  std::string device;  // "" for machine-wide features
  bool available = true;
  Absent absent{};               // meaningful unless available
  std::string cause{};           // one line: what was denied, by what
  std::string hint{};            // in words: what would bring it; "" if there is no fix
  Rights rights = Rights::none;  // if a permission does
  std::string command = {};      // if a command does that is the same everywhere: "sudo modprobe coretemp"
};

// Whether a feature is absent for a reason that can be fixed: a permission, or a kernel or module that provides it. Not
// missing: what the hardware or every version of the driver lacks, what sleeps, what a flag disables and what is
// optional. `doctor`, the page at `/`, the log and intel_gpu_exporter_feature_missing, which the dashboards query, list
// exactly these.
inline bool is_missing(const Finding& finding) {
  if (finding.available || finding.feature == nullptr || finding.feature->optional) return false;
  return finding.absent.reason == Reason::permission ||
         (finding.absent.reason == Reason::kernel && !finding.hint.empty());
}

// In words, what permission a feature needs: "CAP_PERFMON". "": everybody may read it.
std::string right_for(const FeatureDescriptor& feature);

}  // namespace igpu
