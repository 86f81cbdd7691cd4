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
#include "machine/filesystem.h"
#include "source/attribute.h"

// SR-IOV as the host's kernel shows it in the directory of a physical function (PF): the PCI core's files
// (drivers/pci/iov.c), xe's sriov_admin/ (drivers/gpu/drm/xe/xe_sriov_pf_sysfs.c, Linux 6.19) and the prelim_iov/ of
// the out-of-tree driver i915-sriov-dkms. All of them are readable by everybody, and none of them resumes the GPU.
namespace igpu {

// A virtual function (VF). Its number is the one that the driver and the PMU count by, from 1; virtfn<number-1> is its
// link.
struct VirtualFunction {
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

// PCI has room for more; no GPU has as many. Links with higher numbers are not followed.
inline constexpr std::uint32_t kMostVfs = 256;

// How many VFs are enabled. Cheap enough for every scrape: one read of an open file.
class EnabledVfs {
 public:
  EnabledVfs(const Directory& sys, const Gpu& gpu);
  // Absent: the GPU is no PF. A number that does not fit into the PCI capability (16 bits) is a Failure.
  Reading<std::uint32_t> read();
  // Those whose engine time is counted. Events that are open while this changes jump (xe_guc_engine_activity.c moves
  // the counts), so they must be opened again.
  struct Counted {
    std::uint32_t number = 0;    // 0: none are enabled, or the GPU is no PF
    std::uint64_t enabling = 0;  // differs after the VFs were disabled and as many enabled again
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
  // Those that have a link, by number. The links are listed again when `enabled` changes or disagrees with them; the
  // drivers are read at every call, but for functions that stay_bound. Valid until the next call.
  using StaysBound = std::function<bool(std::string_view address)>;
  std::span<const VirtualFunction> functions(std::uint32_t enabled, const StaysBound& stays_bound);
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
  std::vector<VirtualFunction> functions_;
  std::vector<Limits> limits_;  // of each function
};

// What the PF's driver noticed of a VF. The counts restart when the VF is reset.
struct VfAdverseEvents {
  std::uint32_t vf = 0;
  struct Count {
    std::string kind;  // "cat_error", "guc_time"
    std::uint64_t events = 0;
  };
  std::vector<Count> counts;
};
// The text of adverse_events (xe_gt_sriov_pf_monitor.c; intel_iov_event.c of i915-sriov-dkms, whose names of kinds
// become those of xe): one line for each VF that had any. Other lines, and numbers above kMostVfs, are skipped; at most
// kMostKinds kinds of a VF are kept.
inline constexpr std::size_t kMostKinds = 16;
std::vector<VfAdverseEvents> parse_adverse_events(std::string_view text);

// The kinds that every driver with SR-IOV knows.
inline constexpr std::array<std::string_view, 6> kAdverseKinds{"cat_error", "engine_reset", "page_fault",
                                                               "guc_time",  "irq_time",     "doorbell_time"};

// adverse_events in debugfs, which is root's, of all GTs. Not kept open: an open file of debugfs pins the driver's
// module.
class AdverseEventFiles {
 public:
  AdverseEventFiles(const Directory& sys, const Gpu& gpu);
  // Added up over the GTs, by VF. Absent permission: debugfs is not ours to read; kernel: the driver has no such file.
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
