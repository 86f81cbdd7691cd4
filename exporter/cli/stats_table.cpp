// SPDX-License-Identifier: Apache-2.0
#include "cli/stats_table.h"

#include <algorithm>
#include <utility>

#include "cli/output.h"
#include "report/gpu_summary.h"
#include "text/wrap.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kTitleWidth = 14;
constexpr std::size_t kRowIndent = 2 + kTitleWidth;
constexpr std::size_t kNameWidth = 30;
constexpr std::size_t kPidWidth = 8;
constexpr std::size_t kCommWidth = 16;  // one more than the kernel keeps of a process name
constexpr std::size_t kMemoryWidth = 12;
constexpr std::size_t kMostProcesses = 10;

// The title stands on a section's first line only.
std::string begin_of_row(std::string_view title, bool first) {
  return "  " + padded(first ? title : std::string_view(), kTitleWidth);
}

void add_section(std::string& out, const SummarySection& section) {
  bool first = true;
  for (const SummaryRow& row : section.rows) {
    out += begin_of_row(section.title, std::exchange(first, false));
    if (row.value.empty()) {
      append_wrapped(out, terminal_safe(row.name), kRowIndent);
    } else {
      out += padded(terminal_safe(row.name), kNameWidth) + row.value;
    }
    out += '\n';
  }
}

void add_processes(std::string& out, const std::vector<SummaryProcess>& processes) {
  const std::size_t shown = std::min(processes.size(), kMostProcesses);
  for (std::size_t i = 0; i < shown; ++i) {
    const SummaryProcess& process = processes[i];
    out += begin_of_row("processes", i == 0) + padded(process.pid, kPidWidth) +
           padded(terminal_safe(process.comm), kCommWidth) + padded(human_bytes(process.resident_bytes), kMemoryWidth);
    append_wrapped(out, process.classes, kRowIndent + kPidWidth + kCommWidth + kMemoryWidth);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  if (processes.size() > shown) {
    out += begin_of_row("", false) + "and " + std::to_string(processes.size() - shown) + " more\n";
  }
}

}  // namespace

std::string stats_table(const PageView& view, std::span<const Gpu> gpus) {
  std::string out;
  for (const Gpu& gpu : gpus) {
    const GpuSummary summary = summarize(view, gpu);
    if (!out.empty()) out += '\n';
    out += gpu.address + "  ";
    append_wrapped(out,
                   (gpu.name.empty() ? "(unknown name)" : terminal_safe(gpu.name)) + " (" + to_string(gpu.kind) + ", " +
                       to_string(gpu.driver) + ")",
                   2);
    out += '\n';
    if (summary.suspended) out += "  suspended; what would wake it is not read\n";
    for (const SummarySection& section : summary.sections) add_section(out, section);
    add_processes(out, summary.processes);
  }
  return out;
}

}  // namespace igpu::exporter
