// SPDX-License-Identifier: Apache-2.0
//
// The collectors of a GPU under Windows: what its adapter tells, then what /metrics says.
#include <doctest/doctest.h>

#include <string>

#include "collector/collectors.h"
#include "kernel/clients/wddm_clients.h"
#include "support/fake_gpu_adapters.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("wddm collectors");

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::string_view kCard = "adapter 1 8086 56a0 3 0 0 Intel(R) Arc(TM) A770 Graphics\n";

struct WindowsMachine : TestMachine {
  explicit WindowsMachine(const std::string& script) : adapters(script) { machine().adapters = &adapters; }
  void pass(std::chrono::milliseconds time) {
    clock.advance(time);
    adapters.advance(static_cast<std::uint64_t>(time.count()));
  }
  FakeGpuAdapters adapters;
};

}  // namespace

TEST_CASE("engines: Windows' running time is the busy time") {
  WindowsMachine m(std::string(kCard) + "node 1 640\nnode 6 0\nnode 9 100 Neural\n");
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  engines.collect();
  m.pass(std::chrono::seconds(10));
  engines.collect();
  CHECK(engines.value("intel_gpu_engine_busy_seconds_total",
                      {{"gt", "0"}, {"engine", "3D"}, {"class", "render"}, {"source", "d3dkmt"}}) ==
        doctest::Approx(6.4));
  CHECK(engines.value("intel_gpu_engine_busy_ratio", {{"engine", "3D"}}) == doctest::Approx(0.64));
  CHECK(engines.value("intel_gpu_engine_busy_ratio", {{"engine", "Copy"}}) == 0);
  CHECK(engines.value("intel_gpu_engine_busy_seconds_total", {{"engine", "Neural"}, {"class", "other"}}) ==
        doctest::Approx(1));
  CHECK(engines.available("engine_busy"));
  CHECK(engines.missing("engine_wait_sema") == Reason::kernel);
  REQUIRE(engines.measured);
  CHECK(engines.measured->at(static_cast<std::size_t>(EngineClass::render)) == doctest::Approx(6.4));
}

TEST_CASE("engines: after a restart of the driver the counter goes on from where it was") {
  WindowsMachine m(std::string(kCard) + "node 1 1000\n");
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  m.pass(std::chrono::seconds(10));
  engines.collect();
  m.adapters.play("adapter 2 8086 56a0 3 0 0 The same card\nnode 1 0\nrunning 0 20000000\n");
  engines.bind();  // LUID 2
  engines.collect();
  CHECK(engines.value("intel_gpu_engine_busy_seconds_total", {{"engine", "3D"}}) == doctest::Approx(10));
  m.adapters.play("adapter 2 8086 56a0 3 0 0 The same card\nnode 1 0\nrunning 0 50000000\n");
  engines.bind();
  CHECK(engines.collect().failures().empty());
}

TEST_CASE("engines: one that says nonsense does not hide the others") {
  WindowsMachine m(std::string(kCard) + "node 1 500\nnode 6 0\nrunning 1 -1\n");
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  engines.collect();
  CHECK(engines.failures() == 1);
  CHECK(engines.count("intel_gpu_engine_busy_seconds_total") == 1);
}

TEST_CASE("engines: where nodes stand still while a process works, the performance counters have the time") {
  WindowsMachine m(std::string(kCard) +
                   "node 1 0\nnode 6 0\nprocess game.exe 0 250 0 0\ncounter 7 0 250\ncounter 8 1 50\n");
  m.adapters.add_process(7, "game.exe");
  WddmClients clients(m.machine());
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  m.pass(std::chrono::seconds(10));
  engines.collect(clients.find({}));
  CHECK(engines.value("intel_gpu_engine_busy_seconds_total", {{"engine", "3D"}, {"source", "pdh"}}) == 0);
  m.pass(std::chrono::seconds(10));
  engines.collect(clients.find({}));
  CHECK(engines.count("intel_gpu_engine_busy_seconds_total") == 2);
  CHECK(engines.value("intel_gpu_engine_busy_seconds_total",
                      {{"gt", "0"}, {"engine", "3D"}, {"class", "render"}, {"source", "pdh"}}) == doctest::Approx(2.5));
  CHECK(engines.value("intel_gpu_engine_busy_ratio", {{"engine", "3D"}, {"source", "pdh"}}) == doctest::Approx(0.25));
  CHECK(engines.value("intel_gpu_engine_busy_ratio", {{"engine", "Copy"}, {"source", "pdh"}}) == doctest::Approx(0.05));
  CHECK(engines.available("engine_busy"));
  CHECK(engines.failures() == 0);
  REQUIRE(engines.measured);
  CHECK(engines.measured->at(static_cast<std::size_t>(EngineClass::render)) == doctest::Approx(2.5));

  // The process ends: the nodes do not count any better.
  m.adapters.running.processes.clear();
  m.pass(std::chrono::seconds(10));
  engines.collect(clients.find({}));
  CHECK(engines.count("intel_gpu_engine_busy_seconds_total", {{"source", "d3dkmt"}}) == 0);
  CHECK(engines.value("intel_gpu_engine_busy_seconds_total", {{"engine", "3D"}, {"source", "pdh"}}) ==
        doctest::Approx(5));

  // The driver starts again: the counter of each source goes on from where it was.
  m.adapters.play("adapter 2 8086 56a0 3 0 0 The same card\nnode 1 0\nprocess game.exe 0 250 0 0\ncounter 7 0 250\n");
  engines.bind();  // LUID 2
  m.adapters.add_process(7, "game.exe");
  engines.collect(clients.find({}));
  CHECK(engines.value("intel_gpu_engine_busy_seconds_total", {{"engine", "3D"}, {"source", "pdh"}}) ==
        doctest::Approx(5));
}

