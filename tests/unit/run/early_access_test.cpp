// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "run/machine_parts.h"
#include "support/machine_tree.h"

using namespace igpu;
using namespace igpu::test;

namespace {

MonitorOptions with_finder(const std::string& way) {
  MonitorOptions options;
  options.collector_options["collector.fdinfo.finder"] = {way};
  return options;
}

}  // namespace

TEST_SUITE_BEGIN("early access");

TEST_CASE("nothing is opened for a walk, and the reason is the flag") {
  const auto early = open_early(with_finder("walk"));
  REQUIRE(early->drm_users.is_absent());
  CHECK(early->drm_users.absent() == Absent{Reason::disabled, ENOENT});
}

TEST_CASE("nothing is opened for a simulation, and there is no reason to report") {
  MonitorOptions options = with_finder("bpf");
  options.simulate = "rack";
  const auto early = open_early(options);
  REQUIRE(early->drm_users.is_absent());
  CHECK(early->drm_users.absent() == Machine::kNoPart);
}

TEST_CASE("a folder that is not a kernel's /proc is walked; pinned to the kernel's reports it is an error") {
  MachineTree tree;
  MonitorOptions options = with_finder("auto");
  options.procfs_root = tree.root().string();
  const auto early = open_early(options);
  REQUIRE(early->drm_users.is_absent());
  CHECK(early->drm_users.absent() == Machine::kNoPart);
  options = with_finder("bpf");
  options.procfs_root = tree.root().string();
  std::string error;
  try {
    (void)open_early(options);
  } catch (const OptionError& refused) {
    error = refused.what();
  }
  CHECK(error ==
        "--collector.fdinfo.finder: bpf: " + tree.root().string() + " is not a kernel's /proc; use auto or walk");
}

TEST_CASE("it is open, or there is a reason") {
  const auto early = open_early(with_finder("auto"));
  CHECK((early->drm_users || early->drm_users.absent() != Machine::kNoPart));
}

TEST_CASE("a kernel bug needs the kernel log, also if nothing collects from it") {
  MachineTree tree;
  tree.write("dev/kmsg", "6,1,1,-;text\n");
  MonitorOptions options = with_finder("walk");
  options.devfs_root = (tree.root() / "dev").string();
  options.collectors["health"] = false;
  auto early = open_early(options);
  CHECK_FALSE(early->kernel_log);
  add_kernel_log(options, *early);
  CHECK(early->kernel_log);
  CHECK_FALSE(early->uevents);
  // Of a simulated machine, and of a copied tree, it would be another machine's.
  options.sysfs_root = tree.root().string();
  early = open_early(options);
  add_kernel_log(options, *early);
  CHECK_FALSE(early->kernel_log);
}

TEST_SUITE_END();
