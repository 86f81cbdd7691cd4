// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>

#include "server/doctor/doctor_report.h"
#include "support/run_program.h"

using namespace igpu;
using namespace igpu::exporter;
using igpu::test::ProgramOutcome;
using igpu::test::run_program;

namespace {

struct Machine {
  std::map<std::string, std::string> files, environment;
  std::map<std::string, std::string> links{{"/proc/self/ns/pid", "pid:[4026531836]"},
                                           {"/proc/self/ns/cgroup", "cgroup:[4026531835]"}};
  std::map<std::string, unsigned> groups;

  Place place() const {
    return detect_place({.read = [this](const char* path) { return find(files, path); },
                         .link = [this](const char* path) { return find(links, path); },
                         .exists = [this](const char* path) { return files.contains(path); },
                         .group = [this](const char* path) { return find(groups, path); },
                         .environment = [this](const char* name) { return find(environment, name); }});
  }

 private:
  template <class Value>
  static std::optional<Value> find(const std::map<std::string, Value>& all, const char* name) {
    const auto at = all.find(name);
    return at == all.end() ? std::nullopt : std::optional(at->second);
  }
};

constexpr FeatureDescriptor kBusy{"engine_busy", "Busy.", Need::perf_events};
constexpr FeatureDescriptor kProcesses{"processes", "Processes.", Need::other_processes, true};
constexpr FeatureDescriptor kMemory{"memory", "Memory.", Need::render_node};
constexpr FeatureDescriptor kErrors{"error_state", "Hangs.", Need::root_only_file};
constexpr FeatureDescriptor kLog{"kernel_log", "Hangs.", Need::kernel_log, true, {}, true};
constexpr const char* kProgram = "/usr/bin/intel-gpu-exporter";

Finding denied_one(const FeatureDescriptor& feature, Rights rights) {
  return {&feature, "c", "", false, {Reason::permission}, "", "a hint", rights};
}

std::vector<Finding> denied(Rights level = Rights::perf_level) {
  return {denied_one(kBusy, Rights::perfmon | level),
          denied_one(kProcesses, Rights::sys_ptrace | Rights::host_processes),
          denied_one(kMemory, Rights::render_group), denied_one(kErrors, Rights::dac_read_search)};
}

std::string text_of(const std::vector<GrantStep>& steps) {
  std::string text;
  for (const GrantStep& step : steps) {
    if (!step.text.empty()) text += "(" + step.text + ")\n";
    for (const std::string& line : step.lines) text += line + "\n";
  }
  return text;
}

std::string granted(PlaceKind kind, Rights level = Rights::perf_level, bool own_users = false) {
  const Place place{kind, kind == PlaceKind::systemd_unit ? "gpu.service" : "", Rights::none, own_users};
  return text_of(how_to_grant(denied(level), place, kProgram));
}

}  // namespace

TEST_SUITE_BEGIN("place");

TEST_CASE("each place is recognised by its marks") {
  CHECK(Machine().place().kind == PlaceKind::bare_metal);
  CHECK(Machine{{{"/proc/self/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n"}}, {}}.place().kind ==
        PlaceKind::bare_metal);
  const Place unit = Machine{{{"/proc/self/cgroup", "0::/system.slice/intel-gpu-exporter.service\n"}}, {}}.place();
  CHECK(title(unit) == "systemd unit intel-gpu-exporter.service");
  CHECK(Machine{{{"/.dockerenv", ""}}, {}}.place().kind == PlaceKind::docker);
  CHECK(Machine{{{"/run/.containerenv", ""}}, {}}.place().kind == PlaceKind::podman);
  CHECK(Machine{{}, {{"container", "podman"}}}.place().kind == PlaceKind::podman);
  CHECK(Machine{{}, {{"container", "lxc"}}}.place().kind == PlaceKind::lxc);
  CHECK(Machine{{{"/run/systemd/container", "lxc\n"}}, {}}.place().kind == PlaceKind::lxc);
  CHECK(Machine{{{"/proc/sys/kernel/osrelease", "5.15.153.1-Microsoft-standard-WSL2\n"}}, {}}.place().kind ==
        PlaceKind::wsl);
  CHECK(Machine{{{"/proc/sys/kernel/osrelease", "6.1.0-40-amd64\n"}}, {}}.place().kind == PlaceKind::bare_metal);
}

