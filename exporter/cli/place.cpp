// SPDX-License-Identifier: Apache-2.0
#include "cli/place.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "igpu/missing.h"
#include "platform/own_process.h"
#include "self/build_info.h"
#include "text/ascii.h"

namespace igpu::exporter {
namespace {

constexpr int kMainlineParanoidLevel = 2;  // the highest at which CAP_PERFMON is enough

// The service in whose cgroup this process is: "0::/system.slice/intel-gpu-exporter.service". Not one of a user's
// session, from which people start programs by hand.
std::string system_unit(const std::string& cgroup) {
  constexpr std::string_view kSlice = "/system.slice/";
  const std::size_t slice = cgroup.find(kSlice);
  if (slice == std::string::npos) return {};
  const std::size_t begin = slice + kSlice.size();
  const std::size_t end = std::min(cgroup.find_first_of("/\n", begin), cgroup.size());
  const std::string unit = cgroup.substr(begin, end - begin);
  return unit.ends_with(".service") ? unit : std::string();
}

std::string joined_rights(const std::set<std::string>& capabilities, std::string_view prefix,
                          std::string_view separator) {
  std::string text;
  for (const std::string& name : capabilities)
    text += (text.empty() ? "" : std::string(separator)) + std::string(prefix) + name;
  return text;
}

bool contains(const std::string& text, std::string_view part) { return lower(text).find(part) != std::string::npos; }

// The kernel's first namespaces have fixed numbers (include/linux/proc_ns.h), so another number is that of a container.
// Not the mount namespace: services have their own, too.
bool is_another_namespace(const PlaceEvidence& evidence, const char* path, std::string_view first) {
  const auto link = evidence.link(path);
  return link && *link != first;
}
bool is_in_own_namespace(const PlaceEvidence& evidence) {
  return is_another_namespace(evidence, "/proc/self/ns/pid", "pid:[4026531836]") ||
         is_another_namespace(evidence, "/proc/self/ns/cgroup", "cgroup:[4026531835]");
}

using Lines = std::vector<std::string>;

Lines on_bare_metal(const Grants& grants, const std::string& program) {
  Lines lines;
  if (!grants.capabilities.empty()) {
    lines.push_back("sudo setcap " + lower(joined_rights(grants.capabilities, "cap_", ",")) + "+ep \\");
    lines.push_back("  " + program);
  }
  if (grants.render_node) lines.emplace_back("sudo usermod -aG render \"$USER\"   # then log in again");
  return lines;
}

Lines in_unit(const Grants& grants, const std::string& unit, bool own_users) {
  const std::string capabilities = joined_rights(grants.capabilities, "CAP_", " ");
  Lines lines{"sudo systemctl edit " + unit + "   # and add:", "[Service]"};
  if (!grants.capabilities.empty()) {
    lines.push_back("AmbientCapabilities=" + capabilities);
    lines.push_back("CapabilityBoundingSet=" + capabilities);
  }
  if (own_users) lines.emplace_back("PrivateUsers=no");
  if (grants.render_node) lines.emplace_back("SupplementaryGroups=render");
  lines.push_back("# then: sudo systemctl restart " + unit);
  return lines;
}

Lines in_engine(const Grants& grants, std::string_view engine, bool own_users) {
  Lines lines{"sudo " + std::string(engine) + " run \\"};
  if (own_users) lines.emplace_back("  --userns=host \\");
  if (grants.render_node)
    lines.emplace_back("  --device /dev/dri --group-add \"$(stat -c %g /dev/dri/renderD128)\" \\");
  if (grants.host_processes) {
    lines.emplace_back("  --pid host --security-opt apparmor=unconfined \\");
    lines.emplace_back("  --security-opt label=disable \\");
  }
  for (const std::string& name : grants.capabilities) lines.push_back("  --cap-add " + name + " \\");
  lines.emplace_back("  ...   # the flags and the image as before");
  return lines;
}

Lines in_kubernetes(const Grants& grants, bool own_users) {
  Lines lines{"kubectl -n NAMESPACE patch daemonset intel-gpu-exporter -p '", "spec:", "  template:", "    spec:"};
  if (own_users) lines.emplace_back("      hostUsers: true");
  if (grants.host_processes) lines.emplace_back("      hostPID: true");
  if (grants.render_node) lines.emplace_back("      securityContext: {supplementalGroups: [GID]}");
  if (!grants.capabilities.empty()) {
    lines.insert(lines.end(),
                 {"      containers:", "      - name: intel-gpu-exporter", "        securityContext:",
                  "          capabilities: {add: [" + joined_rights(grants.capabilities, "", ", ") + "]}"});
  }
  lines.back() += '\'';
  if (grants.render_node) {
    lines.emplace_back("# GID: stat -c %g /dev/dri/renderD128 on the node;");
    lines.emplace_back("# the device: a hostPath, or a device plugin (docs/kubernetes.md)");
  }
  return lines;
}

// Started by runc, crun, nspawn or the like: there is no command to copy.
Lines in_container(const Grants& grants, bool own_users) {
  Lines lines{"# In the settings of the container (runc: config.json), add:"};
  if (own_users) lines.emplace_back("# - the host's user namespace (runc: leave out \"user\")");
  if (!grants.capabilities.empty())
    lines.push_back("# - the capabilities " + joined_rights(grants.capabilities, "CAP_", ", "));
  if (grants.host_processes) lines.emplace_back("# - the host's PID namespace (runc: leave out \"pid\")");
  if (grants.render_node) lines.emplace_back("# - the device /dev/dri/renderD128 and the group that owns it");
  return lines;
}

Lines in_lxc(const Grants& grants) {
  Lines lines;
  if (grants.render_node) {
    lines.emplace_back("pct set ID -dev0 /dev/dri/renderD128,gid=GID   # Proxmox VE, on the host;");
    lines.emplace_back("# GID: getent group render, in the container");
  }
  if (!grants.capabilities.empty()) {
    lines.emplace_back("# An unprivileged container cannot get the rest: run the exporter on the");
    lines.emplace_back("# host, where it reports this container as well (docs/containers.md)");
  }
  return lines;
}

}  // namespace

std::string_view to_string(PlaceKind kind) {
  constexpr std::array<std::string_view, 8> kNames{"bare metal", "systemd unit", "Docker", "Podman",
                                                   "Kubernetes", "LXC",          "WSL",    "a container"};
  static_assert(kNames.size() == static_cast<std::size_t>(PlaceKind::container) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

std::string title(const Place& place) {
  return std::string(to_string(place.kind)) + (place.unit.empty() ? "" : " " + place.unit);
}

PlaceEvidence real_evidence() {
  return {.read = [](const char* path) -> std::optional<std::string> {
            std::ifstream file(path);
            if (!file) return std::nullopt;
            std::string text(4096, '\0');
            file.read(text.data(), static_cast<std::streamsize>(text.size()));
            text.resize(static_cast<std::size_t>(file.gcount()));
            return text;
          },
          .link = [](const char* path) -> std::optional<std::string> {
            std::error_code error;
            std::string target = std::filesystem::read_symlink(path, error).string();
            return error ? std::nullopt : std::optional(std::move(target));
          },
          .exists = [](const char* path) { return ::access(path, F_OK) == 0; },
          .environment = [](const char* name) -> std::optional<std::string> {
            const char* const value = std::getenv(name);
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          }};
}

namespace {

// From the innermost place outwards: a pod's container also has the marks of its engine, and a container in WSL those
// of WSL's kernel.
Place place_by_marks(const PlaceEvidence& evidence) {
  // systemd and the engines name the manager of a container here.
  const std::string container =
      evidence.environment("container").value_or("") + evidence.read("/run/systemd/container").value_or("");
  if (evidence.environment("KUBERNETES_SERVICE_HOST") || evidence.exists("/var/run/secrets/kubernetes.io"))
    return {PlaceKind::kubernetes, {}};
  if (evidence.exists("/run/.containerenv") || contains(container, "podman")) return {PlaceKind::podman, {}};
  if (evidence.exists("/.dockerenv") || contains(container, "docker")) return {PlaceKind::docker, {}};
  if (contains(container, "lxc")) return {PlaceKind::lxc, {}};
  if (contains(evidence.read("/proc/sys/kernel/osrelease").value_or(""), "microsoft")) return {PlaceKind::wsl, {}};
  const std::string unit = system_unit(evidence.read("/proc/self/cgroup").value_or(""));
  if (!unit.empty()) return {PlaceKind::systemd_unit, unit};
  if (!container.empty() || is_in_own_namespace(evidence)) return {PlaceKind::container, {}};
  return {};
}

}  // namespace

Place detect_place(const PlaceEvidence& evidence) {
  Place place = place_by_marks(evidence);
  place.own_users = is_another_namespace(evidence, "/proc/self/ns/user", "user:[4026531837]");
  return place;
}

std::optional<int> perf_event_paranoid(const PlaceEvidence& evidence, const std::string& procfs_root) {
  const std::string path = procfs_root + "/sys/kernel/perf_event_paranoid";
  const std::optional<std::string> text = evidence.read(path.c_str());
  int level = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), level).ec != std::errc()) return std::nullopt;
  return level;
}

