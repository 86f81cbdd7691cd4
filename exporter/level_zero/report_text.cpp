// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "level_zero/event_rows.h"
#include "level_zero/report.h"
#include "text/formatted.h"
#include "text/unicode.h"

namespace igpu::exporter {
namespace {

std::string seconds(double value) { return formatted("%.3f s", value); }

std::string megabytes(double value) { return formatted("%.2f MB", value); }

std::string times(const LevelZeroSite& site) {
  if (site.count == 1) return "created at " + seconds(site.first_seconds);
  return "created from " + seconds(site.first_seconds) + " to " + seconds(site.last_seconds);
}

std::string state(const LevelZeroProcess& process) {
  if (process.alive) return "running";
  return process.exited ? "exited" : "killed (or _exit, exec, crash)";
}

}  // namespace

bool leaks(const LevelZeroProcess& process) {
  return std::ranges::any_of(process.kinds, [](const LevelZeroKindUse& kind) { return kind.live != 0; });
}

std::string summary_text(const LevelZeroProcess& process, Symbols& symbols) {
  std::string text = clean_text(process.comm) + " (pid " + std::to_string(process.pid) + "): " + state(process) + ", " +
                     std::to_string(process.calls) + " calls, " + std::to_string(process.errors) + " errors\n";
  for (const LevelZeroKindUse& kind : process.kinds) {
    text += "  " + std::string(kind.kind) + ": " + std::to_string(kind.created) + " created, " +
            std::to_string(kind.destroyed) + " destroyed, " + std::to_string(kind.live) + " live";
    if (kind.bytes_allocated != 0)
      text += " (" + std::to_string(kind.bytes) + " bytes; at most " + std::to_string(kind.bytes_peak) + ")";
    if (kind.failed != 0) text += ", " + std::to_string(kind.failed) + " failed";
    text += '\n';
  }
  if (process.invalid_destroys != 0)
    text += "  " + std::to_string(process.invalid_destroys) + " handles destroyed that were not live\n";
  if (process.untracked != 0) text += "  " + std::to_string(process.untracked) + " resources not tracked: no memory\n";
  if (!leaks(process)) return text + "  no leaks\n";
  for (const LevelZeroSite& site : process.live) {
    text += "  LEAK " + std::to_string(site.count) + " " + std::string(site.kind);
    if (site.bytes != 0) text += ", " + std::to_string(site.bytes) + " bytes";
    text += ", " + std::string(site.function) + ", " + times(site);
    const char* before = " by ";
    for (const LevelZeroFrame& frame : site.frames) {
      text += before + clean_text(symbols.describe(frame));
      before = "\n       called by ";
    }
    text += '\n';
  }
  return text;
}

std::string report_text(const ReportInput& input, Symbols& symbols) {
  std::string text = "Level Zero: " + clean_text(input.title) + "\n\n";
  if (!input.rows.rows.empty()) {
    const Statistics statistics = statistics_of(input.rows);
    text += std::to_string(input.rows.rows.size()) + " calls in " + seconds(statistics.seconds) + ", " +
            std::to_string(input.rows.unreadable) + " lines or records unreadable\n";
    text += "most allocated at once: " + std::to_string(statistics.peak_total_bytes) + " bytes\n";
    if (input.rows.with_memory) {
      text += "most resident memory: " + std::to_string(statistics.peak_resident) + " kB\n";
      double grown = 0;
      for (const GrowthEvent& event : statistics.growth) grown += event.megabytes;
      text += "resident memory grew over " + std::to_string(statistics.growth.size()) + " destroys by " +
              megabytes(grown) + " (a guess at leaks, which other allocations mislead)\n";
    }
    text += "most frequent:\n";
    for (const auto& [function, calls] :
         top(statistics, 10, [](const FunctionUse& use) { return static_cast<double>(use.calls); }))
      text += "  " + clean_text(function) + ": " + std::to_string(static_cast<std::uint64_t>(calls)) + '\n';
    text += '\n';
  }
  for (const LevelZeroProcess& process : input.processes) text += summary_text(process, symbols) + '\n';
  return text;
}

}  // namespace igpu::exporter
