// SPDX-License-Identifier: Apache-2.0
// Every line about a fault that i915 and xe write, whole, by the source file and by a kernel that writes it so.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>

#include "kernel/faults/fault_text.h"

using namespace igpu;

namespace {

struct KernelLine {
  Driver driver;
  std::string_view file;    // below drivers/gpu/drm/i915 or xe
  std::string_view kernel;  // one that writes it so; "Intel": Intel's own packages of i915
  FaultSign sign;
  std::string_view text;  // behind "i915 0000:03:00.0: "
};
using enum FaultSign;
constexpr KernelLine kLines[] = {
    {Driver::i915, "i915_gpu_error.c", "6.1", hang, "[drm] GPU HANG: ecode 12:1:85dffffb, in ffmpeg [991797]"},
    {Driver::i915, "gt/intel_reset.c", "6.1", full_reset, "[drm] Resetting chip for stopped heartbeat on rcs0"},
    {Driver::i915, "gt/intel_reset.c", "6.8", full_reset, "[drm] GT0: Resetting chip for stopped heartbeat on rcs0"},
    {Driver::i915, "gt/intel_reset.c", "6.1", wedged, "[drm] *ERROR* Failed to reset chip"},
    {Driver::i915, "gt/intel_reset.c", "6.8", wedged, "[drm] *ERROR* GT0: Failed to reset chip"},
    {Driver::i915, "gt/intel_reset.c", "6.1", wedged, "[drm] *ERROR* GPU reset not supported"},
    {Driver::i915, "gt/intel_reset.c", "6.1", wedged, "[drm] *ERROR* Failed to initialise HW following reset (-5)"},
    {Driver::i915, "gt/intel_reset.c", "7.0", wedged,
     "[drm] *ERROR* GT0: Failed to initialise HW following reset (-5)"},
    {Driver::i915, "gt/intel_reset.c", "6.1", wedged,
     "[drm] *ERROR* intel_gt_reset_global timed out, cancelling all in-flight rendering."},
    {Driver::i915, "gt/intel_reset.c", "6.12", wedged,
     "[drm] *ERROR* GT0: intel_gt_reset_global timed out, cancelling all in-flight rendering."},
    {Driver::i915, "gt/intel_reset.c", "6.1", firmware,
     "[drm] *ERROR* rcs0 reset request timed out: {request: 00000001, RESET_CTL: 00000001}"},
    {Driver::i915, "gt/intel_reset.c", "6.12", firmware,
     "[drm] *ERROR* GT1: vecs0 reset request timed out: {request: 00000001, RESET_CTL: 00000001}"},
    {Driver::i915, "gt/intel_gt_pm.c", "6.1", wedged, "[drm] *ERROR* Failed to initialize GPU, declaring it wedged!"},
    {Driver::i915, "i915_gem.c", "6.12", wedged, "[drm] *ERROR* GT0: Failed to initialize GPU, declaring it wedged!"},
    {Driver::i915, "i915_gem.c", "6.1", wedged, "[drm] *ERROR* Failed to re-initialize GPU[0], declaring it wedged!"},
    {Driver::i915, "../drm_drv.c", "6.17", wedged, "[drm] device wedged, needs recovery"},
    {Driver::i915, "gt/uc/intel_guc_submission.c", "6.1", engine_reset_failed,
     "[drm] *ERROR* GuC engine reset request failed on 0:0 (rcs0) because 0x00000000"},
    {Driver::i915, "gt/uc/intel_guc_submission.c", "6.8", engine_reset_failed,
     "[drm] *ERROR* GT0: GUC: Engine reset failed on 0:0 (rcs0) because 0x00000000"},
    {Driver::i915, "gt/uc/intel_guc_submission.c", "6.8", firmware,
     "[drm] *ERROR* GT0: GUC: TLB invalidation response timed out for seqno 7"},
    {Driver::i915, "gt/uc/intel_guc_submission.c", "Intel", firmware,
     "[drm] *ERROR* tlb invalidation response timed out for seqno 7"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "6.1", firmware,
     "[drm] *ERROR* CT: No response for request 0x4509 (fence 12)"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "6.8", firmware,
     "[drm] *ERROR* GT0: GUC: CT: No response for request 0x4509 (fence 12)"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "Intel", firmware,
     "[drm] *ERROR* GT0 [GUC COMMUNICATION] CT: No response for request 0x4509 (fence 12)"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "6.1", firmware,
     "[drm] *ERROR* CT: Communication stalled for 1501 ms, desc status=0,0"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "6.8", firmware,
     "[drm] *ERROR* GT0: GUC: CT: Communication stalled for 1501 ms, desc status=0,0"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "6.1", firmware, "[drm] *ERROR* CT: Received GuC crash dump notification!"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "6.1", firmware, "[drm] *ERROR* CT: Received GuC exception notification!"},
    {Driver::i915, "gt/uc/intel_guc.c", "6.1", firmware, "[drm] *ERROR* Received early GuC crash dump notification!"},
    {Driver::i915, "gt/uc/intel_guc.c", "6.8", firmware, "[drm] *ERROR* GT0: GUC: Crash dump notification"},
    {Driver::i915, "gt/uc/intel_guc.c", "6.8", firmware, "[drm] *ERROR* GT0: GUC: Exception notification"},
    {Driver::i915, "gt/uc/intel_guc.c", "7.0", firmware, "[drm] *ERROR* GT0: GUC: Unknown crash notification: 0x0042"},
    {Driver::i915, "gt/uc/intel_guc.c", "6.8", firmware, "[drm] *ERROR* GT0: GUC: early notification: Crash dump!"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "6.3", firmware, "[drm] *ERROR* GT0: GUC: notification: Crash dump!"},
    {Driver::i915, "gt/uc/intel_guc_ct.c", "6.3", firmware, "[drm] *ERROR* GT0: GUC: notification: Exception!"},
    {Driver::i915, "gt/uc/intel_guc.c", "6.8", firmware, "[drm] *ERROR* GT0: GUC: mmio request 0x4509: no reply 0x0"},
    {Driver::i915, "gt/uc/intel_guc_fw.c", "6.1", firmware, "[drm] GuC load failed: status = 0x40000056"},
    {Driver::i915, "gt/uc/intel_guc_fw.c", "6.8", firmware,
     "[drm] *ERROR* GT0: GUC: load failed: status = 0x400000A0, time = 250ms, freq = 1300MHz, ret = -62"},
    {Driver::i915, "gt/uc/intel_uc.c", "6.1", firmware, "[drm] *ERROR* GuC initialization failed -2"},
    {Driver::i915, "gt/uc/intel_uc.c", "6.8", firmware, "[drm] *ERROR* GT0: GuC initialization failed -ENXIO"},

    {Driver::xe, "xe_guc_submit.c", "6.8", job_timeout, "[drm] GT0: Timedout job: seqno=1, guc_id=3, flags=0x0"},
    {Driver::xe, "xe_guc_submit.c", "6.17", job_timeout,
     "[drm] Tile0: GT0: Timedout job: seqno=1, lrc_seqno=1, guc_id=3, flags=0x0 in ffmpeg [19639]"},
    {Driver::xe, "xe_guc_submit.c", "6.8", engine_reset,
     "[drm] GT0: Engine reset: engine_class=vcs, logical_mask: 0x1, guc_id=27"},
    {Driver::xe, "xe_guc_submit.c", "7.0", engine_reset,
     "[drm] Tile0: GT0: Engine reset: engine_class=vcs, logical_mask: 0x1, guc_id=27, state=0x3"},
    {Driver::xe, "xe_guc_submit.c", "6.8", cat_error,
     "[drm:xe_guc_exec_queue_memory_cat_error_handler [xe]] GT0: Engine memory cat error: engine_class=ccs, "
     "logical_mask: 0x1, guc_id=18"},
    {Driver::xe, "xe_guc_submit.c", "6.17", cat_error,
     "[drm] Tile0: GT0: Engine memory CAT error [18]: class=bcs, logical_mask: 0x1, guc_id=18"},
    {Driver::xe, "xe_guc_submit.c", "6.17", cat_error, "[drm] *ERROR* Tile0: GT0: Memory CAT error reported by GuC!"},
    {Driver::xe, "xe_guc_submit.c", "6.8", engine_reset_failed,
     "[drm] *ERROR* GT0: GuC engine reset request failed on 0:0 because 0x00000000"},
    {Driver::xe, "xe_guc_submit.c", "6.8", firmware, "[drm] GT0: Schedule disable failed to respond"},
    {Driver::xe, "xe_guc_submit.c", "6.17", firmware, "[drm] Tile0: GT0: Schedule disable failed to respond, guc_id=3"},
    {Driver::xe, "xe_guc_submit.c", "6.12", firmware, "[drm] GT0: Schedule enable failed to respond"},
    {Driver::xe, "xe_guc_submit.c", "6.8", firmware, "[drm] GT0: Pending enable failed to respond"},
    {Driver::xe, "xe_guc_submit.c", "6.12", firmware, "[drm] GT0: Pending enable/disable failed to respond"},
    {Driver::xe, "xe_guc_submit.c", "6.12", firmware, "[drm] GT0: Suspend fence, guc_id=3, failed to respond"},
    {Driver::xe, "xe_gt.c", "6.8", gt_reset, "[drm] GT0: reset started"},
    {Driver::xe, "xe_gt.c", "6.8", gt_reset_failed, "[drm] *ERROR* GT0: reset failed (-ETIMEDOUT)"},
    {Driver::xe, "xe_gt_pagefault.c", "6.8", page_fault,
     "[drm:pf_queue_work_func [xe]] Fault response: Unsuccessful -22"},
    {Driver::xe, "xe_gt_pagefault.c", "6.17", page_fault, "[drm] Tile0: GT0: Fault response: Unsuccessful -EINVAL"},
    {Driver::xe, "xe_device.c", "6.17", wedged,
     "[drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\\x0aIOCTLs and executions are blocked."},
    {Driver::xe, "../drm_drv.c", "6.17", wedged, "[drm] device wedged, needs recovery"},
    {Driver::xe, "xe_hw_error.c", "6.19", firmware,
     "[drm] *ERROR* [Hardware Error]: HEC Uncorrected FW FD Corruption error reported, bit[2] is set"},
    {Driver::xe, "xe_gt_tlb_invalidation.c", "6.8", firmware,
     "[drm] *ERROR* GT0: TLB invalidation fence timeout, seqno=32 recv=31"},
    {Driver::xe, "xe_gt_tlb_invalidation.c", "6.8", firmware,
     "[drm] *ERROR* GT0: TLB invalidation time'd out, seqno=32, recv=31"},
    {Driver::xe, "xe_tlb_inval.c", "7.0", firmware, "[drm] *ERROR* TLB invalidation fence timeout, seqno=32 recv=31"},
    {Driver::xe, "xe_guc_ct.c", "6.8", firmware, "[drm] *ERROR* GT0: Timed out wait for G2H, fence 12, action 7000"},
    {Driver::xe, "xe_guc_ct.c", "7.0", firmware,
     "[drm] *ERROR* Tile0: GT0: Timed out wait for G2H, fence 12, action 7000, done no"},
    {Driver::xe, "xe_guc_ct.c", "6.8", firmware, "[drm] *ERROR* GT0: No forward process on H2G, reset required"},
    {Driver::xe, "xe_guc_ct.c", "7.0", firmware,
     "[drm] *ERROR* Tile0: GT1: G2H channel broken on read, type=7, reset required"},
    {Driver::xe, "xe_guc_ct.c", "7.0", firmware, "[drm] *ERROR* Tile0: GT0: CT dequeue failed: -71"},
    {Driver::xe, "xe_guc_ct.c", "7.0", firmware, "[drm] *ERROR* Tile0: GT0: GuC Crash dump notification"},
    {Driver::xe, "xe_guc_ct.c", "7.0", firmware, "[drm] *ERROR* Tile0: GT0: GuC Exception notification"},
    {Driver::xe, "xe_guc_ct.c", "7.0", firmware, "[drm] *ERROR* Tile0: GT0: Unknown GuC crash notification: 0x0042"},
    {Driver::xe, "xe_guc.c", "6.8", firmware, "[drm] *ERROR* GT0: Received early GuC exception notification!"},
    {Driver::xe, "xe_guc.c", "6.8", firmware, "[drm] GuC load failed: status = 0x40000056"},
    {Driver::xe, "xe_guc.c", "7.0", firmware,
     "[drm] *ERROR* Tile0: GT1: load failed: status = 0x80007134, time = 3000ms, freq = 1300MHz (req 1300MHz)"},
    {Driver::xe, "xe_guc.c", "7.0", firmware, "[drm] *ERROR* Tile0: GT0: GuC mmio request 0x4509: no reply 0x0"},
};

std::string whole(const KernelLine& line) {
  return (line.driver == Driver::xe ? "xe 0000:03:00.0: " : "i915 0000:03:00.0: ") + std::string(line.text);
}

}  // namespace

