// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "collector/collectors.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;

namespace {

struct Scene {
  TestMachine machine;
  std::unique_ptr<MachineCollector> host = make_collector(host_collector, machine.machine(), machine.log);
  SampleSink sink;

  void stat(const std::string& text) { machine.tree.write("proc/stat", text); }
  void collect() {
    sink.clear();
    TestMachinePass pass(machine.clock);
    host->collect(pass, sink);
  }
  std::optional<double> cpu(std::string_view number, std::string_view mode) const {
    for (const auto& sample : sink.samples().samples())
      if (sample.metric->name == "intel_gpu_host_cpu_seconds_total" &&
          sink.samples().label_value(sample, 0) == number && sink.samples().label_value(sample, 1) == mode)
        return sample.value;
    return std::nullopt;
  }
  std::optional<double> processes() const {
    for (const auto& sample : sink.samples().samples())
      if (sample.metric->name == "intel_gpu_host_processes") return sample.value;
    return std::nullopt;
  }
};

}  // namespace

TEST_SUITE_BEGIN("host");

TEST_CASE("every processor has its time by mode, and processes are counted") {
  Scene scene;
  scene.stat("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 150 2 30 4000 5 6 7 8 9 10\ncpu2 1 0 0 0 0 0 0 0 0 0\nintr 5 6\n");
  for (const char* pid : {"1", "27", "4000000"}) scene.machine.tree.write(std::string("proc/") + pid + "/comm", "x\n");
  scene.collect();
  CHECK(scene.cpu("0", "user") == 1.5);
  CHECK(scene.cpu("0", "idle") == 40);
  CHECK(scene.cpu("0", "steal") == 0.08);
  CHECK(scene.cpu("2", "user") == 0.01);
  CHECK_FALSE(scene.cpu("1", "user"));
  CHECK(scene.processes() == 3);
}

TEST_CASE("a count that steps back a little is held; one that was reset goes on from there") {
  Scene scene;
  scene.stat("cpu0 0 0 0 1000 0 0 0 0\n");
  scene.collect();
  scene.stat("cpu0 0 0 0 998 0 0 0 0\n");
  scene.collect();
  CHECK(scene.cpu("0", "idle") == 10);
  scene.stat("cpu0 0 0 0 1010 0 0 0 0\n");
  scene.collect();
  CHECK(scene.cpu("0", "idle") == 10.1);
  scene.stat("cpu0 0 0 0 5 0 0 0 0\n");
  scene.collect();
  CHECK(scene.cpu("0", "idle") == 10.1);
  scene.stat("cpu0 0 0 0 15 0 0 0 0\n");
  scene.collect();
  CHECK(scene.cpu("0", "idle") == doctest::Approx(10.2));
}

TEST_CASE("without /proc/stat the processors are absent; a file of another format is a failure") {
  Scene scene;
  scene.machine.tree.write("proc/1/comm", "init\n");
  scene.collect();
  CHECK_FALSE(scene.cpu("0", "user"));
  CHECK(scene.processes() == 1);
  CHECK(scene.sink.failures().empty());
  scene.stat("cpu0 many\n");
  scene.collect();
  CHECK_FALSE(scene.cpu("0", "user"));
  CHECK(scene.sink.failures().size() == 1);
  scene.stat("cpu0 100 0 0 0 0 0 0 0\n");
  scene.collect();
  CHECK(scene.cpu("0", "user") == 1);
  CHECK(scene.sink.failures().empty());
}

TEST_SUITE_END();
