// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>

#include "run/findings.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr FeatureDescriptor kPerf{"engines", "x.", Need::perf_events};
bool says(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }
bool wants(const Advice& advice, Rights right) { return (advice.rights & right) != Rights::none; }
Advice on_perf(int error, PermissionFacts facts) { return advise(kPerf, {Reason::permission, error}, facts); }

}  // namespace

TEST_SUITE_BEGIN("advice");

TEST_CASE("EACCES without the capability: the capability") {
  const Advice advice = on_perf(EACCES, {.perf_event_paranoid = 2});
  CHECK(says(advice.cause, "kernel.perf_event_paranoid is 2"));
  CHECK(advice.hint == "CAP_PERFMON");
  CHECK(advice.rights == Rights::perfmon);
}

TEST_CASE("a hint is prose: what is copied is a command of its own") {
  const FeatureDescriptor traffic{"memory_bandwidth", "x.", Need::imc_pmu};
  const Advice advice = advise(traffic, {Reason::kernel, ENOENT}, {});
  CHECK(advice.command == "sudo modprobe intel_uncore");
  CHECK_FALSE(says(advice.hint, "modprobe"));
}

TEST_CASE("EACCES with the capability at Debian's level 3: the level is the cause") {
  const Advice advice = on_perf(EACCES, {.perf_event_paranoid = 3, .has_perfmon = true});
  CHECK(advice.hint == "kernel.perf_event_paranoid=2");
  CHECK(advice.rights == Rights::perf_level);
}

TEST_CASE("EACCES without the capability at level 3 or 4 names both") {
  for (int level : {3, 4}) {
    const Advice advice = on_perf(EACCES, {.perf_event_paranoid = level});
    CHECK(advice.hint == "CAP_PERFMON and kernel.perf_event_paranoid=2");
    CHECK(advice.rights == (Rights::perfmon | Rights::perf_level));
  }
}

TEST_CASE("EACCES with a capability that suffices: something else refuses") {
  const Advice advice = on_perf(EACCES, {.perf_event_paranoid = 2, .has_perfmon = true});
  CHECK(says(advice.cause, "security module"));
  CHECK_FALSE(says(advice.cause, "not enough"));
  CHECK(advice.rights == Rights::none);
}

TEST_CASE("EACCES in a user namespace: no capability helps there, only outside it, or level 0") {
  for (const int level : {2, 3}) {
    for (const bool perfmon : {true, false}) {
      const Advice advice =
          on_perf(EACCES, {.perf_event_paranoid = level, .has_perfmon = perfmon, .in_user_namespace = true});
      CHECK(says(advice.cause, "user namespace"));
      CHECK(says(advice.hint, "perf_event_paranoid=0"));
      CHECK_FALSE(says(advice.hint, "perf_event_paranoid=2"));
      CHECK_FALSE(wants(advice, Rights::perf_level));
    }
  }
  const FeatureDescriptor used{"m", "x.", Need::perfmon_capability};
  CHECK(says(advise(used, {Reason::permission, EACCES}, {.has_perfmon = true, .in_user_namespace = true}).hint,
             "in the host's user namespace"));
}

TEST_CASE("EPERM and ENOSYS are seccomp, not the sysctl") {
  for (const int error : {EPERM, ENOSYS}) {
    const Advice advice = on_perf(error, {.perf_event_paranoid = 2});
    CHECK(says(advice.cause, "seccomp"));
    CHECK_FALSE(wants(advice, Rights::perf_level));
  }
}

TEST_CASE("a kernel without the PMU is not a permission problem") {
  const Advice advice = advise(kPerf, {Reason::kernel, ENOENT}, {.perf_event_paranoid = 2});
  CHECK(says(advice.hint, "newer kernel"));
}

TEST_CASE("render node, other users' processes and root-only files each have their own hint") {
  CHECK(says(advise({"m", "x.", Need::render_node}, {Reason::permission, EACCES}, {}).hint, "render"));
  CHECK(says(advise({"p", "x.", Need::other_processes}, {Reason::permission, EACCES}, {}).hint, "CAP_SYS_PTRACE"));
  CHECK(says(advise({"p", "x.", Need::other_processes}, {Reason::permission, EACCES}, {}).hint, "PID namespace"));
  CHECK(says(advise({"p", "x.", Need::descriptor_links}, {Reason::suspended, EACCES}, {}).hint, "CAP_DAC_READ_SEARCH"));
  CHECK(says(advise({"p", "x.", Need::descriptor_links}, {Reason::suspended, EACCES}, {}).cause, "sleeps"));
  CHECK(says(advise({"e", "x.", Need::root_only_file}, {Reason::permission, EACCES}, {}).hint, "CAP_DAC_READ_SEARCH"));
  CHECK(advise({"h", "x."}, {Reason::hardware}, {}).hint.empty());
}