TEST_SUITE_BEGIN("fault_text");

TEST_CASE("every line about a fault, by source file and kernel") {
  for (const KernelLine& expected : kLines) {
    const std::string text = whole(expected);
    INFO(expected.file << ", Linux " << expected.kernel << ": " << text);
    KernelLogRecord record;
    record.text = text;
    const auto line = parse_fault_line(record);
    REQUIRE(line);
    CHECK(line->driver == expected.driver);
    CHECK(line->sign == expected.sign);
    const std::size_t gt = text.find("GT");
    CHECK(line->gt.has_value() == (gt != std::string::npos && text.find_first_of("01", gt) == gt + 2));
  }
}

TEST_CASE("the lines about faults cover the kernels in use") {
  std::set<std::string_view> i915, xe;
  for (const KernelLine& line : kLines) (line.driver == Driver::xe ? xe : i915).insert(line.kernel);
  for (const std::string_view kernel : {"6.1", "6.8", "6.12", "6.17", "7.0"}) {
    INFO(kernel);
    CHECK(i915.contains(kernel));
    CHECK((xe.contains(kernel) || kernel == "6.1"));
  }
}

TEST_CASE("a firmware that rejects a request or answers late is not dead") {
  for (const std::string_view text :
       {"xe 0000:03:00.0: [drm] *ERROR* Tile0: GT0: H2G request 0x550a failed: error 0x30 hint 0",
        "xe 0000:03:00.0: [drm] Tile0: GT0: G2H fence 12, action 7000, done",
        "xe 0000:03:00.0: [drm] Tile0: GT0: G2H fence (12) not found!",
        "xe 0000:03:00.0: [drm] *ERROR* Tile0: GT0: GuC mmio request 0x4509: failure 0x306 hint 0",
        "i915 0000:03:00.0: [drm] GT0: GUC: CT: No response",
        "i915 0000:03:00.0: [drm] GT0 GUC: Crash dump notification",
        "i915 0000:03:00.0: [drm] timed out, cancelling all in-flight rendering."}) {
    INFO(text);
    KernelLogRecord record;
    record.text = text;
    CHECK_FALSE(parse_fault_line(record));
  }
}

TEST_SUITE_END();
