// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "igpu/feature.h"
#include "igpu/words.h"
#include "platform/own_process.h"
#include "server/doctor/doctor_report.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

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

// The kernel's first namespaces have fixed numbers (include/linux/proc_ns.h), so another number is that of a container.
// Not the mount namespace: services have their own, too.
constexpr std::string_view kHostProcesses = "pid:[4026531836]";
bool is_another_namespace(const PlaceEvidence& evidence, const char* path, std::string_view first) {
  const auto link = evidence.link(path);
  return link && *link != first;
}
bool is_in_own_namespace(const PlaceEvidence& evidence) {
  return is_another_namespace(evidence, "/proc/self/ns/pid", kHostProcesses) ||
         is_another_namespace(evidence, "/proc/self/ns/cgroup", "cgroup:[4026531835]");
}

// What grants a right in each place. "": nothing does there, or nothing needs to.
struct RightRow {
  Rights right;
  int number;                   // of the capability (linux/capability.h); -1: it is none
  std::string_view capability;  // without CAP_
  std::string_view shell;       // a command of bare metal
  std::string_view unit;        // a line of [Service]
  std::string_view engine;      // flags of docker run and podman run, on the host
  std::string_view pod;         // a line of the pod's spec
  std::string_view container;   // in words, where another program starts the container
};
// Now and at every boot: sysctl prints the line that sysctl.d takes.
constexpr std::string_view kLevelCommand =
    "sudo sysctl kernel.perf_event_paranoid=2 |\n  sudo tee /etc/sysctl.d/60-perf-events.conf";
constexpr RightRow kRights[] = {
    {Rights::bpf, 39, "BPF", "", "", "", "", ""},
    {Rights::dac_read_search, 2, "DAC_READ_SEARCH", "", "", "", "", ""},
    {Rights::perfmon, 38, "PERFMON", "", "", "", "", ""},
    {Rights::sys_ptrace, 19, "SYS_PTRACE", "", "", "", "", ""},
    {Rights::syslog, 34, "SYSLOG", "", "DeviceAllow=/dev/kmsg r", "--device /dev/kmsg:/dev/kmsg:r", "",
     "the device /dev/kmsg"},
    {Rights::syslog, -1, "", "", "ProtectKernelLogs=no", "", "", ""},
    {Rights::render_group, -1, "", "sudo usermod -aG render \"$USER\"", "SupplementaryGroups=render",
     "--device /dev/dri --group-add \"$(stat -c %g /dev/dri/renderD128)\"", "",
     "the device /dev/dri/renderD128 and the group that owns it"},
    {Rights::host_processes, -1, "", "", "",
     "--pid host --security-opt apparmor=unconfined --security-opt label=disable", "hostPID: true",
     "the host's PID namespace (runc: leave out \"pid\")"},
    {Rights::host_users, -1, "", "", "PrivateUsers=no", "--userns=host", "hostUsers: true",
     "the host's user namespace (runc: leave out \"user\")"},
};

bool includes(Rights rights, Rights right) { return (rights & right) != Rights::none; }

std::string capabilities(Rights rights, std::string_view prefix, std::string_view separator) {
  std::string text;
  for (const RightRow& row : kRights)
    if (row.number >= 0 && includes(rights, row.right))
      text.append(text.empty() ? "" : separator).append(prefix).append(row.capability);
  return text;
}

std::vector<std::string> column(Rights rights, std::string_view RightRow::*place) {
  std::vector<std::string> cells;
  for (const RightRow& row : kRights)
    if (includes(rights, row.right) && !(row.*place).empty()) cells.emplace_back(row.*place);
  return cells;
}

bool is_plain_in_shell(char c) {
  constexpr std::string_view kPlain = "/._+-";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
}

// A word of a shell's line.
std::string in_shell(const std::string& word) {
  return std::ranges::all_of(word, is_plain_in_shell) ? word : "'" + word + "'";
}

