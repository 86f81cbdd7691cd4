// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "collector/collectors.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("identity");

using namespace igpu;
using igpu::test::CollectorRun;
using igpu::test::TestMachine;

namespace {

Gpu only_gpu(TestMachine& m) {
  auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  return gpus.front();
}

using Run = CollectorRun<identity_collector>;

}  // namespace

TEST_CASE("a card is described by one info series") {
  TestMachine m("a380-i915");
  Gpu gpu = only_gpu(m);
  gpu.numa_node = 1;
  gpu.revision = 5;
  Run run(m, gpu);
  run.collect();
  CHECK(run.value("intel_gpu_info", {{"device", "0000:0b:00.0"},
                                     {"card", "card1"},
                                     {"render_node", "renderD128"},
                                     {"driver", "i915"},
                                     {"device_id", "0x56a5"},
                                     {"revision", "0x05"},
                                     {"name", "DG2 [Arc A380]"},
                                     {"kind", "discrete"},
                                     {"numa_node", "1"}}) == 1);
  CHECK(run.value("intel_gpu_error_state") == 0);
}

TEST_CASE("an unknown property is an empty label, which is left out") {
  TestMachine m("cometlake-i915");
  Gpu gpu = only_gpu(m);
  gpu.numa_node = -1;
  Run run(m, gpu);
  run.collect();
  CHECK(run.value("intel_gpu_info",
                  {{"kind", "integrated"}, {"device_id", "0x9b41"}, {"name", ""}, {"numa_node", ""}}) == 1);
}

TEST_CASE("a suspended GPU: info and runtime_suspended, nothing that would have to be read") {
  TestMachine m("a380-xe-k7");
  const Gpu gpu = only_gpu(m);
  Run run(m, gpu);
  run.collect();
  CHECK(run.value("intel_gpu_runtime_suspended") == 0);
  CHECK(run.value("intel_gpu_error_state") == 0);
  m.tree.make_directory("sys/" + gpu.pci_path + "/devcoredump");
  run.is_suspended = true;
  run.collect();
  CHECK(run.value("intel_gpu_runtime_suspended") == 1);
  CHECK(run.count("intel_gpu_info") == 1);
  CHECK(run.count("intel_gpu_error_state") == 0);
  CHECK(run.missing("error_state") == Reason::suspended);
  run.is_suspended = false;
  run.collect();
  CHECK(run.value("intel_gpu_error_state") == 1);
}

TEST_CASE("a device without runtime power management has no runtime_suspended") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  Run run(m, gpu);
  run.told_suspended = Absent{Reason::kernel, ENOENT};
  run.collect();
  CHECK(run.count("intel_gpu_runtime_suspended") == 0);
  CHECK(run.failures() == 0);
}

TEST_CASE("an unknown runtime status is a failure, and runtime_suspended is absent") {
  TestMachine m("a380-i915");
  Run run(m, only_gpu(m));
  run.told_suspended = Failure{std::make_error_code(std::errc::bad_message), "runtime_status"};
  run.collect();
  CHECK(run.count("intel_gpu_runtime_suspended") == 0);
  CHECK(run.count("intel_gpu_info") == 1);
  CHECK(run.failures() == 1);
}

TEST_CASE("a hang captured by i915 is reported; without root it is unknown, and the hint is root") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  m.tree.write("sys/" + gpu.pci_path + "/drm/card1/error", "GPU HANG: ecode 12:1:85dffffb\n");
  Run run(m, gpu);
  run.collect();
  CHECK(run.value("intel_gpu_error_state") == 1);
  m.sys.refuse_opening("drm/card1/error", EACCES);
  Run without_root(m, gpu);
  without_root.collect();
  CHECK(without_root.count("intel_gpu_error_state") == 0);
  CHECK(without_root.missing("error_state") == Reason::permission);
  CHECK(without_root.failures() == 0);
  REQUIRE(without_root.sink().features().size() == 1);
  CHECK(without_root.sink().features()[0].feature->need == Need::root_only_file);
}

TEST_SUITE_END();
