// SPDX-License-Identifier: Apache-2.0
#include "view/chosen_gpus.h"

#include <algorithm>
#include <string>

#include "cli/output.h"
#include "igpu/model.h"
#include "igpu/monitor.h"
#include "text/unicode.h"

namespace igpu::exporter {
namespace {

std::string names_of(const Gpu& gpu) {
  std::string nodes = gpu.card;
  if (!gpu.render_node.empty()) nodes += (nodes.empty() ? "" : ", ") + gpu.render_node;
  return gpu.address + (nodes.empty() ? "" : " (" + nodes + ")");
}

struct SilentLog final : Log {
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

}  // namespace

bool has_name(const Gpu& gpu, const std::string& name) {
  return name == gpu.address || name == gpu.card || name == gpu.render_node;
}

namespace {

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

}  // namespace igpu::exporter
