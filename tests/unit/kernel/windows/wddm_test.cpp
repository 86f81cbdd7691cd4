// SPDX-License-Identifier: Apache-2.0
#include "kernel/windows/wddm.h"

#include <doctest/doctest.h>

#include <string>

#include "kernel/clients/wddm_clients.h"
#include "kernel/device/discovery.h"
#include "support/fake_gpu_adapters.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("wddm");

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::string_view kCard = "adapter 1a2b 8086 56a0 3 0 0 Intel(R) Arc(TM) A770 Graphics\n";
constexpr std::string_view kIntegrated = "adapter 1a2c 8086 4680 0 2 0 Intel(R) UHD Graphics 770\n";

struct WindowsMachine : TestMachine {
  explicit WindowsMachine(const std::string& script) : adapters(script) { machine().adapters = &adapters; }
  WddmGpu gpu(std::size_t at = 0) { return {machine(), adapter_gpus(adapters)->at(at)}; }
  FakeGpuAdapters adapters;
};

std::string names_of(WddmGpu gpu) {
  std::string text;
  const auto engines = gpu.engines();
  if (!engines) return "none";
  for (const WddmEngine& engine : **engines)
    text += (text.empty() ? "" : ", ") + engine.name + "=" + std::string(engine.class_label());
  return text;
}

std::string regions_of(WddmGpu gpu) {
  std::string text;
  const auto regions = gpu.memory();
  if (!regions) return regions.is_failure() ? "failure" : "absent";
  for (const RegionUse& region : *regions)
    text += (text.empty() ? "" : ", ") + region.name + " " + std::to_string(static_cast<long>(region.used->value)) +
            "/" + std::to_string(static_cast<long>(region.size.value));
  return text;
}

}  // namespace

TEST_CASE("Intel's adapters are GPUs; others, software and addresses that cannot be are not") {
  WindowsMachine m(std::string(kCard) + std::string(kIntegrated) +
                   "adapter 99 10de 2204 1 0 0 Another vendor's card\n"
                   "adapter 77 1414 8c 0 0 0 Microsoft Basic Render Driver\n"
                   "adapter 78 8086 56a0 4294967295 0 0 No such bus\n"
                   "adapter 79 8086 56a0 1 32 0 No such slot\n"
                   "adapter 7a 8086 56a056a0 1 0 0 No such device\n");
  const auto gpus = m.gpus();
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].address == "0000:00:02.0");
  CHECK(gpus[0].kind == GpuKind::integrated);
  CHECK(gpus[1].address == "0000:03:00.0");
  CHECK(gpus[1].kind == GpuKind::discrete);
  CHECK(gpus[1].driver == Driver::wddm);
  CHECK(gpus[1].device_id == 0x56a0);
  CHECK(gpus[1].binding == 0x1a2b);
  CHECK(gpus[1].name.find("A770") != std::string::npos);
}

TEST_CASE("a GPU that Windows lists twice is one GPU") {
  WindowsMachine m(std::string(kCard) + "adapter 1a2d 8086 56a0 3 0 0 Intel(R) Arc(TM) A770 Graphics\n");
  CHECK(m.gpus().size() == 1);
}

TEST_CASE("a segment of PCI is above the bus") {
  WindowsMachine m("adapter 1 8086 56a0 66307 0 0 Behind VMD\n");  // 0x10303
  CHECK(m.gpus().at(0).address == "0103:03:00.0");
}

TEST_CASE("engines have the class that Linux gives them, and Windows' name") {
  WindowsMachine m(std::string(kCard) +
                   "node 1 0\nnode 6 0\nnode 6 0\nnode 2 0\nnode 3 0\nnode 4 0\nnode 0 0 Computing 0\n"
                   "node 0 0 GSC\nnode 9 0 Neural\nnode 4000000000 0\n");
  CHECK(names_of(m.gpu()) ==
        "3D=render, Copy=copy, Copy 1=copy, Video Decode=video, Video Encode=video, Video Processing=video_enhance, "
        "Computing 0=compute, GSC=other, Neural=other, Node 9=other");
}

TEST_CASE("an engine that Windows does not describe still has its time") {
  WindowsMachine m(std::string(kCard) + "node 1 500\nnode 6 0\nfail node c0000022\n");
  CHECK(names_of(m.gpu()) == "Node 0=other, Node 1=other");
  m.adapters.advance(1000);
  WddmGpu gpu = m.gpu();
  CHECK(*gpu.busy((**gpu.engines())[0]) == std::chrono::milliseconds(500));
}

TEST_CASE("numbers that cannot be are failures, not values") {
  WindowsMachine m(std::string(kCard) +
                   "node 1 0\nnode 6 0\nrunning 0 -5\nrunning 1 9223372036854775807\nclock 0 18446744073709551615 1\n"
                   "segment local 18446744073709551615 1\nsensors 4294967295 4294967295 4294967295\n");
  WddmGpu gpu = m.gpu();
  const auto engines = gpu.engines();
  REQUIRE(engines);
  CHECK(gpu.busy((**engines)[0]).is_failure());
  CHECK(gpu.busy((**engines)[1]).is_failure());
  CHECK(gpu.clock().actual.is_failure());
  CHECK(regions_of(gpu) == "failure");
  CHECK(gpu.sensors().temperature.is_failure());
  CHECK(gpu.sensors().fan.is_failure());
  CHECK(gpu.sensors().power.is_failure());
}