TEST_CASE("engines: nodes that count again are the source again") {
  WindowsMachine m(std::string(kCard) + "node 1 0\nprocess game.exe 0 250 0 0\ncounter 7 0 250\n");
  m.adapters.add_process(7, "game.exe");
  WddmClients clients(m.machine());
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  for (int i = 0; i < 2; ++i) {
    m.pass(std::chrono::seconds(10));
    engines.collect(clients.find({}));
  }
  m.adapters.play("adapter 2 8086 56a0 3 0 0 The same card\nnode 1 250\nprocess game.exe 0 250 0 0\ncounter 7 0 250\n");
  engines.bind();  // LUID 2
  engines.collect(clients.find({}));
  CHECK(engines.count("intel_gpu_engine_busy_seconds_total", {{"source", "pdh"}}) == 0);
  CHECK(engines.value("intel_gpu_engine_busy_seconds_total", {{"source", "d3dkmt"}}) == doctest::Approx(5));
  CHECK(engines.count("intel_gpu_engine_busy_ratio") == 0);
}

TEST_CASE("engines: one class whose nodes stand still is enough") {
  WindowsMachine m(std::string(kCard) + "node 1 0\nnode 6 100\nprocess game.exe 0 250 0 0\ncounter 7 0 250\n");
  m.adapters.add_process(7, "game.exe");
  WddmClients clients(m.machine());
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  m.pass(std::chrono::seconds(10));
  engines.collect(clients.find({}));
  CHECK(engines.count("intel_gpu_engine_busy_seconds_total", {{"source", "pdh"}}) == 2);
}

TEST_CASE("engines: nodes of an idle GPU say 0, and nothing else is asked") {
  WindowsMachine m(std::string(kCard) + "node 1 0\nnode 6 0\nfail pdh c0000bc6\n");
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  engines.collect();
  CHECK(engines.count("intel_gpu_engine_busy_seconds_total", {{"source", "d3dkmt"}}) == 2);
  CHECK(engines.failures() == 0);
}

TEST_CASE("engines: without performance counters nothing is said of nodes that stand still") {
  const auto run = [](const std::string& nodes, const char* status, auto check) {
    WindowsMachine m(std::string(kCard) + nodes + "process game.exe 0 250 0 0\nfail pdh " + status + "\n");
    m.adapters.add_process(7, "game.exe");
    WddmClients clients(m.machine());
    CollectorRun<engines_collector> engines(m, m.gpus().at(0));
    m.pass(std::chrono::seconds(10));
    engines.collect(clients.find({}));
    check(engines);
  };
  run("node 1 0\n", "c0000bb9", [](auto& engines) {
    CHECK(engines.count("intel_gpu_engine_busy_seconds_total") == 0);
    CHECK(engines.missing("engine_busy") == Reason::kernel);
    CHECK(engines.failures() == 0);
  });
  run("node 1 0\n", "c0000bdb", [](auto& engines) {
    CHECK(engines.count("intel_gpu_engine_busy_seconds_total") == 0);
    CHECK(engines.missing("engine_busy") == Reason::permission);
    CHECK(engines.failures() == 0);
  });
  run("node 1 0\n", "c0000bc6", [](auto& engines) {
    CHECK(engines.count("intel_gpu_engine_busy_seconds_total") == 0);
    CHECK(engines.failures() == 1);
  });
  run("node 1 0\nnode 6 100\n", "c0000bb9", [](auto& engines) {
    CHECK(engines.count("intel_gpu_engine_busy_seconds_total") == 1);
    CHECK(engines.value("intel_gpu_engine_busy_seconds_total", {{"engine", "Copy"}, {"source", "d3dkmt"}}) ==
          doctest::Approx(1));
  });
}