TEST_CASE("the innermost place counts: a pod before its engine, a container before WSL, LXC before its unit") {
  CHECK(Machine{{{"/.dockerenv", ""}}, {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}}}.place().kind ==
        PlaceKind::kubernetes);
  CHECK(Machine{{{"/.dockerenv", ""}, {"/proc/sys/kernel/osrelease", "6.6-microsoft"}}, {}}.place().kind ==
        PlaceKind::docker);
  CHECK(Machine{{{"/run/systemd/container", "lxc"}, {"/proc/self/cgroup", "0::/system.slice/gpu.service"}}, {}}
            .place()
            .kind == PlaceKind::lxc);
}

TEST_CASE("a container without an engine's marks is recognised by its namespaces, or by its manager's word") {
  // runc, with and without the host's processes.
  CHECK(Machine{{}, {}, {{"/proc/self/ns/pid", "pid:[4026532201]"}}}.place().kind == PlaceKind::container);
  CHECK(Machine{{}, {}, {{"/proc/self/ns/pid", "pid:[4026531836]"}, {"/proc/self/ns/cgroup", "cgroup:[4026532202]"}}}
            .place()
            .kind == PlaceKind::container);
  CHECK(Machine{{}, {{"container", "systemd-nspawn"}}}.place().kind == PlaceKind::container);
  // Nothing is guessed from what cannot be read; WSL and units may have such namespaces, too.
  CHECK(Machine{{}, {}, {}}.place().kind == PlaceKind::bare_metal);
  const std::map<std::string, std::string> own{{"/proc/self/ns/pid", "pid:[4026532201]"}};
  CHECK(Machine{{{"/proc/sys/kernel/osrelease", "6.6-microsoft"}}, {}, own}.place().kind == PlaceKind::wsl);
  CHECK(Machine{{{"/proc/self/cgroup", "0::/system.slice/gpu.service"}}, {}, own}.place().kind ==
        PlaceKind::systemd_unit);
  CHECK(Machine{{{"/.dockerenv", ""}}, {}, own}.place().kind == PlaceKind::docker);
}

TEST_CASE("each place has its own lines for the same missing permissions; prose and commands are apart") {
  CHECK(granted(PlaceKind::bare_metal) ==
        "sudo sysctl kernel.perf_event_paranoid=2 |\n  sudo tee /etc/sysctl.d/60-perf-events.conf\n"
        "sudo setcap cap_dac_read_search,cap_perfmon,cap_sys_ptrace+ep \\\n  /usr/bin/intel-gpu-exporter\n"
        "sudo usermod -aG render \"$USER\"\n"
        "(Then log in again: the new group counts from there.)\n");
  CHECK(granted(PlaceKind::systemd_unit) ==
        "sudo sysctl kernel.perf_event_paranoid=2 |\n  sudo tee /etc/sysctl.d/60-perf-events.conf\n"
        "sudo mkdir -p /etc/systemd/system/gpu.service.d\n"
        "printf '%s\\n' '[Service]' \\\n"
        "  'AmbientCapabilities=CAP_DAC_READ_SEARCH CAP_PERFMON CAP_SYS_PTRACE' \\\n"
        "  'CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_PERFMON CAP_SYS_PTRACE' \\\n"
        "  'SupplementaryGroups=render' |\n"
        "  sudo tee /etc/systemd/system/gpu.service.d/rights.conf\n"
        "sudo systemctl daemon-reload\n"
        "sudo systemctl restart gpu.service\n");
  CHECK(granted(PlaceKind::docker) ==
        "(On the host, in place of this container. Change what differs in yours: name, port, volumes, image. In "
        "Compose: devices, group_add, pid, security_opt, cap_add.)\n"
        "sudo docker rm -f intel-gpu-exporter\n"
        "sudo docker run -d --name intel-gpu-exporter -p 10068:10068 --read-only \\\n"
        "  --device /dev/dri --group-add \"$(stat -c %g /dev/dri/renderD128)\" \\\n"
        "  --pid host --security-opt apparmor=unconfined --security-opt label=disable \\\n"
        "  --cap-drop ALL --cap-add DAC_READ_SEARCH --cap-add PERFMON --cap-add SYS_PTRACE \\\n"
        "  intel-gpu-exporter\n"
        "(On the host:)\n"
        "sudo sysctl kernel.perf_event_paranoid=2 |\n  sudo tee /etc/sysctl.d/60-perf-events.conf\n");
  CHECK(granted(PlaceKind::podman, Rights::none).find("\nsudo podman run -d") != std::string::npos);
  CHECK(granted(PlaceKind::podman, Rights::none).find("sysctl") == std::string::npos);
  CHECK(granted(PlaceKind::kubernetes).find("capabilities: {add: [DAC_READ_SEARCH, PERFMON, SYS_PTRACE]}\n'; done\n") !=
        std::string::npos);
  CHECK(granted(PlaceKind::lxc).find("docs/containers.md") != std::string::npos);
  CHECK(granted(PlaceKind::container) ==
        "(Add to the settings of the container (runc: config.json): the capabilities CAP_DAC_READ_SEARCH, CAP_PERFMON, "
        "CAP_SYS_PTRACE; the device /dev/dri/renderD128 and the group that owns it; the host's PID namespace (runc: "
        "leave out \"pid\").)\n"
        "(On the host:)\n"
        "sudo sysctl kernel.perf_event_paranoid=2 |\n  sudo tee /etc/sysctl.d/60-perf-events.conf\n");
  CHECK(granted(PlaceKind::wsl).find("WSL has no i915 or xe device") != std::string::npos);
}

