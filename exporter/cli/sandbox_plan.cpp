// SPDX-License-Identifier: Apache-2.0
#include "cli/sandbox_plan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "igpu/monitor.h"

namespace igpu::exporter {
namespace {

// The processes of a GPU come from /proc/<pid>/fdinfo; so does an engine's busy time where perf events are refused.
constexpr std::array<std::string_view, 2> kReadProcesses{"engines", "fdinfo"};

bool is_enabled(const CollectorDescription& collector, const MonitorOptions& options) {
  if (collector.always_on) return true;
  const auto chosen = options.collectors.find(std::string(collector.name));
  if (chosen != options.collectors.end()) return chosen->second;
  return collector.enabled_by_default && !options.disable_default_collectors;
}

bool reads_processes(const MonitorOptions& options) {
  if (!options.simulate.empty()) return false;
  const std::vector<CollectorDescription> collectors = describe_collectors();
  return std::any_of(collectors.begin(), collectors.end(), [&](const CollectorDescription& collector) {
    return is_enabled(collector, options) &&
           std::find(kReadProcesses.begin(), kReadProcesses.end(), collector.name) != kReadProcesses.end();
  });
}

}  // namespace

SandboxPlan sandbox_plan(const Options& options) {
  const MonitorOptions& monitor = options.monitor;
  SandboxPlan plan;
  plan.on = options.sandbox;
  plan.uses.reads_kernel = monitor.simulate.empty();
  plan.uses.reads_files = !options.web_config_file.empty();
  plan.reads_processes = reads_processes(monitor);

  std::vector<std::string>& readable = plan.files.readable;
  readable.emplace_back("/proc");  // its own: process_*
  if (monitor.simulate.empty()) {
    readable.push_back(monitor.sysfs_root);
    readable.push_back(monitor.procfs_root);
    plan.files.listable.push_back(monitor.devfs_root);
    plan.files.devices.push_back(monitor.devfs_root + "/dri");
    readable.emplace_back("/usr/share/misc");    // pci.ids, which is a link to the next in some distributions
    readable.emplace_back("/usr/share/hwdata");  // and the other way round in others
  }
  for (std::string& folder : folders_of(options.web_config_file)) readable.push_back(std::move(folder));
  if (!options.web_config_file.empty()) {
    // OpenSSL's own, and the system's authorities, which a reload reads again.
    for (const char* folder : {"/etc/ssl", "/usr/lib/ssl", "/etc/pki"}) readable.emplace_back(folder);
    const char* const bundle = std::getenv("SSL_CERT_FILE");
    for (const std::string& file :
         {std::string("/etc/ssl/ca-bundle.pem"), std::string(bundle == nullptr ? "" : bundle)}) {
      for (std::string& folder : folders_of(file)) readable.push_back(std::move(folder));
    }
    readable.emplace_back("/etc/pki");  // the system's authorities, in some distributions
  }
  return plan;
}

}  // namespace igpu::exporter
