// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/bug_files.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "kernel/faults/fault_files.h"
#include "kernel/faults/kernel_records.h"

namespace igpu {
namespace {

constexpr std::size_t kMostRecords = std::size_t{1} << 18U;  // a machine may write faster than we read
constexpr std::size_t kMostOfWarning = 200;                  // records, with those that come in between

constexpr std::string_view kPciFiles =
    "vendor|device|subsystem_vendor|subsystem_device|revision|class|resource|max_link_speed|max_link_width|"
    "d3cold_allowed|power/control|power/runtime_status|aer_dev_correctable|aer_dev_nonfatal|aer_dev_fatal";
// To read these resumes the device.
constexpr std::string_view kPciFilesAwake = "current_link_speed|current_link_width";
// Below debugfs; likewise.
constexpr std::string_view kFirmwareFiles =
    "info|i915_capabilities|gt0/uc/guc_info|gt0/uc/huc_info|gt0/uc/gsc_info|gt1/uc/guc_info|gt1/uc/huc_info";

std::string why_not_read(const Absent& absent) {
  return absent.reason == Reason::permission ? "not permitted; root may read it" : "not there";
}

class BugFiles {
 public:
  BugFiles(Machine& machine, capture::Masks& masks, CaptureOutcome& outcome)
      : machine_(machine), masks_(masks), outcome_(outcome), buffer_(kMostOfDump) {}

  void add_system() {
    for (const std::string_view file : {"sys/kernel/osrelease", "sys/kernel/version"})
      if (const auto text = machine_.proc.read_start(file, buffer_)) add("proc/" + std::string(file), *text);
    if (const auto command = machine_.proc.read_start("cmdline", buffer_))
      add("proc/cmdline", masked_command_line(*command) + '\n');
    for (const std::string_view driver : {"i915", "xe"}) {
      const std::string folder = "module/" + std::string(driver) + "/parameters";
      for (const std::string& name : sorted_names(machine_.sys, folder)) copy(folder + '/' + name);
    }
  }

  void add_log(std::span<const Gpu> gpus) {
    const auto& log = machine_.kernel_log;
    if (!log) return leave_out("the kernel log is not in it: " + why_not_read(log.absent()) + " (/dev/kmsg)");
    for (std::size_t i = 0; i < kMostRecords; ++i) {
      const auto message = (*log)->next(buffer_);
      if (!message || message->state == KernelMessage::State::none) break;
      if (message->state == KernelMessage::State::lost) {
        if (is_warning_) keep_warning();  // its end may be lost
        continue;
      }
      if (const auto record = parse_kernel_log_record(message->text)) take(*record, gpus);
    }
    if (is_warning_) keep_warning();  // the log ends in it
    cut_log();
    if (log_is_cut_) leave_out("of the kernel log only the newest lines are in it");
    add("kernel-log", log_);
  }

  void add_gpu(const Gpu& gpu) {
    const bool is_awake = !is_asleep(gpu);
    // Up to the root of the bus, which is no device: "devices/pci0000:00".
    for (std::string path = gpu.pci_path; path.find('/') != std::string::npos && !last_part(path).starts_with("pci");
         path.resize(path.rfind('/'))) {
      copy_all(path, kPciFiles);
      if (is_awake) copy_all(path, kPciFilesAwake);  // a sleeping GPU lets the ports above it sleep
    }
    if (is_awake)
      add_firmware(gpu);
    else
      leave_out(gpu.address + " sleeps and was not woken: its firmware and core dump are not in it");
    if (gpu.driver == Driver::i915) add_dump("class/drm/" + gpu.card + "/error");
  }

  void add_core_dumps(std::span<const Gpu> gpus) {
    const auto dumps = CoreDumps(machine_.sys).new_dumps();
    if (!dumps) return;
    for (const CoreDump& dump : *dumps) {
      const auto gpu = std::ranges::find(gpus, dump.pci_path, &Gpu::pci_path);
      // The kernel makes the text of a large one from the GPU's memory.
      if (gpu != gpus.end() && !is_asleep(*gpu)) add_dump(dump.content);
    }
  }

 private:
  void add(const std::string& path, std::string_view text) { outcome_.files["bug/" + path] = text; }
  void leave_out(std::string line) { outcome_.left_out.push_back(std::move(line)); }

  bool copy(const std::string& path) {
    const auto text = machine_.sys.read_start(path, buffer_);
    if (text) add("sys/" + path, *text);
    return static_cast<bool>(text);
  }

  // Whether one of them is there.
  bool copy_all(const std::string& folder, std::string_view files) {
    bool found = false;
    (void)capture::any_word(files, [&](std::string_view file) {
      found = copy(folder + '/' + std::string(file)) || found;
      return false;
    });
    return found;
  }