TEST_CASE("engines: counters that say nonsense are a failure, and hide no others") {
  WindowsMachine m(std::string(kCard) +
                   "node 1 0\nprocess game.exe 0 250 0 0\ncounter 7 0 250\n"
                   "instance -5 pid_8_luid_0x0_0x1_phys_0_eng_0_engtype_3D\n");
  m.adapters.add_process(7, "game.exe");
  WddmClients clients(m.machine());
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  m.pass(std::chrono::seconds(10));
  engines.collect(clients.find({}));
  CHECK(engines.failures() == 1);
  CHECK(engines.count("intel_gpu_engine_busy_seconds_total", {{"source", "pdh"}}) == 1);
}

TEST_CASE("engines: access denied says how to get it") {
  WindowsMachine m(std::string(kCard) + "node 1 500\nfail counts c0000022\n");
  CollectorRun<engines_collector> engines(m, m.gpus().at(0));
  engines.collect();
  CHECK(engines.missing("engine_busy") == Reason::permission);
  CHECK(engines.failures() == 0);
}

TEST_CASE("memory: segments by region") {
  WindowsMachine m(std::string(kCard) + "segment local 1000 200\nsegment shared 700 70\n");
  CollectorRun<memory_collector> memory(m, m.gpus().at(0));
  memory.collect();
  CHECK(memory.value("intel_gpu_memory_size_bytes", {{"memory_region", "vram0"}}) == 1000);
  CHECK(memory.value("intel_gpu_memory_used_bytes", {{"memory_region", "vram0"}}) == 200);
  CHECK(memory.value("intel_gpu_memory_used_bytes", {{"memory_region", "system"}}) == 70);
  CHECK(memory.available("memory_size"));
  CHECK(memory.available("memory_used"));
}

TEST_CASE("frequency: of the engine that renders") {
  WindowsMachine m(std::string(kCard) + "node 6 0\nnode 1 0\nclock 0 1 1\nclock 1 2100000000 2400000000\n");
  CollectorRun<frequency_collector> frequency(m, m.gpus().at(0));
  frequency.collect();
  CHECK(frequency.value("intel_gpu_frequency_hertz", {{"gt", "0"}, {"kind", "actual"}}) == 2.1e9);
  CHECK(frequency.value("intel_gpu_frequency_limit_hertz", {{"limit", "max"}}) == 2.4e9);
  CHECK(frequency.available("frequency"));
  CHECK(frequency.missing("throttle_reasons") == Reason::kernel);
}

TEST_CASE("hwmon: temperature, fan, and power as a share of the limit; never a watt") {
  WindowsMachine m(std::string(kCard) + "sensors 1450 412 635\n");
  CollectorRun<hwmon_collector> hwmon(m, m.gpus().at(0));
  hwmon.collect();
  CHECK(hwmon.value("intel_gpu_temperature_celsius", {{"sensor", "gpu"}}) == doctest::Approx(63.5));
  CHECK(hwmon.value("intel_gpu_fan_speed_rpm") == 1450);
  CHECK(hwmon.value("intel_gpu_power_limit_ratio") == doctest::Approx(0.412));
  CHECK(hwmon.count("intel_gpu_power_limit_watts") == 0);
}

TEST_CASE("hwmon: a driver that tells one value of three") {
  WindowsMachine m(std::string(kCard) + "sensors 0 0 410\n");
  CollectorRun<hwmon_collector> hwmon(m, m.gpus().at(0));
  hwmon.collect();
  CHECK(hwmon.available("temperature"));
  CHECK(hwmon.missing("fan") == Reason::kernel);
  CHECK(hwmon.missing("power_share") == Reason::kernel);
  CHECK(hwmon.count("intel_gpu_fan_speed_rpm") == 0);
}

TEST_CASE("fdinfo: what a process used is on the page as under Linux") {
  WindowsMachine m(std::string(kCard) + "node 1 0\nsegment local 1000 0\nprocess game.exe 0 250 0 300\n");
  m.adapters.add_process(7, "game.exe");
  WddmClients clients(m.machine());
  CollectorRun<fdinfo_collector> fdinfo(m, m.gpus().at(0));
  fdinfo.collect(clients.find({}));
  m.pass(std::chrono::seconds(10));
  fdinfo.collect(clients.find({}));
  CHECK(fdinfo.value("intel_gpu_process_engine_busy_seconds_total",
                     {{"pid", "7"}, {"comm", "game.exe"}, {"class", "render"}}) == doctest::Approx(2.5));
  CHECK(fdinfo.value("intel_gpu_process_engine_busy_ratio", {{"class", "render"}}) == doctest::Approx(0.25));
  CHECK(fdinfo.value("intel_gpu_process_memory_bytes", {{"memory_region", "vram0"}, {"state", "total"}}) == 300);
  CHECK(fdinfo.value("intel_gpu_processes") == 1);
}

TEST_SUITE_END();
