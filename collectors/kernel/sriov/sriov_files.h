// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "machine/filesystem.h"

// SR-IOV as the host's kernel shows it in the directory of a physical function (PF): the PCI core's files
// (drivers/pci/iov.c), xe's sriov_admin/ (drivers/gpu/drm/xe/xe_sriov_pf_sysfs.c, Linux 6.19) and the prelim_iov/ of
// the out-of-tree driver i915-sriov-dkms. All of them are world-readable, and reading them does not resume the GPU.
namespace igpu {

// A virtual function (VF). Driver and PMU number them from 1; virtfn<number-1> is its link.
struct VfDevice {
  std::uint32_t number = 0;
  std::string address;
  std::string pci_path;  // relative to the sysfs root, without links
  std::string driver;    // "" if none is bound
};

// What the driver lets a function use. Absent EUCLEAN: the GTs differ, so there is no one value.
struct VfShares {
  Reading<Seconds> exec_quantum;  // 0: not limited
  Reading<Seconds> preempt_timeout;
  Reading<Bytes> vram_quota;
};

// PCI allows more, but no GPU has as many. Links with higher numbers are not followed.
inline constexpr std::uint32_t kMostVfs = 256;

// How many VFs are enabled. Cheap enough for every scrape: one read of an open file.
class EnabledVfs {
 public:
  EnabledVfs(const Directory& sys, const Gpu& gpu);
  // Absent: the GPU is no PF. A number that does not fit into the PCI capability (16 bits) is a Failure.
  Reading<std::uint32_t> read();
  // The VFs whose engine time is counted. If this changes while events are open, their counts jump
  // (xe_guc_engine_activity.c moves them), so they must be reopened.
  struct Counted {
    std::uint32_t number = 0;   // 0: no VF is enabled, or the GPU is no PF
    std::uint32_t enabled = 0;  // may be more
    // Changes when the VFs are disabled and enabled again, even if their number is the same.
    std::uint64_t enabling = 0;
    bool operator==(const Counted&) const = default;
  };
  Reading<Counted> counted();

 private:
  const Directory& sys_;
  const std::string first_;
  Attribute file_;
};

class PhysicalFunction {
 public:
  PhysicalFunction(const Directory& sys, const Gpu& gpu);

  // Absent: the GPU is no PF. Read once: a driver sets it when it binds.
  Reading<std::uint32_t> total();
  Reading<std::uint32_t> enabled() { return enabled_.read(); }
  // The VFs that have a link, sorted by number. The links are listed again when `enabled` changes or does not match
  // their number; the drivers are read at every call, except those of VFs that stay bound. Valid until the next call.
  using StaysBound = std::function<bool(std::string_view address)>;
  std::span<const VfDevice> functions(std::uint32_t enabled, const StaysBound& stays_bound);
  // index: into functions().
  VfShares shares(std::size_t index);

 private:
  // One file, or one for each GT.
  using Files = std::vector<Attribute>;
  struct Limits {
    Files exec_quantum, preempt_timeout, vram_quota;
  };
  void list();
  Limits limits_of(std::uint32_t number) const;

  const Directory& sys_;
  const std::string pci_path_;
  const std::string prelim_;  // of i915-sriov-dkms
  Attribute total_file_;
  std::optional<std::uint32_t> total_;
  EnabledVfs enabled_;
  std::optional<std::uint32_t> listed_for_;
  std::vector<VfDevice> functions_;
  std::vector<Limits> limits_;  // by index into functions_
};

// Adverse events of a VF that the PF's driver has counted. The counts restart when the VF is reset.
struct VfAdverseEvents {
  std::uint32_t vf = 0;
  struct Count {
    std::string kind;  // "cat_error", "guc_time"
    std::uint64_t events = 0;
  };
  std::vector<Count> counts;
};
// The text of adverse_events (xe_gt_sriov_pf_monitor.c; intel_iov_event.c of i915-sriov-dkms, whose names of kinds
// become those of xe): one line for each VF with events. Other lines, and numbers above kMostVfs, are skipped; at most
// kMostKinds kinds of a VF are kept.
inline constexpr std::size_t kMostKinds = 16;
std::vector<VfAdverseEvents> parse_adverse_events(std::string_view text);

// The kinds that every driver with SR-IOV counts.
inline constexpr std::array<std::string_view, 6> kAdverseKinds{"cat_error", "engine_reset", "page_fault",
                                                               "guc_time",  "irq_time",     "doorbell_time"};

// The files adverse_events of all GTs, in debugfs, which only root can read. Not kept open: an open file of debugfs
// pins the driver's module.
class AdverseEventFiles {
 public:
  AdverseEventFiles(const Directory& sys, const Gpu& gpu);
  // Added up over the GTs, by VF. Absent{permission}: access to debugfs is denied. Absent{kernel}: the driver has no
  // such file.
  Reading<std::vector<VfAdverseEvents>> read();

 private:
  Reading<Unit> find();

  const Directory& sys_;
  const std::string address_, card_;
  const bool is_xe_;
  std::vector<std::string> files_;
  std::vector<char> buffer_;
};

}  // namespace igpu
