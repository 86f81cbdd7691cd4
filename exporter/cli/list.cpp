// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/output.h"
#include "igpu/monitor.h"

namespace igpu::exporter {
namespace {

// Comma-separated, wrapped.
void add_names(std::string& out, std::string_view title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  constexpr std::size_t kIndent = 16;
  constexpr std::size_t kWidth = 100;
  out += "  " + padded(title, kIndent - 2);
  std::size_t column = kIndent;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string word = names[i] + (i + 1 < names.size() ? "," : "");
    if (i > 0 && column + 1 + word.size() > kWidth) {
      out += '\n';
      out.append(kIndent, ' ');
      column = kIndent;
    } else if (i > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

void add_features(std::string& out, std::span<const Finding> findings, const std::string& device) {
  std::vector<std::string> offered;
  std::vector<std::string> missing;
  for (const Finding& finding : findings) {
    if (finding.device != device || finding.feature == nullptr) continue;
    const std::string name(finding.feature->name);
    if (finding.available) {
      offered.push_back(name);
    } else {
      missing.push_back(name + " (" + std::string(to_string(finding.absent.reason)) + ")");
    }
  }
  add_names(out, "offers", offered);
  add_names(out, "lacks", missing);
}

void add_gpu(std::string& out, const Gpu& gpu, std::span<const Finding> findings) {
  out += gpu.address + "  " + (gpu.name.empty() ? "(unknown name)" : terminal_safe(gpu.name)) + '\n';
  out += "  " + padded("driver", 14) + to_string(gpu.driver) + ", " + to_string(gpu.kind) +
         (gpu.virtual_function ? ", virtual function" : "") + '\n';
  std::string nodes = gpu.card;
  if (!gpu.render_node.empty()) nodes += (nodes.empty() ? "" : ", ") + gpu.render_node;
  out += "  " + padded("nodes", 14) + (nodes.empty() ? "none" : nodes) + '\n';
  add_features(out, findings, gpu.address);
}

}  // namespace

int list(const Options& options) {
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  MonitorOptions monitor_options = options.monitor;
  monitor_options.min_window = std::chrono::milliseconds(1);  // nothing here is measured over time
  Monitor monitor(monitor_options, log);
  const std::vector<Gpu> gpus = monitor.gpus();
  if (gpus.empty()) return print("No Intel GPU bound to i915 or xe.\n");
  const std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
  std::string out;
  for (const Gpu& gpu : gpus) {
    if (!out.empty()) out += '\n';
    add_gpu(out, gpu, result->findings());
  }
  std::string machine;
  add_features(machine, result->findings(), "");
  if (!machine.empty()) out += "\nThis machine\n" + machine;
  return print(out);
}

}  // namespace igpu::exporter
