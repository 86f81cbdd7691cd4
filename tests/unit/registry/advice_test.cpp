// SPDX-License-Identifier: Apache-2.0
#include "registry/advice.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr FeatureDescriptor kPerf{"engines", "x.", Need::perf_events};
bool says(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }
Advice on_perf(int error, PermissionFacts facts) { return advise(kPerf, {Reason::permission, error}, facts); }

}  // namespace

TEST_SUITE_BEGIN("advice");

TEST_CASE("EACCES without the capability: the capability, or the sysctl") {
  const Advice advice = on_perf(EACCES, {.perf_event_paranoid = 2});
  CHECK(says(advice.cause, "kernel.perf_event_paranoid is 2"));
  CHECK(says(advice.cure, "CAP_PERFMON"));
  CHECK(says(advice.cure, "perf_event_paranoid=0"));
}

TEST_CASE("EACCES with the capability at Debian's level 3: the level is the trouble") {
  const Advice advice = on_perf(EACCES, {.perf_event_paranoid = 3, .has_perfmon = true});
  CHECK(says(advice.cure, "sysctl kernel.perf_event_paranoid=2"));
  CHECK_FALSE(says(advice.cure, "setcap"));
}

TEST_CASE("EACCES without the capability at level 3 or 4 names both, so that the first cure is not half of one") {
  for (int level : {3, 4}) {
    const Advice advice = on_perf(EACCES, {.perf_event_paranoid = level});
    CHECK(says(advice.cure, "CAP_PERFMON"));
    CHECK(says(advice.cure, "perf_event_paranoid=2"));
  }
}

TEST_CASE("EPERM is seccomp, not the sysctl") {
  const Advice advice = on_perf(EPERM, {.perf_event_paranoid = 2});
  CHECK(says(advice.cause, "seccomp"));
  CHECK_FALSE(says(advice.cure, "sysctl"));
}

TEST_CASE("a kernel without the PMU has no permission to blame") {
  const Advice advice = advise(kPerf, {Reason::kernel, ENOENT}, {.perf_event_paranoid = 2});
  CHECK(says(advice.cure, "newer kernel"));
}

TEST_CASE("render node, other users' processes, root-only files: each its own cure") {
  CHECK(says(advise({"m", "x.", Need::render_node}, {Reason::permission, EACCES}, {}).cure, "render"));
  CHECK(says(advise({"p", "x.", Need::other_processes}, {Reason::permission, EACCES}, {}).cure, "CAP_SYS_PTRACE"));
  CHECK(says(advise({"p", "x.", Need::other_processes}, {Reason::permission, EACCES}, {}).cure, "hostPID"));
  CHECK(says(advise({"p", "x.", Need::descriptor_links}, {Reason::permission, EACCES}, {}).cure, "CAP_DAC_READ_SEARCH"));
  CHECK(says(advise({"p", "x.", Need::descriptor_links}, {Reason::permission, EACCES}, {}).cause, "sleeps"));
  CHECK(says(advise({"e", "x.", Need::root_only_file}, {Reason::permission, EACCES}, {}).cure, "CAP_DAC_READ_SEARCH"));
  CHECK(advise({"h", "x."}, {Reason::hardware}, {}).cure.empty());
}

TEST_CASE("the facts come from the machine") {
  TestMachine machine;
  machine.tree.write("proc/sys/kernel/perf_event_paranoid", "-1\n");
  machine.privileges.capabilities = {Privileges::kCapPerfmon};
  const PermissionFacts facts = permission_facts(machine.machine());
  CHECK(facts.perf_event_paranoid == -1);
  CHECK(facts.has_perfmon);
  CHECK_FALSE(facts.has_sys_admin);
}

TEST_SUITE_END();