std::string program_path() {
  const std::string path = program_file();
  return path.empty() ? std::string(kProgramName) : path;
}

Grants missing_grants(std::span<const Finding> findings, std::optional<int> perf_event_paranoid) {
  Grants grants;
  for (const Finding& finding : findings) {
    if (!is_missing(finding) || finding.absent.reason != Reason::permission) continue;
    switch (finding.feature->need) {
      case Need::perf_events:
      case Need::awake_event:
      case Need::rapl_pmu:
      case Need::imc_pmu:
        grants.paranoid_level = perf_event_paranoid.value_or(0) > kMainlineParanoidLevel;
        grants.capabilities.insert("PERFMON");
        break;
      case Need::perfmon_capability:
        grants.capabilities.insert("PERFMON");
        break;
      case Need::other_processes:
        grants.capabilities.insert("SYS_PTRACE");
        grants.host_processes = true;
        break;
      case Need::descriptor_links:
      case Need::powercap_file:
      case Need::root_only_file:
        grants.capabilities.insert("DAC_READ_SEARCH");
        break;
      case Need::render_node:
        grants.render_node = true;
        break;
      case Need::kernel_log:  // optional, and its own hint names them
      case Need::uevents:     // its own hint names the setting
      case Need::card_hwmon:
      case Need::client_finder:    // its own hint names the capabilities
      case Need::job_events:       // its own hint names them
      case Need::hang_events:      // likewise
      case Need::tracker_folder:   // its own hint names the command
      case Need::container_files:  // likewise
      case Need::windows_rights:   // likewise
      case Need::nothing_special:
        break;
    }
  }
  return grants;
}

