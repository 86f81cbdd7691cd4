// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/fault_text.h"

#include <algorithm>
#include <utility>

#include "base/scan.h"
#include "kernel/device/drm_nodes.h"
#include "kernel/device/engine_class.h"

namespace igpu {
namespace {

constexpr std::size_t kLongestProcessName = 63;  // of a process: the kernel keeps 15 bytes
constexpr std::string_view kCoreDumpTitle = "**** Xe Device Coredump ****";

// The number in front of the rest; nothing is taken if there is none.
std::optional<std::uint32_t> take_digits(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto number = scan_integer<std::uint32_t>(text.substr(0, digits));
  if (number) text.remove_prefix(digits);
  return number;
}

// The number behind "key="; fields are separated by ", ".
std::optional<std::uint32_t> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return take_digits(text);
}

// The engine class behind "key=".
std::optional<EngineClass> class_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return engine_class_of_short_name(text.substr(0, text.find(',')));
}

// "ffmpeg [19639]" or, with the given brackets, "ffmpeg<19639>". The name may hold brackets, too: the last ones count.
std::optional<FaultProcess> process_between(std::string_view text, char open, char close) {
  if (text.empty() || text.back() != close) return std::nullopt;
  const std::size_t at = text.rfind(open);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view digits = text.substr(at + 1, text.size() - at - 2);
  const auto pid = take_digits(digits);
  if (!pid || *pid == 0 || !digits.empty()) return std::nullopt;
  std::string_view name = text.substr(0, at);
  if (name.ends_with(' ')) name.remove_suffix(1);
  FaultProcess process{*pid, unescaped_log_text(name)};
  if (process.name.empty() || process.name.size() > kLongestProcessName) return std::nullopt;
  return process;
}

void take_process(std::string_view text, char open, char close, FaultLine& line) {
  line.process = process_between(text, open, close);
  if (line.process) line.written_name = trim(text.substr(0, text.rfind(open)));
}

// The number of "Tile0: GT1: GUC: CT: " and the like; of Intel's own i915 "GT1 [GUC COMMUNICATION] CT: ".
std::optional<std::uint32_t> take_gt(std::string_view& text) {
  std::optional<std::uint32_t> gt;
  for (const std::string_view word : {"Tile", "GT"}) {
    std::string_view rest = text;
    if (!take_prefix(rest, word)) continue;
    const auto number = take_digits(rest);
    if (!number || !(take_prefix(rest, ": ") || (take_prefix(rest, " ") && rest.starts_with('[')))) continue;
    text = rest;
    if (word == "GT") gt = number;
  }
  for (const std::string_view part : {"GUC: ", "GuC: ", "[GUC COMMUNICATION] ", "CT: "}) (void)take_prefix(text, part);
  return gt;
}

// "xe 0000:03:00.0: [drm] *ERROR* Tile0: GT0: "; false: the line is of no GPU.
bool take_device(std::string_view& text, FaultLine& line) {
  if (take_prefix(text, "i915 ")) {
    line.driver = Driver::i915;
  } else if (take_prefix(text, "xe ")) {
    line.driver = Driver::xe;
  } else {
    return false;
  }
  line.device = text.substr(0, text.find(": "));
  if (!is_pci_address(line.device) || !take_prefix(text = text.substr(line.device.size()), ": ")) return false;
  if (text.starts_with("[drm")) {  // "[drm] " or "[drm:function [xe]] "
    const std::size_t end = text.find("] ");
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 2);
  }
  (void)take_prefix(text, "*ERROR* ");
  line.gt = take_gt(text);
  return true;
}

// The classes of a hang are a mask with a bit for each, in hexadecimal: the first one is taken.
std::optional<EngineClass> class_of_mask(std::string_view mask) {
  const auto bits = scan_integer<std::uint32_t>(mask, 16);
  if (!bits) return std::nullopt;
  constexpr std::array kOrder{EngineClass::render, EngineClass::copy, EngineClass::video, EngineClass::video_enhance,
                              EngineClass::compute};
  for (std::size_t bit = 0; bit < kOrder.size(); ++bit)
    if ((*bits >> bit & 1U) != 0) return kOrder[bit];
  return std::nullopt;
}