TEST_CASE("a line to copy runs as it is, in every place: a whole command, without a word to replace") {
  for (const PlaceKind kind : {PlaceKind::bare_metal, PlaceKind::systemd_unit, PlaceKind::docker, PlaceKind::podman,
                               PlaceKind::kubernetes, PlaceKind::lxc, PlaceKind::container, PlaceKind::wsl})
    for (const GrantStep& step :
         how_to_grant(denied(), {kind, "gpu.service", Rights::none, true, 104, "media"}, kProgram))
      for (const std::string& line : step.lines) {
        CAPTURE(line);
        CHECK(line.find('#') == std::string::npos);
        CHECK(line.find("...") == std::string::npos);
        CHECK_FALSE(line.ends_with('\\'));
        for (const char* placeholder : {"NAMESPACE", "GID", "ID ", "HOST"}) CHECK(line.find(placeholder) == line.npos);
        const ProgramOutcome shell = run_program({"/bin/sh", "-n", "-c", line});
        CHECK_MESSAGE(shell.status == 0, shell.output);
      }
}

TEST_CASE("a container is replaced by one that also has what this one has") {
  Machine machine;
  machine.files = {{"/.dockerenv", ""}, {"/dev/dri", ""}, {"/proc/self/status", "CapPrm:\t0000000000080000\n"}};
  const auto lines = [&] {
    return text_of(how_to_grant(std::vector{denied_one(kBusy, Rights::perfmon)}, machine.place(), kProgram));
  };
  CHECK(lines().find("--device /dev/dri") != std::string::npos);
  CHECK(lines().find("--cap-drop ALL --cap-add PERFMON --cap-add SYS_PTRACE \\\n") != std::string::npos);
  CHECK(lines().find("--pid host") != std::string::npos);
  machine.links["/proc/self/ns/pid"] = "pid:[4026532201]";
  CHECK(lines().find("--pid host") == std::string::npos);
}

