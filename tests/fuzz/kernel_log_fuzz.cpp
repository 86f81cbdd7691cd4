// SPDX-License-Identifier: Apache-2.0
// A record of /dev/kmsg, and what it says about a fault; the start of a core dump. Whoever is named in it is masked in
// a report of a kernel bug.
#include <cstdint>
#include <string>
#include <string_view>

#include "fake/capture/bug_files.h"
#include "fuzz/fuzz_target.h"
#include "kernel/device/drm_nodes.h"
#include "kernel/faults/fault_text.h"
#include "kernel/faults/kernel_records.h"

FUZZ_TARGET(kernel_log) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto dump = igpu::parse_core_dump_start(text.substr(0, igpu::kCoreDumpStartSize));
  FUZZ_CHECK(!dump || !dump->queue || text.find("guc_id=" + std::to_string(*dump->queue)) != std::string_view::npos ||
             text.find("guc_id=0") != std::string_view::npos);
  igpu::capture::Masks masks;
  const std::string clean_dump = igpu::masked_dump(text, masks);
  if (dump && dump->process) {
    FUZZ_CHECK(dump->process->pid != 0 && !dump->process->name.empty() && dump->process->name.size() < 64);
    const auto masked = igpu::parse_core_dump_start(clean_dump);
    FUZZ_CHECK(!masked || !masked->process || masked->process->name.starts_with("process"));
  }
  FUZZ_CHECK(igpu::masked_command_line(text).size() <= 4 * size);
  FUZZ_CHECK(igpu::unescaped_log_text(text).size() <= size);
  auto record = igpu::parse_kernel_log_record(text);
  // Most inputs are no record, but may be the text of one.
  if (!record) record.emplace().text = text;
  FUZZ_CHECK(record->text.size() <= size && record->time >= igpu::Nanoseconds::zero());
  const auto line = igpu::parse_fault_line(*record);
  const std::string clean = igpu::masked_log_text(record->text, masks);
  if (!line) return 0;
  FUZZ_CHECK(record->facility == 0);
  FUZZ_CHECK(igpu::is_pci_address(line->device));
  if (!line->process) return 0;
  FUZZ_CHECK(line->process->pid != 0 && !line->process->name.empty() && line->process->name.size() < 64);
  auto masked = *record;
  masked.text = clean;
  const auto again = igpu::parse_fault_line(masked);
  FUZZ_CHECK(!again || !again->process || again->process->name.starts_with("process"));
  return 0;
}
