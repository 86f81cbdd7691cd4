// SPDX-License-Identifier: Apache-2.0
#include "server/sandbox_plan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "igpu/monitor.h"
#include "view/workloads/rules_file.h"

namespace igpu::exporter {
namespace {

// Files below /proc that collectors read, apart from those of processes.
std::vector<std::string> proc_files_of_collectors(const MonitorOptions& options) {
  std::vector<std::string> files;
  for (const CollectorDescription& collector : describe_collectors(options)) {
    for (const std::string_view file : collector.proc_files)
      files.push_back(options.procfs_root + "/" + std::string(file));
  }
  return files;
}

// What collectors read elsewhere: the values of their options --path.*.
std::vector<std::string> folders_of_collectors(const MonitorOptions& options) {
  std::vector<std::string> folders;
  for (const CollectorDescription& collector : describe_collectors(options)) {
    for (const OptionDescriptor* const option : collector.options) {
      if (!option->flag().starts_with("path.")) continue;
      const auto given = options.collector_options.find(option->flag());
      folders.push_back(given == options.collector_options.end() ? std::string(option->default_value())
                                                                 : given->second.back());
    }
  }
  return folders;
}

// The folder of the Level Zero pages may be made, or made again, while the exporter runs. Landlock's rules belong to
// folders that exist, so the nearest one above is allowed.
std::string existing_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path found = fs::absolute(folder, error).lexically_normal();
  while (!error && found.has_relative_path() && !fs::exists(found, error)) found = found.parent_path();
  return error || !found.has_relative_path() ? folder : found.string();
}

// Settings of the name service, and its modules. A file that is replaced by renaming needs a rule for its folder: that
// of resolv.conf, which changes with the network, is often another one than /etc, where keys are.
std::vector<std::string> files_of_resolver() {
  std::vector<std::string> readable{
      "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/usr/lib", "/usr/lib64", "/lib", "/lib64"};
  const std::vector<std::string> folders = folders_of("/etc/resolv.conf");
  if (folders.size() < 2) {
    readable.emplace_back("/etc");
    return readable;
  }
  readable.push_back(folders[1]);
  for (const char* file : {"gai.conf", "host.conf", "hosts", "ld.so.cache", "mdns.allow", "networks", "nsswitch.conf",
                           "protocols", "services"})
    readable.push_back(std::string("/etc/") + file);
  return readable;
}

// Other files in them may be private keys.
constexpr std::array<std::string_view, 5> kMixedFolders{"/", "/etc", "/etc/ssl", "/etc/pki", "/etc/pki/tls"};

// A file that is replaced by renaming can be opened again only through its folder.
void add_certificates(const std::string& file, std::vector<std::string>& readable) {
  readable.push_back(file);
  for (std::string& folder : folders_of(file)) {
    if (std::ranges::find(kMixedFolders, folder) == kMixedFolders.end()) readable.push_back(std::move(folder));
  }
}

// The system's certificate authorities, and OpenSSL's settings.
void add_authorities(std::vector<std::string>& readable) {
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                           "/etc/ssl/ca-bundle.pem"}) {
    add_certificates(file, readable);
  }
  if (const char* const bundle = std::getenv("SSL_CERT_FILE")) add_certificates(bundle, readable);
  for (const char* file : {"/etc/ssl/openssl.cnf", "/usr/lib/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf"})
    readable.emplace_back(file);
}

std::vector<std::string> files_of_clients(const Options& options) {
  std::vector<std::string> readable{
      "/proc/self", "/proc/stat",                                        // process_*
      "/sys/devices/system/cpu/online",                                  // the C library, when it counts processors
      "/proc/sys/vm/overcommit_memory",                                  // the C library, when it returns memory
      options.monitor.procfs_root + "/sys/kernel/perf_event_paranoid"};  // for the hint on a denied perf event
  if (options.web_config_file.empty()) return readable;
  for (std::string& folder : folders_of(options.web_config_file)) readable.push_back(std::move(folder));
  add_authorities(readable);  // a reload reads them again (server/web_config/tls_context.cpp)
  return readable;
}

}  // namespace

SandboxPlan sandbox_plan(const Options& options) {
  const MonitorOptions& monitor = options.monitor;
  SandboxPlan plan;
  plan.on = options.sandbox;
  plan.uses.reads_kernel = monitor.simulate.empty();
  const std::string rules = workload_rules_file(monitor);
  plan.uses.reads_files = !options.web_config_file.empty() || !rules.empty();
  plan.reads_processes = reads_processes(monitor);

  plan.client_files.readable = files_of_clients(options);
  if (options.push.cacert.empty()) add_authorities(plan.push_files.readable);  // each push reads them again
  plan.resolver_files.readable = files_of_resolver();
  plan.files = plan.client_files;
  std::vector<std::string>& readable = plan.files.readable;
  for (std::string& folder : folders_of(rules)) readable.push_back(std::move(folder));
  if (monitor.simulate.empty()) {
    readable.push_back(monitor.sysfs_root);
    plan.event_files.readable.push_back(monitor.sysfs_root);
    for (const std::string& folder : folders_of_collectors(monitor)) {
      readable.push_back(folder);
      readable.push_back(existing_folder(folder));
    }
    for (std::string& file : proc_files_of_collectors(monitor)) readable.push_back(std::move(file));
    plan.files.listable.push_back(monitor.procfs_root);
    plan.files.listable.push_back(monitor.devfs_root);
    plan.files.devices.push_back(monitor.devfs_root + "/dri");
    readable.emplace_back("/usr/share/misc");    // pci.ids; in some distributions a link to the next
    readable.emplace_back("/usr/share/hwdata");  // and vice versa in others
  }
  return plan;
}

}  // namespace igpu::exporter
