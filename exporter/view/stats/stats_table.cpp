// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "text/unicode.h"
#include "view/report/gpu_summary.h"
#include "view/stats/stats_writer.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kTitleWidth = 14;
constexpr std::size_t kRowIndent = 2 + kTitleWidth;
constexpr std::size_t kNameWidth = 30;
constexpr std::size_t kPidWidth = 8;
constexpr std::size_t kCommWidth = 16;  // one more than the longest process name
constexpr std::size_t kMemoryWidth = 12;
constexpr std::size_t kMaxProcesses = 10;

// The title is printed on the first row of a section only.
std::string row_start(std::string_view title, bool first) {
  return "  " + padded(first ? title : std::string_view(), kTitleWidth);
}

void add_section(std::string& out, const SummarySection& section) {
  bool first = true;
  for (const SummaryRow& row : section.rows) {
    out += row_start(section.title, std::exchange(first, false));
    if (row.value.empty()) {
      append_wrapped(out, clean_text(row.name), kRowIndent);
    } else {
      out += padded(clean_text(row.name), kNameWidth) + clean_text(row.value);
    }
    out += '\n';
  }
}

void add_processes(std::string& out, const std::vector<SummaryProcess>& processes) {
  const std::size_t shown = std::min(processes.size(), kMaxProcesses);
  for (std::size_t i = 0; i < shown; ++i) {
    const SummaryProcess& process = processes[i];
    out += row_start("processes", i == 0) + padded(process.pid, kPidWidth) +
           padded(clean_text(process.comm), kCommWidth) + padded(human_bytes(process.resident_bytes), kMemoryWidth);
    append_wrapped(out, process.classes, kRowIndent + kPidWidth + kCommWidth + kMemoryWidth);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  if (processes.size() > shown) {
    out += row_start("", false) + "and " + std::to_string(processes.size() - shown) + " more\n";
  }
}

}  // namespace

std::string stats_table(const PageView& view, std::span<const Gpu> gpus) {
  std::string out;
  const HostModel host = model_of(view);
  for (const Gpu& gpu : gpus) {
    const GpuModel* const model = host.gpu(gpu.address);
    const GpuSummary summary = model != nullptr ? summarize(*model) : GpuSummary();
    if (!out.empty()) out += '\n';
    out += gpu.address + "  ";
    append_wrapped(out,
                   (gpu.name.empty() ? "(unknown name)" : clean_text(gpu.name)) + " (" + to_string(gpu.kind) + ", " +
                       to_string(gpu.driver) + (gpu.virtual_function ? ", virtual function)" : ")"),
                   2);
    out += '\n';
    if (summary.suspended) out += "  asleep; values appear when a program wakes it\n";
    for (const SummarySection& section : summary.sections) add_section(out, section);
    add_processes(out, summary.processes);
  }
  for (const snapshot::Npu& npu : host.npus) {
    if (!out.empty()) out += '\n';
    out += clean_text(npu.address) + "  ";
    append_wrapped(out, clean_text(name_of(npu)) + " (NPU, intel_vpu)", 2);
    out += '\n';
    if (npu.suspended.value_or(false)) out += "  asleep; values appear when a program wakes it\n";
    for (const SummarySection& section : sections_of(npu)) add_section(out, section);
  }
  return out;
}

}  // namespace igpu::exporter
