// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "igpu/device.h"
#include "kernel/faults/kernel_records.h"

// Parses what i915 and xe write into the kernel log about faults, from Linux 5.10 on: gt/intel_reset.c,
// i915_gpu_error.c and gt/intel_gt_requests.c; xe_guc_submit.c, xe_gt.c, xe_device.c and xe_hw_error.c. The texts are
// not a stable interface, so only the part behind the driver's prefix is parsed, and fields are found by their names.
namespace igpu {

// Kinds of hangs: values of the label kind.
enum class HangKind { job_timeout, hang, engine_reset, cat_error, page_fault, gt_reset, fence_expired, firmware };
inline constexpr std::size_t kHangKinds = 8;
inline constexpr std::array<std::string_view, kHangKinds> kHangKindNames{
    "job_timeout", "hang", "engine_reset", "cat_error", "page_fault", "gt_reset", "fence_expired", "firmware"};
constexpr std::string_view to_string(HangKind kind) { return kHangKindNames[static_cast<std::size_t>(kind)]; }

// The meaning of one line. Several lines may belong to one hang.
enum class FaultSign {
  job_timeout,          // xe
  cat_error,            // xe
  page_fault,           // xe
  engine_reset,         // xe: the firmware reset an engine, which it also does after the normal end of a queue
  engine_reset_failed,  // both
  gt_reset,             // xe
  gt_reset_failed,      // xe
  hang,                 // i915
  fence_expired,        // i915
  full_reset,           // i915
  firmware,             // both: the firmware did not answer, or reported an error of its own
  wedged,               // both
};

struct FaultProcess {
  std::uint32_t pid = 0;  // i915: of the thread that made the context
  std::string name;
  bool operator==(const FaultProcess&) const = default;
};

struct FaultLine {
  FaultSign sign{};
  Driver driver = Driver::i915;
  std::string_view device;             // PCI address
  std::optional<std::uint32_t> gt;     // number; ids of queues are of one GT
  std::optional<std::uint32_t> queue;  // guc_id
  std::optional<EngineClass> engine_class;
  std::optional<FaultProcess> process;
  std::string_view written_name;  // of the process, as the line has it
};

// The part behind "xe 0000:03:00.0: [drm] *ERROR* Tile0: GT0: "; a line of no GPU as it is.
std::string_view text_behind_device(std::string_view text);

// nullopt: a line of a program, or one that reports no fault.
std::optional<FaultLine> parse_fault_line(const KernelLogRecord& record);

// A line about a try of i915 or xe to take a GPU (drivers/base/dd.c, firmware_loader/main.c, xe_uc_fw.c,
// intel_uc_fw.c, i915_pci.c, xe_pci.c, drm_drv.c).
struct ProbeLine {
  std::string device, driver;  // PCI address; i915, xe
  std::string firmware;        // that could not be loaded: "xe/bmg_guc_70.bin"
  std::string error;           // of the probe: "-2"; "force_probe": the driver wants to be forced
  bool took = false;           // it has the GPU: what earlier lines said is over
};
std::optional<ProbeLine> parse_probe_line(const KernelLogRecord& record);

// The start of a core dump of xe (xe_devcoredump.c). Linux 6.8 names no process; until 6.12 there is neither the id of
// the process nor a reason; from 6.13 on the GT that failed is named behind the list of GTs.
struct CoreDumpStart {
  HangKind kind = HangKind::job_timeout;  // from the reason
  std::optional<std::uint32_t> gt, queue;
  std::optional<FaultProcess> process;  // the one that opened the device
};
inline constexpr std::size_t kCoreDumpStartSize = 1024;
// nullopt: not a core dump of xe.
std::optional<CoreDumpStart> parse_core_dump_start(std::string_view text);

}  // namespace igpu
