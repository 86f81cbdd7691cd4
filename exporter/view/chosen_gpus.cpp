// SPDX-License-Identifier: Apache-2.0
#include "view/chosen_gpus.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "cli/output.h"
#include "igpu/model.h"
#include "igpu/monitor.h"
#include "text/text.h"
#include "view/report/fixes.h"
#include "view/report/gpu_summary.h"
#include "view/workloads/rules_file.h"

namespace igpu::exporter {
namespace {

using Names = std::vector<std::string>;

std::string names_of(const Gpu& gpu) {
  std::string nodes = gpu.card;
  if (!gpu.render_node.empty()) nodes += (nodes.empty() ? "" : ", ") + gpu.render_node;
  return gpu.address + (nodes.empty() ? "" : " (" + nodes + ")");
}

struct SilentLog final : Log {
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

constexpr std::size_t kListIndent = 16;

void add_names(std::string& out, std::string_view title, const Names& names) {
  if (names.empty()) return;
  out += "  " + padded(title, kListIndent - 2);
  append_wrapped(out, names, kListIndent);
  out += '\n';
}

void add_features(std::string& out, std::span<const Finding> findings, const std::string& device) {
  Names offered;
  Names missing;
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

// Virtual functions, one a line, of a GPU that can have some.
void add_functions(std::string& out, const GpuModel& gpu) {
  add_names(out, "functions", functions_enabled(gpu).empty() ? Names{} : Names{functions_enabled(gpu)});
  for (const snapshot::VirtualFunction& function : gpu.functions) {
    out += std::string(kListIndent, ' ') + clean_text(name_of(function)) + "  " + clean_text(function.address);
    if (!function.workload.empty()) out += "  " + clean_text(function.workload);
    out += '\n';
  }
}

void add_gpu(std::string& out, const Gpu& gpu, const GpuModel* model, std::span<const Finding> findings) {
  out += gpu.address + "  ";
  append_wrapped(out, gpu.name.empty() ? "(unknown name)" : clean_text(gpu.name), 2);
  out += "\n  " + padded("driver", kListIndent - 2) + to_string(gpu.driver) + ", " + to_string(gpu.kind) +
         (gpu.virtual_function ? ", virtual function" : "") + '\n';
  Names nodes;
  for (const std::string& node : {gpu.card, gpu.render_node}) {
    if (!node.empty()) nodes.push_back(node);
  }
  add_names(out, "nodes", nodes.empty() ? Names{"none"} : nodes);
  if (model != nullptr) add_functions(out, *model);
  add_features(out, findings, gpu.address);
}

// Its features are the machine's.
void add_npu(std::string& out, const snapshot::Npu& npu) {
  out += npu.address + "  ";
  append_wrapped(out, clean_text(name_of(npu)), 2);
  out += "\n  " + padded("driver", kListIndent - 2) + "intel_vpu, NPU\n";
  add_names(out, "nodes", {npu.accel});
}

std::string as_text(const std::vector<Gpu>& gpus, const HostModel& host, std::span<const Finding> findings) {
  if (gpus.empty() && host.npus.empty() && host.unbound.empty()) return without_gpus(host);
  std::string out;
  for (const Gpu& gpu : gpus) {
    if (!out.empty()) out += '\n';
    add_gpu(out, gpu, host.gpu(gpu.address), findings);
  }
  for (const snapshot::Npu& npu : host.npus) {
    if (!out.empty()) out += '\n';
    add_npu(out, npu);
  }
  for (const snapshot::Unbound& gpu : host.unbound) {
    out += (out.empty() ? "" : "\n") + gpu.address + "  " + clean_text(name_of(gpu)) + '\n';
    const bool has_driver = gpu.reason == "other_driver" || gpu.reason == "no_node";
    add_names(out, "driver",
              has_driver ? Names{clean_text(why_unbound(gpu))} : Names{"none", clean_text(why_unbound(gpu))});
  }
  std::string machine;
  add_features(machine, findings, "");
  if (!machine.empty()) out += "\nThis machine\n" + machine;
  return out;
}

std::string as_json(const std::vector<Gpu>& gpus, const HostModel& host, std::span<const Finding> findings,
                    const std::string& sysfs_root) {
  JsonWriter json;
  json.begin_object().name("gpus").begin_array();
  for (const Gpu& gpu : gpus) {
    json.begin_object();
    write_gpu(json, gpu);
    if (const GpuModel* const model = host.gpu(gpu.address)) write_functions(json, *model);
    write_features(json, findings, gpu.address);
    json.end_object();
  }
  json.end_array();
  write_npus(json, host.npus);
  write_unbound(json, host.unbound);
  if (gpus.empty() && host.npus.empty() && host.unbound.empty()) write_no_gpu(json, sysfs_root);
  json.name("machine").begin_object();
  write_features(json, findings, "");
  json.end_object().end_object();
  return json.take() + '\n';
}

MonitorOptions whole_machine(const MonitorOptions& chosen) {
  return {.sysfs_root = chosen.sysfs_root,
          .procfs_root = chosen.procfs_root,
          .devfs_root = chosen.devfs_root,
          .rootfs_root = chosen.rootfs_root,
          .simulate = chosen.simulate,
          .capture = chosen.capture,
          .disable_default_collectors = true,
          .min_window = std::chrono::milliseconds(1)};
}

bool is_unbound(const MonitorOptions& chosen, const std::string& name) {
  MonitorOptions options = whole_machine(chosen);
  options.collectors["health"] = true;
  SilentLog log;
  const HostModel host = model_of(PageView(Monitor(options, log).scrape({})->lists()));
  return std::ranges::find(host.unbound, name, &snapshot::Unbound::address) != host.unbound.end();
}

}  // namespace

bool has_name(const Gpu& gpu, const std::string& name) {
  return name == gpu.address || name == gpu.card || name == gpu.render_node;
}

std::vector<Gpu> all_gpus(const MonitorOptions& chosen) {
  SilentLog log;
  return Monitor(whole_machine(chosen), log).gpus();
}

void require_chosen_gpus(const Options& options) {
  if (options.monitor.gpus.empty()) return;
  const std::vector<Gpu> gpus = all_gpus(options.monitor);
  for (const std::string& wanted : options.monitor.gpus) {
    if (std::ranges::any_of(gpus, [&](const Gpu& gpu) { return has_name(gpu, wanted); })) continue;
    if (is_unbound(options.monitor, wanted)) continue;
    std::string available;
    for (const Gpu& gpu : gpus) available += (available.empty() ? "" : ", ") + names_of(gpu);
    const std::string error = options.gpu_origin + ": there is no Intel GPU \"" + clean_text(wanted) + "\"; ";
    throw UsageError(error + (available.empty() ? "none is here (see doctor)" : "available: " + available),
                     EXIT_FAILURE);
  }
}

int list(const Options& options) {
  require_chosen_gpus(options);
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  MonitorOptions monitor_options = with_workload_rules(options.monitor, log);
  monitor_options.min_window = std::chrono::milliseconds(1);  // no rates are printed
  Monitor monitor(monitor_options, log);
  const std::vector<Gpu> gpus = monitor.gpus();
  const std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
  const HostModel host = model_of(PageView(result->lists()));
  const int printed = print(options.json ? as_json(gpus, host, result->findings(), options.monitor.sysfs_root)
                                         : as_text(gpus, host, result->findings()));
  return gpus.empty() && host.npus.empty() && host.unbound.empty() ? EXIT_FAILURE : printed;
}

}  // namespace igpu::exporter