TEST_CASE("a missing source is not blamed on another source's kernel version") {
  const auto on_kernel = [](Need need) { return advise({"f", "x.", need}, {Reason::kernel, ENOENT}, {}); };
  // Releases are in the features' own rows, by driver.
  for (const Need need : {Need::perf_events, Need::awake_event, Need::rapl_pmu, Need::powercap_file, Need::imc_pmu,
                          Need::card_hwmon, Need::nothing_special})
    CHECK(on_kernel(need).hint.find_first_of("0123456789") == std::string::npos);
  CHECK(says(on_kernel(Need::imc_pmu).command, "modprobe intel_uncore"));
  CHECK(says(on_kernel(Need::rapl_pmu).command, "intel_rapl_msr"));

  const Absent refused{Reason::permission, EACCES};
  for (const Need need : {Need::awake_event, Need::rapl_pmu, Need::imc_pmu})
    CHECK(says(advise({"f", "x.", need}, refused, {}).hint, "CAP_PERFMON"));
  CHECK(says(advise({"f", "x.", Need::powercap_file}, refused, {}).hint, "CAP_DAC_READ_SEARCH"));
  CHECK_FALSE(says(advise({"f", "x.", Need::card_hwmon}, refused, {}).hint, "CAP_"));
}

TEST_CASE("why the kernel does not report who uses a GPU") {
  const FeatureDescriptor finder{"client_finder", "x.", Need::client_finder, true, {}, true};
  CHECK(says(advise(finder, {Reason::permission, EPERM}, {}).hint, "CAP_BPF and CAP_PERFMON"));
  CHECK(says(advise(finder, {Reason::kernel, ENOENT}, {}).hint, "--pid host"));
  CHECK(says(advise(finder, {Reason::disabled, ENOSYS}, {}).cause, "built without BPF"));
  CHECK(says(advise(finder, {Reason::disabled, ENOENT}, {}).cause, "--collector.fdinfo.finder=walk"));
  CHECK(says(advise(finder, {Reason::disabled}, {}).cause, "turned off by a flag"));  // the collector is
}

TEST_CASE("what is off because another collector is, and what no flag turned off") {
  const FeatureDescriptor events{"hang_events", "x.", Need::hang_events, false, {}, true};
  CHECK(says(advise(events, {Reason::disabled, ENOENT}, {}).hint, "--collector.jobs"));
  CHECK(says(advise(events, {Reason::disabled}, {}).cause, "turned off by a flag"));
  const FeatureDescriptor dumps{"core_dumps", "x.", Need::nothing_special, false, {}, true};
  CHECK(says(advise(dumps, {Reason::disabled, EPERM}, {}).cause, "devcoredump/disabled"));
  CHECK(advise(dumps, {Reason::disabled, EPERM}, {}).hint == "boot again");
}

TEST_CASE("a missing render node: pass it to the container; one without permission: join the group") {
  const FeatureDescriptor memory{"memory_size", "x.", Need::render_node};
  const Advice not_there = advise(memory, {Reason::permission, ENOENT}, {});
  CHECK(says(not_there.cause, "not in /dev/dri"));
  CHECK(says(not_there.hint, "/dev/dri in the container"));
  CHECK(not_there.rights == Rights::render_group);
  CHECK(advise(memory, {Reason::permission, EACCES}, {}).hint == "group render");
}

TEST_CASE("processes hidden despite CAP_SYS_PTRACE: the hint is not the capability") {
  const FeatureDescriptor processes{"processes", "x.", Need::other_processes};
  const auto on = [&](int error, PermissionFacts facts) {
    return advise(processes, {Reason::permission, error}, facts);
  };
  const Advice confined = on(EACCES, {.has_ptrace = true});
  CHECK(says(confined.cause, "although"));
  CHECK(says(confined.hint, "AppArmor"));
  CHECK(says(confined.hint, "user namespace"));
  CHECK_FALSE(wants(confined, Rights::sys_ptrace));
  const Advice rootless = on(EACCES, {.has_ptrace = true, .in_user_namespace = true});
  CHECK(says(rootless.hint, "in the host's user namespace"));
  const Advice hidden = on(ENOENT, {.has_ptrace = true});
  CHECK(says(hidden.cause, "PID namespace"));
  CHECK(says(hidden.cause, "hidepid"));
  CHECK(hidden.rights == Rights::host_processes);
  CHECK(says(on(ENOENT, {}).hint, "CAP_SYS_PTRACE"));
}

TEST_CASE("the facts come from the machine") {
  TestMachine machine;
  machine.tree.write("proc/sys/kernel/perf_event_paranoid", "-1\n");
  machine.privileges.capabilities = {Privileges::kCapPerfmon};
  const PermissionFacts facts = permission_facts(machine.machine());
  CHECK(facts.perf_event_paranoid == -1);
  CHECK(facts.has_perfmon);
  CHECK_FALSE(facts.has_ptrace);
  CHECK_FALSE(facts.in_user_namespace);
  machine.privileges.capabilities = {Privileges::kCapSysPtrace};
  machine.privileges.initial_user_namespace = false;
  CHECK(permission_facts(machine.machine()).has_ptrace);
  CHECK(permission_facts(machine.machine()).in_user_namespace);
}

TEST_SUITE_END();