TEST_CASE("four billion nodes are none") {
  WindowsMachine m(std::string(kCard) + "counts 4294967295 4294967295\n");
  CHECK(m.gpu().engines().is_failure());
  CHECK(regions_of(m.gpu()) == "failure");
}

TEST_CASE("a query that succeeds and fills nothing has no value") {
  WindowsMachine m(std::string(kCard) + "node 1 500\nsegment local 5 1\nempty running\nempty segment\nempty clock\n");
  WddmGpu gpu = m.gpu();
  CHECK(gpu.busy((**gpu.engines())[0]).is_failure());
  CHECK(regions_of(gpu) == "failure");
  CHECK(gpu.clock().actual.is_absent());
}

TEST_CASE("zero means that the driver does not tell") {
  WindowsMachine m(std::string(kCard) + "node 1 0\nclock 0 0 0\nsensors 0 0 0\n");
  WddmGpu gpu = m.gpu();
  CHECK(gpu.clock().actual.is_absent());
  CHECK(gpu.sensors().temperature.is_absent());
  CHECK(gpu.sensors().fan.is_absent());
  CHECK(gpu.sensors().power.is_absent());
}

TEST_CASE("native units stop here") {
  WindowsMachine m(std::string(kCard) + "node 6 0\nnode 1 0\nclock 1 2100000000 2400000000\nsensors 1450 412 635\n");
  WddmGpu gpu = m.gpu();
  CHECK(gpu.clock().actual->value == 2.1e9);
  CHECK(gpu.clock().max->value == 2.4e9);
  CHECK(gpu.sensors().temperature->value == doctest::Approx(63.5));
  CHECK(gpu.sensors().fan->value == 1450);
  CHECK(gpu.sensors().power->value == doctest::Approx(0.412));
}

TEST_CASE("a card has memory of its own and main memory; an integrated GPU has main memory only") {
  WindowsMachine m(std::string(kCard) + "segment local 1000 200\nsegment local 500 50\nsegment shared 700 70\n" +
                   std::string(kIntegrated) + "segment local 128 100\nsegment shared 700 70\nsizes 128 650\n");
  CHECK(regions_of(m.gpu(1)) == "vram0 250/1500, system 70/700");
  CHECK(regions_of(m.gpu(0)) == "system 70/650");
}

TEST_CASE("an adapter that has gone has no values, and is no error") {
  WindowsMachine m(std::string(kCard) + "node 1 0\n");
  Gpu gone = m.gpus().at(0);
  m.adapters.play("");
  CHECK(m.gpus().empty());
  WddmGpu gpu(m.machine(), gone);
  CHECK(gpu.engines().is_absent());
  CHECK(gpu.sensors().fan.is_absent());
}

TEST_CASE("processes that use a GPU are its clients") {
  WindowsMachine m(std::string(kCard) +
                   "node 1 0\nnode 2 0\nnode 3 0\nnode 9 0 Neural\nsegment local 1000 0\nsegment shared 1000 0\n"
                   "process game.exe 0 250 0 300\nprocess game.exe 1 100 1 20\nprocess game.exe 2 50 1 0\n"
                   "process game.exe 3 900 1 0\nprocess viewer.exe 0 0 0 40\n");
  m.adapters.add_process(7, "game.exe");
  m.adapters.add_process(8, "viewer.exe");
  m.adapters.add_process(9, "other.exe");
  m.adapters.add_process(4, "of another user");
  m.adapters.running.processes.back().handle = nullptr;
  m.adapters.add_process(1, "game.exe");  // this one
  m.adapters.advance(1000);
  const auto found = WddmClients(m.machine()).find({});
  REQUIRE(found);
  REQUIRE(found->clients.size() == 2);
  const DrmClient& game = found->clients[0];
  CHECK(game.device == "0000:03:00.0");
  CHECK(game.pid == 7);
  CHECK(game.engines[static_cast<std::size_t>(EngineClass::render)].busy_ns == 250'000'000);
  CHECK(game.engines[static_cast<std::size_t>(EngineClass::video)].busy_ns == 150'000'000);
  CHECK(game.engines[static_cast<std::size_t>(EngineClass::video)].capacity == 2);
  REQUIRE(game.memory.size() == 2);
  CHECK(game.memory[0].region == "vram0");
  CHECK(game.memory[0].total == 300);
  CHECK(game.memory[1].total == 20);
  CHECK(found->process(7)->comm == "game.exe");
  CHECK(found->process(7)->resident->value == 4096);
  CHECK(found->clients[1].pid == 8);
  CHECK(found->pids == std::vector<std::uint32_t>{1, 4, 7, 8, 9});
  CHECK(found->processes_denied == 1);
}

TEST_SUITE_END();