std::vector<std::string> how_to_grant(const Grants& grants, const Place& place, const std::string& program) {
  if (place.kind == PlaceKind::wsl) return {"# WSL has no i915 or xe device: run the exporter under Linux itself"};
  if (grants.none()) return {};
  Lines lines;
  switch (place.kind) {
    case PlaceKind::bare_metal:
    case PlaceKind::wsl:
      lines = on_bare_metal(grants, program);
      if (place.own_users && !grants.capabilities.empty())
        lines.emplace_back("# then start it outside this user namespace (unshare -U), where they count");
      break;
    case PlaceKind::systemd_unit:
      lines = in_unit(grants, place.unit, place.own_users);
      break;
    case PlaceKind::docker:
      lines = in_engine(grants, "docker", place.own_users);
      break;
    case PlaceKind::podman:
      lines = in_engine(grants, "podman", place.own_users);
      break;
    case PlaceKind::kubernetes:
      lines = in_kubernetes(grants, place.own_users);
      break;
    case PlaceKind::lxc:
      return in_lxc(grants);
    case PlaceKind::container:
      lines = in_container(grants, place.own_users);
      break;
  }
  if (grants.paranoid_level) {
    const bool here = place.kind == PlaceKind::bare_metal || place.kind == PlaceKind::systemd_unit;
    lines.push_back(std::string("sudo sysctl kernel.perf_event_paranoid=2") + (here ? "" : "   # on the host"));
  }
  return lines;
}

}  // namespace igpu::exporter