// The capabilities of a process: "CapPrm:\t0000004000080000".
Rights held_rights(const std::string& status) {
  constexpr std::string_view kPermitted = "CapPrm:\t";
  const std::size_t at = status.find(kPermitted);
  if (at == std::string::npos) return Rights::none;
  const std::uint64_t bits = std::strtoull(status.c_str() + at + kPermitted.size(), nullptr, 16);
  Rights held = Rights::none;
  for (const RightRow& row : kRights)
    if (row.number >= 0 && (bits >> static_cast<unsigned>(row.number) & 1) != 0) held = held | row.right;
  return held;
}

using Steps = std::vector<GrantStep>;

// setcap replaces the capabilities that the file has.
Steps on_bare_metal(Rights rights, const Place& place, const std::string& program) {
  GrantStep step{"", column(rights, &RightRow::shell)};
  if (!capabilities(rights, "", "").empty())
    step.lines.insert(step.lines.begin(), "sudo setcap " + lower(capabilities(rights | place.held, "cap_", ",")) +
                                              "+ep \\\n  " + in_shell(program));
  Steps steps{step};
  if (includes(rights, Rights::render_group))
    steps.push_back({"Then log in again: the new group counts from there.", {}});
  if (includes(rights, Rights::host_users))
    steps.push_back({"Then start it outside this user namespace (unshare -U), where capabilities count.", {}});
  return steps;
}

// Lists in drop-ins add to those of the unit.
Steps in_unit(Rights rights, const std::string& unit) {
  std::vector<std::string> lines = column(rights, &RightRow::unit);
  if (const std::string all = capabilities(rights, "CAP_", " "); !all.empty())
    lines.insert(lines.begin(), {"AmbientCapabilities=" + all, "CapabilityBoundingSet=" + all});
  if (lines.empty()) return {};
  const std::string folder = "/etc/systemd/system/" + unit + ".d";
  std::string write = "printf '%s\\n' '[Service]'";
  for (const std::string& line : lines) write += " \\\n  '" + line + "'";
  write += " |\n  sudo tee " + folder + "/rights.conf";
  return {{"", {"sudo mkdir -p " + folder, write, "sudo systemctl daemon-reload", "sudo systemctl restart " + unit}}};
}

// A running container cannot be given rights: the whole command, also with what it has.
Steps in_engine(Rights rights, const Place& place, const std::string& engine) {
  if (column(rights, &RightRow::engine).empty() && capabilities(rights, "", "").empty()) return {};
  std::string run = "sudo " + engine + " run -d --name intel-gpu-exporter -p 10068:10068 --read-only";
  for (const std::string& flag : column(rights | place.held, &RightRow::engine)) run += " \\\n  " + flag;
  run += " \\\n  --cap-drop ALL " + capabilities(rights | place.held, "--cap-add ", " ");
  return {
      {"On the host, in place of this container. Change what differs in yours: name, port, volumes, image. In "
       "Compose: devices, group_add, pid, security_opt, cap_add.",
       {"sudo " + engine + " rm -f intel-gpu-exporter", run + " \\\n  intel-gpu-exporter"}}};
}

Steps in_kubernetes(Rights rights, const Place& place) {
  std::string spec;
  for (const std::string& line : column(rights, &RightRow::pod)) spec += "\n      " + line;
  if (includes(rights, Rights::render_group) && place.render_group)
    spec += "\n      securityContext: {supplementalGroups: [" + std::to_string(*place.render_group) + "]}";
  // The list replaces the one that the container has.
  if (!capabilities(rights, "", "").empty())
    spec +=
        "\n      containers:\n      - name: intel-gpu-exporter\n        securityContext:\n"
        "          capabilities: {add: [" +
        capabilities(rights | place.held, "", ", ") + "]}";
  Steps steps;
  if (!spec.empty())
    steps.push_back({"In every DaemonSet of the exporter:",
                     {"kubectl get daemonsets -A -l app.kubernetes.io/name=intel-gpu-exporter --no-headers \\\n"
                      "  -o custom-columns=:metadata.namespace,:metadata.name |\n"
                      "  while read -r namespace name; do kubectl -n \"$namespace\" patch daemonset \"$name\" -p '\n"
                      "spec:\n  template:\n    spec:" +
                      spec + "\n'; done"}});
  if (includes(rights, Rights::render_group))
    steps.push_back({"The render node itself comes from a hostPath or a device plugin: docs/kubernetes.md.", {}});
  return steps;
}