// "12:4:487dff88, in ffmpeg [19639]"; up to 5.x "11:0:0x00000000, hang on rcs0, vcs0" and
// "9:1:0xdf10fbff, in Xorg [512], hang on rcs0".
void read_hang(std::string_view text, FaultLine& line) {
  take_until(text, ':');
  const std::string_view mask = take_until(text, ':');
  std::string_view rest = text.substr(std::min(text.find(','), text.size()));
  constexpr std::string_view kOn = ", hang on ";
  if (const std::size_t on = rest.rfind(kOn); on != std::string_view::npos && !rest.ends_with(']')) {
    std::string_view engine = rest.substr(on + kOn.size());
    engine = engine.substr(0, engine.find_first_of("0123456789,"));
    line.engine_class = engine_class_of_short_name(engine);
    rest = rest.substr(0, on);
  } else {
    line.engine_class = class_of_mask(mask);
  }
  if (take_prefix(rest, ", in ")) take_process(rest, '[', ']', line);
}

struct Start {
  std::string_view text;
  FaultSign sign;
};
// By source file; fault_lines_test.cpp has a whole line of each, by kernel version.
constexpr std::array kI915Starts{
    // i915_gpu_error.c, gt/intel_reset.c, gt/intel_gt_pm.c, i915_gem.c, DRM core
    Start{"GPU HANG: ecode ", FaultSign::hang},
    Start{"Resetting chip for ", FaultSign::full_reset},
    Start{"Failed to reset chip", FaultSign::wedged},
    Start{"GPU reset not supported", FaultSign::wedged},
    Start{"Failed to initialise HW following reset", FaultSign::wedged},
    Start{"Failed to initialize GPU, declaring it wedged", FaultSign::wedged},
    Start{"Failed to re-initialize GPU", FaultSign::wedged},
    Start{"device wedged, needs recovery", FaultSign::wedged},
    // gt/uc/intel_guc_submission.c
    Start{"Engine reset failed on ", FaultSign::engine_reset_failed},
    Start{"GuC engine reset request failed on ", FaultSign::engine_reset_failed},
    Start{"TLB invalidation response timed out", FaultSign::firmware},
    Start{"tlb invalidation response timed out", FaultSign::firmware},
    // gt/uc/intel_guc_ct.c
    Start{"No response for request ", FaultSign::firmware},
    Start{"Communication stalled for ", FaultSign::firmware},
    // gt/uc/intel_guc.c
    Start{"Crash dump notification", FaultSign::firmware},
    Start{"Exception notification", FaultSign::firmware},
    Start{"Unknown crash notification", FaultSign::firmware},
    Start{"notification: Crash dump!", FaultSign::firmware},
    Start{"notification: Exception!", FaultSign::firmware},
    Start{"early notification: ", FaultSign::firmware},
    Start{"Received GuC crash dump notification", FaultSign::firmware},
    Start{"Received GuC exception notification", FaultSign::firmware},
    Start{"Received early GuC ", FaultSign::firmware},
    // gt/uc/intel_guc_fw.c, gt/uc/intel_uc.c
    Start{"load failed: status", FaultSign::firmware},
    Start{"GuC load failed: status", FaultSign::firmware},
    Start{"GuC initialization failed ", FaultSign::firmware},
};
constexpr std::array kXeStarts{
    // xe_guc_submit.c
    Start{"Timedout job: ", FaultSign::job_timeout},
    Start{"Engine reset: ", FaultSign::engine_reset},
    Start{"Engine memory CAT error", FaultSign::cat_error},
    Start{"Engine memory cat error", FaultSign::cat_error},  // of earlier kernels, with drm.debug
    Start{"Memory CAT error reported by GuC", FaultSign::cat_error},
    Start{"GuC engine reset request failed on ", FaultSign::engine_reset_failed},
    Start{"Schedule disable failed to respond", FaultSign::firmware},
    Start{"Schedule enable failed to respond", FaultSign::firmware},
    Start{"Suspend fence, guc_id=", FaultSign::firmware},
    Start{"Pending enable failed to respond", FaultSign::firmware},
    Start{"Pending enable/disable failed to respond", FaultSign::firmware},
    // xe_gt.c, xe_gt_pagefault.c, xe_pagefault.c, xe_device.c, DRM core
    Start{"reset started", FaultSign::gt_reset},
    Start{"reset failed (", FaultSign::gt_reset_failed},
    Start{"Fault response: Unsuccessful", FaultSign::page_fault},
    Start{"CRITICAL: Xe has declared device ", FaultSign::wedged},
    Start{"device wedged, needs recovery", FaultSign::wedged},
    // xe_gt_tlb_invalidation.c, xe_tlb_inval.c
    Start{"TLB invalidation fence timeout", FaultSign::firmware},
    Start{"TLB invalidation time'd out", FaultSign::firmware},
    // xe_guc_ct.c
    Start{"Timed out wait for G2H", FaultSign::firmware},
    Start{"No forward process on H2G", FaultSign::firmware},
    Start{"G2H channel broken", FaultSign::firmware},
    Start{"CT dequeue failed", FaultSign::firmware},
    Start{"GuC Crash dump notification", FaultSign::firmware},
    Start{"GuC Exception notification", FaultSign::firmware},
    Start{"Unknown GuC crash notification", FaultSign::firmware},
    // xe_guc.c
    Start{"Received early GuC ", FaultSign::firmware},
    Start{"load failed: status", FaultSign::firmware},
    Start{"GuC load failed: status", FaultSign::firmware},
};