  bool is_asleep(const Gpu& gpu) {
    const auto status = machine_.sys.read_start(gpu.pci_path + "/power/runtime_status", buffer_);
    return !status || status->starts_with("suspend");
  }

  void add_firmware(const Gpu& gpu) {
    std::string folder = "kernel/debug/dri/" + gpu.address;
    if (!machine_.sys.stat(folder) && gpu.card.starts_with("card")) folder = "kernel/debug/dri/" + gpu.card.substr(4);
    if (!copy_all(folder, kFirmwareFiles))
      leave_out("the firmware of " + gpu.address + " is not in it: root may read debugfs");
  }

  void add_dump(const std::string& path) {
    const std::size_t most = std::min(kMostOfDump, kMostOfDumps - dumped_);
    if (most == 0) return leave_out("sys/" + path + " is not in it: there are too many");
    const auto text = machine_.sys.read_start(path, std::span(buffer_).first(most));
    if (text.is_failure()) return leave_out("sys/" + path + " is not in it: " + text.failure().code.message());
    if (text.is_absent() && text.absent().reason != Reason::permission) return;  // the dump has gone
    if (!text) return leave_out("sys/" + path + " is not in it: " + why_not_read(text.absent()));
    if (text->starts_with("No error state collected")) return;
    dumped_ += text->size();
    if (text->size() == most)
      leave_out("of sys/" + path + " only the first " + std::to_string(most >> 20U) +
                " MiB are in it: copy the file before the driver removes it");
    leave_out("bug/sys/" + path + " holds GPU memory of the program that hung");
    add("sys/" + path, masked_dump(*text, masks_));
  }

  void take(const KernelLogRecord& record, std::span<const Gpu> gpus) {
    if (record.facility != 0) return;
    const auto names = [&](const Gpu& gpu) { return record.text.find(gpu.address) != std::string_view::npos; };
    const bool is_of_gpu =
        is_about_graphics(record.text) || (is_about_device(record.text) && std::ranges::any_of(gpus, names));
    if (record.text.find("[ cut here ]") != std::string_view::npos) {
      if (is_warning_) keep_warning();  // its end is missing
      is_warning_ = true;
      warning_is_ours_ = false;
      seen_of_warning_ = 0;
    }
    if (!is_warning_) {
      if (is_of_gpu) keep(line_of(record));
      return;
    }
    if (is_of_gpu || is_of_warning(record.text)) {
      warning_is_ours_ = warning_is_ours_ || is_of_gpu || record.text.find("[i915]") != std::string_view::npos ||
                         record.text.find("[xe]") != std::string_view::npos;
      warning_ += line_of(record);
    }
    if (++seen_of_warning_ == kMostOfWarning || record.text.find("end trace") != std::string_view::npos) keep_warning();
  }

  void keep_warning() {
    is_warning_ = false;
    if (warning_is_ours_) keep(warning_);
    warning_.clear();
  }

  std::string line_of(const KernelLogRecord& record) {
    std::array<char, 32> time;
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(record.time).count();
    std::snprintf(time.data(), time.size(), "[%5lld.%06lld] ", static_cast<long long>(us / 1'000'000),
                  static_cast<long long>(us % 1'000'000));
    return time.data() + masked_log_text(record.text, masks_) + '\n';
  }

  void keep(std::string_view lines) {
    log_ += lines;
    if (log_.size() > 2 * kMostOfLog) cut_log();
  }

  void cut_log() {
    if (log_.size() <= kMostOfLog) return;
    log_.erase(0, log_.find('\n', log_.size() - kMostOfLog - 1) + 1);
    log_is_cut_ = true;
  }

  Machine& machine_;
  capture::Masks& masks_;
  CaptureOutcome& outcome_;
  std::vector<char> buffer_;
  std::string log_, warning_;
  std::size_t dumped_ = 0;
  bool log_is_cut_ = false, is_warning_ = false, warning_is_ours_ = false;
  std::size_t seen_of_warning_ = 0;  // records
};

}  // namespace

void add_bug_files(Machine& machine, std::span<const Gpu> gpus, capture::Masks& masks, CaptureOutcome& outcome) {
  outcome.left_out.emplace_back(
      "Added below bug/: the drivers' lines of the kernel log, the kernel's command line (values only of what concerns "
      "graphics, PCI and power), PCI devices, firmware from debugfs, error state or core dump.");
  BugFiles bug(machine, masks, outcome);
  bug.add_system();
  bug.add_log(gpus);
  for (const Gpu& gpu : gpus) bug.add_gpu(gpu);
  bug.add_core_dumps(gpus);
}

}  // namespace igpu