// Started by runc, crun, nspawn or the like: there is no command.
Steps in_container(Rights rights) {
  std::vector<std::string> words = column(rights, &RightRow::container);
  if (const std::string all = capabilities(rights, "CAP_", ", "); !all.empty())
    words.insert(words.begin(), "the capabilities " + all);
  if (words.empty()) return {};
  return {{"Add to the settings of the container (runc: config.json): " + joined(words, "; ") + ".", {}}};
}

// The group's number is that in the container.
Steps in_lxc(Rights rights, const Place& place) {
  Steps steps;
  if (includes(rights, Rights::render_group))
    steps.push_back({"On the host, if it is Proxmox VE; the container boots again:",
                     {"id=$(pct list | awk '$NF == \"" + place.host_name +
                      "\" {print $1}') &&\n"
                      "  gid=$(pct exec \"$id\" -- getent group render | cut -d: -f3) &&\n"
                      "  pct set \"$id\" -dev0 \"/dev/dri/renderD128,gid=$gid\" && pct reboot \"$id\""}});
  if (!capabilities(rights, "", "").empty())
    steps.push_back(
        {"An unprivileged container cannot get the rest: run the exporter on the host, where it reports this "
         "container as well (docs/containers.md).",
         {}});
  return steps;
}

Steps steps_in(const Place& place, Rights rights, const std::string& program) {
  switch (place.kind) {
    case PlaceKind::bare_metal: return on_bare_metal(rights, place, program);
    case PlaceKind::systemd_unit: return in_unit(rights, place.unit);
    case PlaceKind::docker: return in_engine(rights, place, "docker");
    case PlaceKind::podman: return in_engine(rights, place, "podman");
    case PlaceKind::kubernetes: return in_kubernetes(rights, place);
    case PlaceKind::lxc: return in_lxc(rights, place);
    case PlaceKind::container: return in_container(rights);
    case PlaceKind::wsl: break;
  }
  return {};
}

// From the innermost place outwards: a pod's container also has the marks of its engine, and a container in WSL those
// of WSL's kernel.
Place place_by_marks(const PlaceEvidence& evidence) {
  // systemd and the engines name the manager of a container here.
  const std::string container =
      evidence.environment("container").value_or("") + evidence.read("/run/systemd/container").value_or("");
  if (evidence.environment("KUBERNETES_SERVICE_HOST") || evidence.exists("/var/run/secrets/kubernetes.io"))
    return {PlaceKind::kubernetes, {}};
  if (evidence.exists("/run/.containerenv") || contains_ignoring_case(container, "podman"))
    return {PlaceKind::podman, {}};
  if (evidence.exists("/.dockerenv") || contains_ignoring_case(container, "docker")) return {PlaceKind::docker, {}};
  if (contains_ignoring_case(container, "lxc")) return {PlaceKind::lxc, {}};
  if (contains_ignoring_case(evidence.read("/proc/sys/kernel/osrelease").value_or(""), "microsoft"))
    return {PlaceKind::wsl, {}};
  const std::string unit = system_unit(evidence.read("/proc/self/cgroup").value_or(""));
  if (!unit.empty()) return {PlaceKind::systemd_unit, unit};
  if (!container.empty() || is_in_own_namespace(evidence)) return {PlaceKind::container, {}};
  return {};
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
          .group = [](const char* path) -> std::optional<unsigned> {
            struct stat status = {};
            return ::stat(path, &status) == 0 ? std::optional<unsigned>(status.st_gid) : std::nullopt;
          },
          .environment = [](const char* name) -> std::optional<std::string> {
            const char* const value = std::getenv(name);
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          }};
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