TEST_CASE("a pod gets the group that owns its render node, an LXC is found by its name") {
  Machine pod;
  pod.environment["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
  const std::vector<Finding> memory{denied_one(kMemory, Rights::render_group)};
  CHECK(how_to_grant(memory, pod.place(), kProgram).front().lines.empty());
  pod.groups["/dev/dri/renderD128"] = 104;
  CHECK(text_of(how_to_grant(memory, pod.place(), kProgram))
            .find("\n      securityContext: {supplementalGroups: [104]}\n'; done") != std::string::npos);
  pod.files["/proc/self/status"] = "CapPrm:\t0000000000080000\n";
  CHECK(text_of(how_to_grant(std::vector{denied_one(kBusy, Rights::perfmon)}, pod.place(), kProgram))
            .find("{add: [PERFMON, SYS_PTRACE]}") != std::string::npos);  // the list replaces the one there is
  Machine lxc;
  lxc.environment["container"] = "lxc";
  lxc.files["/proc/sys/kernel/hostname"] = "media$(reboot)\n";  // its owner chose it, the host's pastes it
  CHECK(text_of(how_to_grant(memory, lxc.place(), kProgram)).find("awk '$NF == \"mediareboot\" {") !=
        std::string::npos);
}

TEST_CASE("a simulated machine is not in this one's container") {
  MonitorOptions options;
  options.simulate = "locked";
  CHECK(place_of(options).kind == PlaceKind::bare_metal);
  CHECK(place_of(options).held == Rights::none);
  CHECK(program_path(options) == kProgram);
  options.sysfs_root = "/proc/self";  // a file that is there
  CHECK_FALSE(read_sysfs_of(options)("comm"));
  options.simulate.clear();
  CHECK(read_sysfs_of(options)("comm"));
}

TEST_CASE("setcap keeps the capabilities that the program has, and quotes its path") {
  Machine machine;
  machine.files["/proc/self/status"] = "Name:\tx\nCapPrm:\t0000000000080000\nCapEff:\t0\n";  // CAP_SYS_PTRACE
  CHECK((machine.place().held & Rights::sys_ptrace) == Rights::sys_ptrace);
  const std::vector<Finding> findings{denied_one(kBusy, Rights::perfmon)};
  CHECK(text_of(how_to_grant(findings, machine.place(), "/home/a b/x")) ==
        "sudo setcap cap_perfmon,cap_sys_ptrace+ep \\\n  '/home/a b/x'\n");
}

TEST_CASE("the title counts commands and values, and says where that does not work") {
  const auto title_in = [](PlaceKind kind, const std::vector<Finding>& findings) {
    return place_of_grants(findings, {kind, {}}, kProgram).title;
  };
  CHECK(title_in(PlaceKind::bare_metal, denied()) == "3 commands grant 4 values:");
  CHECK(title_in(PlaceKind::docker, denied()) == "3 commands grant 4 values:");
  CHECK(title_in(PlaceKind::container, denied()) == "This grants 4 values here (a container):");
  constexpr FeatureDescriptor firmware{"firmware", "Firmware.", Need::render_node, false, {}, true};
  std::vector<Finding> with_optional = denied();
  with_optional.push_back(denied_one(firmware, Rights::render_group));
  CHECK(title_in(PlaceKind::bare_metal, with_optional) == "3 commands grant 4 values and 1 optional one:");
  CHECK(title_in(PlaceKind::bare_metal, {denied_one(kMemory, Rights::render_group)}) == "1 command grants 1 value:");
  const Finding old_kernel{&kBusy, "c", "", false, {Reason::kernel}, "", "a newer kernel"};
  CHECK(title_in(PlaceKind::bare_metal, {denied_one(kMemory, Rights::render_group), old_kernel}) ==
        "1 command grants 1 of 2 values:");
  CHECK(title_in(PlaceKind::bare_metal, {old_kernel}) == "1 value is missing, and no command here grants it.");
  CHECK(title_in(PlaceKind::bare_metal, {}).empty());
}

TEST_CASE("in a user namespace the lines lead out of it, because its capabilities do not count") {
  Machine machine;
  CHECK_FALSE(machine.place().own_users);
  machine.links["/proc/self/ns/user"] = "user:[4026531837]";
  CHECK_FALSE(machine.place().own_users);
  machine.links["/proc/self/ns/user"] = "user:[4026532300]";
  CHECK(machine.place().own_users);
  for (const auto& [kind, line] :
       std::map<PlaceKind, const char*>{{PlaceKind::docker, "--userns=host \\\n"},
                                        {PlaceKind::podman, "--userns=host \\\n"},
                                        {PlaceKind::kubernetes, "      hostUsers: true\n"},
                                        {PlaceKind::systemd_unit, "'PrivateUsers=no'"},
                                        {PlaceKind::container, "host's user namespace"},
                                        {PlaceKind::bare_metal, "outside this user namespace"}}) {
    CHECK(granted(kind, Rights::perf_level, true).find(line) != std::string::npos);
    CHECK(granted(kind).find(line) == std::string::npos);
  }
}

TEST_CASE("only what a permission would fix is granted, and nothing if nothing is missing") {
  const Finding there{&kBusy, "c", "", true, {}, "", "", Rights::perfmon};
  const Finding old_kernel{&kProcesses, "c", "", false, {Reason::kernel}, "", "a newer kernel"};
  const Finding module{&kBusy,       "c",         "", false, {Reason::kernel}, "", "the module intel_uncore",
                       Rights::none, "modprobe x"};
  CHECK(how_to_grant(std::vector<Finding>{there, old_kernel}, {}, "x").empty());
  CHECK(text_of(how_to_grant(std::vector<Finding>{there, old_kernel, module, module}, {}, "x")) == "modprobe x\n");
  const std::vector<Finding> optional{denied_one(kLog, Rights::syslog)};
  CHECK(how_to_grant(optional, {}, "x").empty());
  CHECK(text_of(how_to_grant(optional, {}, "x", true)) == "sudo setcap cap_syslog+ep \\\n  x\n");
}

TEST_SUITE_END();