// "[Hardware Error]: HEC Uncorrected FW FD Corruption error reported, bit[2] is set"; the line before it says where.
bool is_firmware_error(std::string_view text) {
  (void)take_prefix(text, "[Hardware Error]: ");
  return text.starts_with("HEC ") && text.find(" error reported") != std::string_view::npos;
}

template <std::size_t N>
bool find_sign(const std::array<Start, N>& starts, std::string_view& text, FaultLine& line) {
  for (const Start& start : starts) {
    if (!take_prefix(text, start.text)) continue;
    line.sign = start.sign;
    return true;
  }
  return false;
}

// "vcs0 reset request timed out: {...}" and "intel_gt_reset_global timed out, cancelling all in-flight rendering.",
// which begin with the name of an engine and of a function.
bool read_named_timeout(std::string_view text, FaultLine& line) {
  const std::string_view rest = text.substr(std::min(text.find(' '), text.size()));
  const bool is_wedged = rest.starts_with(" timed out, cancelling all in-flight rendering");
  line.sign = is_wedged ? FaultSign::wedged : FaultSign::firmware;
  return is_wedged || rest.starts_with(" reset request timed out: ");
}

// "mmio request 0x4509: no reply 0" and, of xe, "GuC mmio request 0x4509: no reply 0".
bool is_request_without_reply(std::string_view text) {
  (void)take_prefix(text, "GuC ");
  return take_prefix(text, "mmio request ") && text.find(": no reply ") != std::string_view::npos;
}

bool read_i915(std::string_view text, FaultLine& line) {
  if (!find_sign(kI915Starts, text, line)) {
    if (read_named_timeout(text, line)) return true;
    line.sign = FaultSign::firmware;
    return is_request_without_reply(text);
  }
  if (line.sign == FaultSign::hang) read_hang(text, line);
  return true;
}

// What a job's line says comes before the name of the process, which may hold anything.
void read_job_timeout(std::string_view text, FaultLine& line) {
  const std::size_t flags = text.find("flags=");
  line.queue = number_after(text.substr(0, flags), "guc_id=");
  if (flags == std::string_view::npos) return;
  const std::size_t in = text.find(" in ", flags);
  if (in != std::string_view::npos) take_process(text.substr(in + 4), '[', ']', line);
}

bool read_xe(std::string_view text, FaultLine& line) {
  if (!find_sign(kXeStarts, text, line)) {
    line.sign = FaultSign::firmware;
    return is_firmware_error(text) || is_request_without_reply(text);
  }
  switch (line.sign) {
    case FaultSign::job_timeout: read_job_timeout(text, line); break;
    case FaultSign::engine_reset:
      line.engine_class = class_after(text, "engine_class=");
      line.queue = number_after(text, "guc_id=");
      break;
    case FaultSign::cat_error:
      line.engine_class = class_after(text, "class=");
      line.queue = number_after(text, "guc_id=");
      break;
    case FaultSign::firmware: line.queue = number_after(text, "guc_id="); break;
    default: break;
  }
  return true;
}

