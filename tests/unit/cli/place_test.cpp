// SPDX-License-Identifier: Apache-2.0
#include "cli/place.h"

#include <doctest/doctest.h>

#include <map>

#include "text/wrap.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

struct Machine {
  std::map<std::string, std::string> files, environment;
  std::map<std::string, std::string> links{{"/proc/self/ns/pid", "pid:[4026531836]"},
                                           {"/proc/self/ns/cgroup", "cgroup:[4026531835]"}};

  Place place() const {
    return detect_place({.read = [this](const char* path) { return find(files, path); },
                         .link = [this](const char* path) { return find(links, path); },
                         .exists = [this](const char* path) { return files.contains(path); },
                         .environment = [this](const char* name) { return find(environment, name); }});
  }

 private:
  static std::optional<std::string> find(const std::map<std::string, std::string>& all, const char* name) {
    const auto at = all.find(name);
    return at == all.end() ? std::nullopt : std::optional(at->second);
  }
};

constexpr FeatureDescriptor kBusy{"engine_busy", "Busy.", Need::perf_events};
constexpr FeatureDescriptor kProcesses{"processes", "Processes.", Need::other_processes, true};
constexpr FeatureDescriptor kMemory{"memory", "Memory.", Need::render_node};
constexpr FeatureDescriptor kErrors{"error_state", "Hangs.", Need::root_only_file};

std::vector<Finding> denied() {
  std::vector<Finding> findings;
  for (const FeatureDescriptor* feature : {&kBusy, &kProcesses, &kMemory, &kErrors})
    findings.push_back({feature, "c", "", false, {Reason::permission}, "", ""});
  return findings;
}

std::string granted(PlaceKind kind, std::optional<int> level = 3, bool own_users = false) {
  const Place place{kind, kind == PlaceKind::systemd_unit ? "gpu.service" : "", own_users};
  std::string text;
  for (const std::string& line : how_to_grant(missing_grants(denied(), level), place, "/usr/bin/intel-gpu-exporter")) {
    CHECK_MESSAGE(text_width(line) + 2 <= kTextWidth, line);
    text += line + "\n";
  }
  return text;
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

TEST_CASE("each place has its own lines for the same missing permissions") {
  CHECK(granted(PlaceKind::bare_metal) ==
        "sudo setcap cap_dac_read_search,cap_perfmon,cap_sys_ptrace+ep \\\n  /usr/bin/intel-gpu-exporter\n"
        "sudo usermod -aG render \"$USER\"   # then log in again\n"
        "sudo sysctl kernel.perf_event_paranoid=2\n");
  CHECK(granted(PlaceKind::systemd_unit) ==
        "sudo systemctl edit gpu.service   # and add:\n"
        "[Service]\n"
        "AmbientCapabilities=CAP_DAC_READ_SEARCH CAP_PERFMON CAP_SYS_PTRACE\n"
        "CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_PERFMON CAP_SYS_PTRACE\n"
        "SupplementaryGroups=render\n"
        "# then: sudo systemctl restart gpu.service\n"
        "sudo sysctl kernel.perf_event_paranoid=2\n");
  CHECK(granted(PlaceKind::docker) ==
        "sudo docker run \\\n"
        "  --device /dev/dri --group-add \"$(stat -c %g /dev/dri/renderD128)\" \\\n"
        "  --pid host --security-opt apparmor=unconfined \\\n"
        "  --security-opt label=disable \\\n"
        "  --cap-add DAC_READ_SEARCH \\\n"
        "  --cap-add PERFMON \\\n"
        "  --cap-add SYS_PTRACE \\\n"
        "  ...   # the flags and the image as before\n"
        "sudo sysctl kernel.perf_event_paranoid=2   # on the host\n");
  CHECK(granted(PlaceKind::podman, 2).starts_with("sudo podman run \\\n"));
  CHECK(granted(PlaceKind::podman, 2).find("sysctl") == std::string::npos);
  CHECK(granted(PlaceKind::kubernetes).find("capabilities: {add: [DAC_READ_SEARCH, PERFMON, SYS_PTRACE]}'") !=
        std::string::npos);
  CHECK(granted(PlaceKind::lxc).find("docs/containers.md") != std::string::npos);
  CHECK(granted(PlaceKind::container) ==
        "# In the settings of the container (runc: config.json), add:\n"
        "# - the capabilities CAP_DAC_READ_SEARCH, CAP_PERFMON, CAP_SYS_PTRACE\n"
        "# - the host's PID namespace (runc: leave out \"pid\")\n"
        "# - the device /dev/dri/renderD128 and the group that owns it\n"
        "sudo sysctl kernel.perf_event_paranoid=2   # on the host\n");
  CHECK(granted(PlaceKind::wsl).find("WSL has no i915 or xe device") != std::string::npos);
}

TEST_CASE("in a user namespace the lines lead out of it, because its capabilities do not count") {
  Machine machine;
  CHECK_FALSE(machine.place().own_users);
  machine.links["/proc/self/ns/user"] = "user:[4026531837]";
  CHECK_FALSE(machine.place().own_users);
  machine.links["/proc/self/ns/user"] = "user:[4026532300]";
  CHECK(machine.place().own_users);
  for (const auto& [kind, line] :
       std::map<PlaceKind, const char*>{{PlaceKind::docker, "  --userns=host \\\n"},
                                        {PlaceKind::podman, "  --userns=host \\\n"},
                                        {PlaceKind::kubernetes, "      hostUsers: true\n"},
                                        {PlaceKind::systemd_unit, "\nPrivateUsers=no\n"},
                                        {PlaceKind::container, "host's user namespace"},
                                        {PlaceKind::bare_metal, "outside this user namespace"}}) {
    CHECK(granted(kind, 3, true).find(line) != std::string::npos);
    CHECK(granted(kind).find(line) == std::string::npos);
  }
}

TEST_CASE("only what a permission would fix is granted, and nothing if nothing is missing") {
  const Finding there{&kBusy, "c", "", true, {}, "", ""};
  const Finding old_kernel{&kProcesses, "c", "", false, {Reason::kernel}, "", "a newer kernel"};
  const std::vector<Finding> findings{there, old_kernel};
  CHECK(missing_grants(findings, 3).none());
  CHECK(how_to_grant(missing_grants(findings, 3), {}, "x").empty());
  const std::vector<Finding> memory{{&kMemory, "c", "", false, {Reason::permission}, "", ""}};
  const auto lines = how_to_grant(missing_grants(memory, 3), {PlaceKind::systemd_unit, "gpu.service"}, "x");
  CHECK(lines == std::vector<std::string>{"sudo systemctl edit gpu.service   # and add:", "[Service]",
                                          "SupplementaryGroups=render", "# then: sudo systemctl restart gpu.service"});
}

TEST_SUITE_END();
