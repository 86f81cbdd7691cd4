// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "view/report/fixes.h"

TEST_SUITE_BEGIN("advice");

using namespace igpu;
using namespace igpu::exporter;

namespace {

using Files = std::map<std::string, std::string>;

GpuModel awake_card() {
  GpuModel gpu;
  gpu.gpu.address = "0000:03:00.0";
  gpu.suspended = false;
  gpu.may_sleep = true;
  return gpu;
}

GpuModel linked(double speed, double width) {
  GpuModel gpu = awake_card();
  gpu.pcie = snapshot::PcieLink{TransfersPerSecond{speed}, TransfersPerSecond{16e9}, Lanes{width}, Lanes{8}};
  gpu.slot_speed = TransfersPerSecond{32e9};
  gpu.slot_width = Lanes{16};
  return gpu;
}

GpuModel clocked(double megahertz, double busy) {
  GpuModel gpu = awake_card();
  snapshot::Frequency gt;
  gt.actual = Hertz{megahertz * 1e6};
  gt.max = Hertz{2400e6};
  gpu.frequencies = std::vector{gt};
  snapshot::EngineClassLoad load;
  load.engine_class = EngineClass::compute;
  load.busy = Ratio{busy};
  gpu.engine_classes = std::vector{load};
  return gpu;
}

std::vector<igpu::exporter::Advice> advise(const GpuModel& model, const Files& files = {}) {
  Gpu gpu = model.gpu;
  gpu.pci_path = "devices/card";
  return advice_for(std::span(&model, 1), std::span(&gpu, 1), [&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::optional<std::string>() : found->second;
  });
}

}  // namespace

TEST_CASE("a GPU that may never sleep, and the command that lets it") {
  GpuModel gpu = awake_card();
  CHECK(advise(gpu).empty());
  gpu.may_sleep = false;
  const auto advice = advise(gpu);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].wrong);
  CHECK(advice[0].text == "it may never sleep: runtime power management is off (power/control is on)");
  CHECK(advice[0].command == "echo auto | sudo tee /sys/bus/pci/devices/0000:03:00.0/power/control");
}

TEST_CASE("who keeps it awake: programs that hold it, or a fault after which it never sleeps") {
  GpuModel gpu = awake_card();
  std::vector<snapshot::Process> processes(6);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    processes[i].pid = static_cast<std::uint32_t>(100 + i);
    processes[i].comm = "ffmpeg";
  }
  gpu.processes = processes;
  auto advice = advise(gpu);
  REQUIRE(advice.size() == 1);
  CHECK_FALSE(advice[0].wrong);
  CHECK(advice[0].text ==
        "it is awake, and these programs hold it: ffmpeg (100), ffmpeg (101), ffmpeg (102), ffmpeg (103) and 2 more");
  gpu.wedged = true;
  advice = advise(gpu);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].text == "it is wedged: nothing can use it; see IntelGpuWedged in docs/runbook.md");
  gpu.wedged = false;
  gpu.suspended = true;
  CHECK(advise(gpu).empty());
}

TEST_CASE("a link narrower than card and slot is never power saving") {
  CHECK(advise(linked(16e9, 8)).empty());
  const auto advice = advise(linked(16e9, 4), {{"devices/card/auto_link_downgrade_status", "1\n"}});
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].wrong);
  CHECK(advice[0].text.starts_with("its link has 4 lanes, card and slot have 8: "));
}

TEST_CASE("a slower link: chosen by the card, perhaps to save power, or wrong") {
  const GpuModel gpu = linked(2.5e9, 8);
  const auto chosen = advise(gpu, {{"devices/card/auto_link_downgrade_status", "1\n"}});
  REQUIRE(chosen.size() == 1);
  CHECK_FALSE(chosen[0].wrong);
  CHECK(chosen[0].text ==
        "its link runs at 2.5 GT/s, card and slot can do 16 GT/s: the card chose that to save power "
        "(auto_link_downgrade)");
  const auto perhaps = advise(gpu, {{"module/pcie_aspm/parameters/policy", "[default] performance powersave\n"}});
  REQUIRE(perhaps.size() == 1);
  CHECK_FALSE(perhaps[0].wrong);
  CHECK(perhaps[0].text.find("(ASPM)") != std::string::npos);
  for (const Files& files : {Files{{"module/pcie_aspm/parameters/policy", "default [performance] powersave\n"}},
                             Files{{"devices/card/auto_link_downgrade_status", "0\n"}}}) {
    const auto wrong = advise(gpu, files);
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].wrong);
  }
}

TEST_CASE("the link of a sleeping card, or one whose slot is not visible, is not judged") {
  GpuModel asleep = linked(2.5e9, 1);
  asleep.suspended = true;
  CHECK(advise(asleep).empty());
  GpuModel guest = linked(2.5e9, 1);
  guest.slot_speed = Absent{Reason::hardware};
  guest.slot_width = Absent{Reason::hardware};
  CHECK(advise(guest).empty());
}

TEST_CASE("busy but slow: over 90 % busy below half of the clock, without a reason") {
  const auto advice = advise(clocked(300, 0.97));
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].text ==
        "it is busy but slow: compute is 97 % busy at 300 MHz of 2400 MHz, and the driver gives no reason for "
        "throttling; see IntelGpuBusyButSlow in docs/runbook.md");
  CHECK(advise(clocked(300, 0.5)).empty());
  CHECK(advise(clocked(1300, 0.97)).empty());
  CHECK(advise(clocked(0, 0.97)).empty());  // parked between two jobs
  GpuModel throttled = clocked(300, 0.97);
  snapshot::Throttling reasons;
  reasons.limited = true;
  throttled.throttling = std::vector{reasons};
  CHECK(advise(throttled).empty());
  GpuModel media = clocked(300, 0.97);
  media.frequencies->push_back(media.frequencies->front());
  media.frequencies->back().actual = Hertz{2000e6};
  CHECK(advise(media).empty());
}

TEST_SUITE_END();