// "i915-0000:28:00.0:ffmpeg[575520]:2!"; of a closed context "i915-0000:28:00.0:ffmpeg<605631>:2!".
bool read_fence(std::string_view text, FaultLine& line) {
  if (!take_prefix(text, "Fence expiration time out i915-") || !text.ends_with('!')) return false;
  line.driver = Driver::i915;
  line.sign = FaultSign::fence_expired;
  // The address has two colons, the third one ends it.
  std::size_t end = std::string_view::npos;
  for (int colons = 0; colons < 3; ++colons) {
    end = text.find(':', end + 1);
    if (end == std::string_view::npos) return false;
  }
  line.device = text.substr(0, end);
  if (!is_pci_address(line.device)) return false;
  text.remove_prefix(end + 1);
  text = text.substr(0, text.rfind(':'));
  take_process(text, '[', ']', line);
  if (!line.process) take_process(text, '<', '>', line);
  return true;
}

// "Timedout job - ..." and what later kernels may write; the others are of xe_guc_exec_queue_lr_cleanup() and
// guc_exec_queue_timedout_job() in xe_guc_submit.c. A queue whose jobs have no end is cleaned up after the firmware
// reset its engine.
HangKind kind_of_dump(std::string_view reason) {
  if (reason.starts_with("LR job cleanup")) return HangKind::engine_reset;
  if (reason.starts_with("Schedule disable failed to respond")) return HangKind::firmware;
  return HangKind::job_timeout;
}

}  // namespace

std::optional<CoreDumpStart> parse_core_dump_start(std::string_view text) {
  if (take_line(text) != kCoreDumpTitle) return std::nullopt;
  CoreDumpStart dump;
  bool has_process = false;
  while (!dump.gt && text.find('\n') != std::string_view::npos) {  // a line that is cut off may lack digits
    std::string_view line = take_line(text);
    if (!has_process && take_prefix(line, "Reason: ")) {
      dump.queue = number_after(line, "guc_id=");
      dump.kind = kind_of_dump(line);
    } else if (!has_process && take_prefix(line, "Process: ")) {
      dump.process = process_between(line, '[', ']');
      has_process = true;
    } else if (take_prefix(line, "**** GT #")) {
      const auto gt = take_digits(line);
      if (line == " ****") dump.gt = gt;
    }
  }
  return dump;
}

std::string_view text_behind_device(std::string_view text) {
  FaultLine line;
  std::string_view rest = text;
  return take_device(rest, line) ? rest : text;
}

std::optional<FaultLine> parse_fault_line(const KernelLogRecord& record) {
  if (record.facility != 0) return std::nullopt;
  FaultLine line;
  std::string_view text = record.text;
  if (read_fence(text, line)) return line;
  line = {};
  if (!take_device(text, line)) return std::nullopt;
  if (!record.pci_device.empty() && record.pci_device != line.device) return std::nullopt;
  const bool is_fault = line.driver == Driver::xe ? read_xe(text, line) : read_i915(text, line);
  return is_fault ? std::optional(std::move(line)) : std::nullopt;
}

// A failed probe: "xe 0000:03:00.0: probe with driver xe failed with error -2", before Linux 6.9 "xe: probe of
// 0000:03:00.0 failed with error -2". A missing file: "... GuC firmware xe/bmg_guc_70.bin: fetch failed -ENOENT", "...
// Direct firmware load for xe/bmg_guc_70.bin failed with error -2"; a GPU works without that of its display (DMC).
// Success: "[drm] Initialized xe 1.1.0 for 0000:03:00.0 on minor 0".
std::optional<ProbeLine> parse_probe_line(const KernelLogRecord& record) {
  const auto has = [&](std::string_view part) { return record.text.find(part) != std::string_view::npos; };
  if (record.facility != 0) return std::nullopt;
  ProbeLine line{.took = has("Initialized ") && has(" on minor ")};
  const bool is_of_file = has("firmware ") && has(" failed");
  for (std::string_view rest = record.text; !rest.empty();) {
    std::string_view word = take_until(rest, ' ');
    if (word.ends_with(':')) word.remove_suffix(1);
    if (line.driver.empty() && (word == "i915" || word == "xe")) line.driver = word;
    if (line.device.empty() && is_pci_address(word)) line.device = word;
    const bool is_file = word.ends_with(".bin") && word.find("_dmc") == std::string_view::npos;
    if (is_of_file && is_file && line.firmware.empty()) line.firmware = word;
    if (rest.empty() && has("probe ") && has(" failed with error ")) line.error = trim(word);
  }
  if (has("Your graphics device ") && has("force_probe")) line.error = "force_probe";
  const bool says = line.took || !line.error.empty() || !line.firmware.empty();
  return says && !line.driver.empty() && !line.device.empty() ? std::optional(line) : std::nullopt;
}

}  // namespace igpu