Place place_of(const MonitorOptions& options) {
  return options.simulate.empty() ? detect_place(real_evidence()) : Place{};
}

ReadSysfs read_sysfs_of(const MonitorOptions& options) {
  if (!options.simulate.empty()) return [](const std::string&) { return std::nullopt; };
  return [files = real_evidence(), root = options.sysfs_root](const std::string& path) {
    return files.read((root + '/' + path).c_str());
  };
}

Place detect_place(const PlaceEvidence& evidence) {
  Place place = place_by_marks(evidence);
  place.own_users = is_another_namespace(evidence, "/proc/self/ns/user", "user:[4026531837]");
  place.held = held_rights(evidence.read("/proc/self/status").value_or(""));
  if (evidence.exists("/dev/dri")) place.held = place.held | Rights::render_group;
  if (evidence.link("/proc/self/ns/pid") == kHostProcesses) place.held = place.held | Rights::host_processes;
  place.render_group = evidence.group("/dev/dri/renderD128");
  place.host_name = evidence.read("/proc/sys/kernel/hostname").value_or("");
  // It ends up in a line that an administrator of the host pastes.
  std::erase_if(place.host_name, [](char c) { return !is_plain_in_shell(c); });
  return place;
}

std::string program_path(const MonitorOptions& options) {
  if (!options.simulate.empty()) return "/usr/bin/" + std::string(kProgramName);
  const std::string path = program_file();
  return path.empty() ? std::string(kProgramName) : path;
}

std::vector<GrantStep> how_to_grant(std::span<const Finding> findings, const Place& place, const std::string& program,
                                    bool optional) {
  if (place.kind == PlaceKind::wsl) return {{"WSL has no i915 or xe device: run the exporter under Linux itself.", {}}};
  Rights rights = Rights::none;
  GrantStep everywhere;  // for the kernel, which a container shares with its host
  for (const Finding& finding : findings) {
    if (!is_missing(finding) && !(optional && is_optional_fix(finding))) continue;
    rights = rights | finding.rights;
    if (!finding.command.empty() && std::ranges::find(everywhere.lines, finding.command) == everywhere.lines.end())
      everywhere.lines.push_back(finding.command);
  }
  if (includes(rights, Rights::perf_level) && place.kind != PlaceKind::lxc)
    everywhere.lines.emplace_back(kLevelCommand);
  if (place.own_users && !capabilities(rights, "", "").empty()) rights = rights | Rights::host_users;
  Steps steps;
  if (rights != Rights::none && rights != Rights::perf_level) steps = steps_in(place, rights, program);
  const bool here = place.kind == PlaceKind::bare_metal || place.kind == PlaceKind::systemd_unit;
  if (!here) everywhere.text = place.kind == PlaceKind::kubernetes ? "On each node:" : "On the host:";
  if (!everywhere.lines.empty()) steps.insert(here ? steps.begin() : steps.end(), everywhere);
  std::erase_if(steps, [](const GrantStep& step) { return step.text.empty() && step.lines.empty(); });
  return steps;
}

PlaceOfGrants place_of_grants(std::span<const Finding> findings, const Place& place, const std::string& program) {
  PlaceOfGrants grants{std::string(to_string(place.kind)), place.unit, how_to_grant(findings, place, program)};
  // A fix counts if something grants it alone.
  std::size_t missing = 0, granted = 0, optional = 0;
  for (const Fix& fix : fixes_for(findings)) {
    const std::size_t count = fix.findings.size();
    missing += count;
    const std::vector<GrantStep> alone = how_to_grant({fix.findings.front(), 1}, place, program);
    const auto grants_it = [&](const GrantStep& step) {
      return !step.lines.empty() || place.kind == PlaceKind::container;
    };
    if (std::ranges::none_of(alone, grants_it)) continue;
    granted += count;
    optional += fix.optional.size();
  }
  grants.title = title_of(grants.steps, title(place), granted, missing, optional);
  return grants;
}

}  // namespace igpu::exporter
