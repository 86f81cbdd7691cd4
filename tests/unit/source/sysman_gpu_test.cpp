// SPDX-License-Identifier: Apache-2.0
#include "source/sysman_gpu.h"

#include <doctest/doctest.h>

#include <string>

#include "machine/ze_result.h"
#include "support/fake_gpu_adapters.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("sysman gpu");

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::string_view kCard = "adapter 1 8086 56a0 3 0 0 Intel(R) Arc(TM) A770 Graphics\n";

struct SysmanMachine : TestMachine {
  explicit SysmanMachine(const std::string& sensors) : adapters(std::string(kCard) + sensors) {
    machine().adapters = &adapters;
    adapters.advance(1000);
  }
  SysmanGpu gpu(bool enabled = true) { return {machine(), gpus().at(0), enabled}; }
  FakeGpuAdapters adapters;
};

}  // namespace

TEST_CASE("nothing is asked unless it is wanted") {
  SysmanMachine m("energy 1 1000\nfail sysman 7ffffffe\n");
  CHECK(m.gpu(false).energies().absent() == kSysmanIsOff);
  CHECK(m.gpu(true).energies().is_failure());
}

TEST_CASE("a GPU that Sysman does not know has nothing") {
  SysmanMachine m("node 1 0\n");
  CHECK(m.gpu().energies().is_absent());
  CHECK(m.gpu().temperatures().is_absent());
  CHECK(m.gpu().fans().is_absent());
  CHECK(m.gpu().traffic().is_absent());
}

TEST_CASE("power domains have the names of Linux, each once") {
  SysmanMachine m("energy 1 1000\nenergy 2 900\nenergy 4 50\nenergy 5 700\nenergy 0 600\nenergy 77 500\n");
  const auto energies = m.gpu().energies();
  REQUIRE(energies);
  std::string names;
  for (const SysmanGpu::Energy& energy : *energies) names += std::string(energy.domain) + " ";
  CHECK(names == "card package memory gpu ");
  CHECK(*energies->at(3).microjoules == 700'000);
}

TEST_CASE("numbers that cannot be are failures, not values") {
  SysmanMachine m("energy 1 9000000000000000\n");
  CHECK(m.gpu().energies()->at(0).microjoules.is_failure());
}

TEST_CASE("the highest temperature of the GPU, else of the device, and that of its memory") {
  const auto text = [](const std::string& sensors) {
    SysmanMachine m(sensors);
    std::string all;
    const auto told = m.gpu().temperatures();
    for (const SysmanGpu::Temperature& one : *told)
      all += std::string(one.sensor) + "=" +
             (one.value               ? std::to_string(static_cast<int>(one.value->value))
              : one.value.is_absent() ? "-"
                                      : "!") +
             " ";
    return all;
  };
  CHECK(text("celsius 0 71\ncelsius 1 62\ncelsius 2 70\ncelsius 3 20\ncelsius 4 21\n") == "gpu=62 vram=70 ");
  CHECK(text("celsius 0 71\ncelsius 5 20\n") == "gpu=71 ");
  CHECK(text("celsius 1 0\ncelsius 2 70\n") == "gpu=- vram=70 ");
  CHECK(text("celsius 1 -1\ncelsius 2 201\n") == "gpu=! vram=! ");
  CHECK(text("celsius 1 62\nfail celsius 70010000\n") == "gpu=- ");
}

TEST_CASE("a fan that stands still has 0, one that is not known has none") {
  SysmanMachine m("turning 1450\nturning 0\nturning -1\nturning -2\nturning 2000000000\n");
  const auto fans = m.gpu().fans();
  REQUIRE(fans);
  REQUIRE(fans->size() == 5);
  CHECK(fans->at(0)->value == 1450);
  CHECK(fans->at(1)->value == 0);
  CHECK(fans->at(2).is_absent());
  CHECK(fans->at(3).is_failure());
  CHECK(fans->at(4).is_failure());
}

TEST_CASE("traffic is that of all modules, or of none") {
  CHECK(SysmanMachine("traffic 1000 10\ntraffic 500 5\n").gpu().traffic()->read == 1'500'000);
  CHECK(SysmanMachine("traffic 1000 10\ntraffic 500 5\n").gpu().traffic()->written == 15'000);
  CHECK(SysmanMachine("traffic 18446744073709551 0\ntraffic 18446744073709551 0\n").gpu().traffic().is_failure());
  CHECK(SysmanMachine("traffic 0 0\n").gpu().traffic().is_absent());
  CHECK(SysmanMachine("energy 1 1\n").gpu().traffic().is_absent());
  CHECK(SysmanMachine("traffic 1000 10\nfail traffic 78000003\n").gpu().traffic().is_absent());
}

TEST_CASE("a result of Level Zero becomes an outcome") {
  const auto outcome = [](std::uint32_t result) {
    return outcome_of_ze_result<int>(static_cast<ZeResult>(result), "zesFanGetState");
  };
  CHECK(outcome(0x78000003).absent() == Absent{Reason::kernel, EOPNOTSUPP});
  CHECK(outcome(0x78000001).absent() == Absent{Reason::kernel, ENOENT});
  CHECK(outcome(0x70020000).absent() == Absent{Reason::kernel, ENOENT});
  CHECK(outcome(0x70000001).absent() == Absent{Reason::kernel, ENODEV});
  CHECK(outcome(0x70000007).absent().reason == Reason::suspended);
  CHECK(outcome(0x70010000).absent() == Absent{Reason::permission, EROFS});
  REQUIRE(outcome(0x7ffffffe).is_failure());
  CHECK(outcome(0x7ffffffe).failure().where == "zesFanGetState: status 0x7ffffffe");
}

TEST_SUITE_END();
