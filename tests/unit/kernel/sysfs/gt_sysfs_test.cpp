// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/gt_sysfs.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <map>
#include <string>

#include "support/test_machine.h"

TEST_SUITE_BEGIN("gt_sysfs");

using namespace igpu;
using igpu::test::TestMachine;

namespace {

const std::string kPci = "devices/pci0000:00/0000:00:02.0";

Gpu gpu_of(Driver driver) {
  Gpu gpu;
  gpu.address = "0000:00:02.0";
  gpu.pci_path = kPci;
  gpu.card = "card0";
  gpu.driver = driver;
  return gpu;
}

std::vector<GtSysfs> gts_of(TestMachine& m) {
  const auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  return GtSysfs::find(m.sys, gpus.front());
}

std::map<std::string, double> megahertz(GtSysfs& gt) {
  std::map<std::string, double> bounds;
  for (GtSysfs::Limit& limit : gt.limits())
    if (const auto bound = gt.bound(limit)) bounds[std::string(limit.name)] = bound->value / 1e6;
  return bounds;
}

std::map<std::string, bool> throttle(GtSysfs& gt) {
  std::map<std::string, bool> reasons;
  const auto outcome = gt.throttle([&](std::string_view reason, bool active) {
    CHECK(reasons.count(std::string(reason)) == 0);
    reasons[std::string(reason)] = active;
  });
  CHECK(outcome);
  return reasons;
}

using Bounds = std::map<std::string, double>;
using Reasons = std::map<std::string, bool>;

}  // namespace

TEST_CASE("i915, Arc A380: one GT with all its bounds, nothing throttled, RC6 as a 32-bit number") {
  TestMachine m("a380-i915");
  auto gts = gts_of(m);
  REQUIRE(gts.size() == 1);
  GtSysfs& gt = gts.front();
  CHECK(gt.id() == "0");
  CHECK(gt.actual().value_or({}) == Hertz{600e6});
  CHECK(gt.requested().value_or({}) == Hertz{600e6});
  CHECK(megahertz(gt) ==
        Bounds{{"min", 300}, {"max", 2450}, {"boost", 2450}, {"rp0", 2450}, {"rp1", 600}, {"rpn", 300}});
  CHECK(throttle(gt) == Reasons{{"any", false},
                                {"pl1", false},
                                {"pl2", false},
                                {"pl4", false},
                                {"prochot", false},
                                {"ratl", false},
                                {"thermal", false},
                                {"vr_tdc", false},
                                {"vr_thermalert", false}});
  CHECK(gt.residency_ms().value_or(0) == 6534);
  CHECK(gt.residency_range() == std::uint64_t{1} << 32);
}

TEST_CASE("i915, Comet Lake on an old kernel: files without a GT belong to GT 0") {
  TestMachine m("cometlake-i915");
  auto gts = gts_of(m);
  REQUIRE(gts.size() == 1);
  CHECK(gts[0].id() == "0");
  CHECK(gts[0].actual().value_or({}) == Hertz{300e6});
  CHECK(megahertz(gts[0]) ==
        Bounds{{"min", 300}, {"max", 1150}, {"boost", 1150}, {"rp0", 1150}, {"rp1", 300}, {"rpn", 300}});
  const auto outcome = gts[0].throttle([](std::string_view, bool) { FAIL("no such files"); });
  REQUIRE(outcome.is_absent());
  CHECK(outcome.absent().reason == Reason::kernel);
}

TEST_CASE("i915, Meteor Lake: two GTs, and never the legacy files that merge them") {
  TestMachine m("meteorlake-i915-multigt");
  auto gts = gts_of(m);
  REQUIRE(gts.size() == 2);
  CHECK(gts[0].id() == "0");
  CHECK(gts[1].id() == "1");
  CHECK(megahertz(gts[0])["rp0"] == 2250);
  CHECK(megahertz(gts[1])["rp0"] == 1200);
  CHECK(gts[1].requested().value_or({}) == Hertz{400e6});
  CHECK(gts[0].residency_ms().value_or(0) == 1234567);
  CHECK(gts[1].residency_ms().value_or(0) == 2234567);
  // The merged files would give 2250 MHz and 1234567 ms for both.
  m.tree.remove("sys/devices/pci0000:00/0000:00:02.0/drm/card1/gt/gt1/rps_cur_freq_mhz");
  auto again = gts_of(m);
  CHECK(again[1].requested().is_absent());
}

TEST_CASE("xe, Arc A380: an achievable frequency of 627 GHz is left out, the others stay") {
  TestMachine m("a380-xe-k7");
  auto gts = gts_of(m);
  REQUIRE(gts.size() == 1);
  CHECK(gts[0].actual().value_or({1}) == Hertz{0});  // parked: a true 0
  CHECK(megahertz(gts[0]) == Bounds{{"min", 300}, {"max", 2450}, {"rp0", 2450}, {"rpn", 300}, {"rpe", 600}});
  CHECK(gts[0].residency_ms().value_or(0) == 2547784);
  CHECK_FALSE(gts[0].residency_range());  // 64 bits wide
}

TEST_CASE("xe: an operating point above rp0 is invalid even if plausible") {
  TestMachine m;
  const std::string freq = "sys/" + kPci + "/tile0/gt0/freq0/";
  for (const auto& [file, text] : std::map<std::string, std::string>{{"act_freq", "400\n"},
                                                                     {"rp0_freq", "2400\n"},
                                                                     {"rpa_freq", "8533\n"},
                                                                     {"rpe_freq", "0\n"},
                                                                     {"min_freq", "300\n"}})
    m.tree.write(freq + file, text);
  auto gts = GtSysfs::find(m.sys, gpu_of(Driver::xe));
  REQUIRE(gts.size() == 1);
  CHECK(megahertz(gts[0]) == Bounds{{"min", 300}, {"rp0", 2400}});
  m.tree.write(freq + "rpa_freq", "2417\n");  // one step above, by rounding
  CHECK(megahertz(gts[0])["rpa"] == 2417);
}

TEST_CASE("xe, Battlemage under load: the graphics GT is throttled by its second power limit, the media GT is not") {
  TestMachine m("b580-xe-loaded-throttled");
  auto gts = gts_of(m);
  REQUIRE(gts.size() == 2);
  CHECK(gts[0].actual().value_or({}) == Hertz{2733e6});
  CHECK(gts[0].requested().value_or({}) == Hertz{2850e6});
  CHECK(throttle(gts[0]) == Reasons{{"any", true},
                                    {"pl1", false},
                                    {"pl2", true},
                                    {"pl4", false},
                                    {"prochot", false},
                                    {"ratl", false},
                                    {"thermal", false},
                                    {"vr_tdc", false},
                                    {"vr_thermalert", false}});
  CHECK_FALSE(throttle(gts[1])["any"]);
}

TEST_CASE("xe: the file with all reasons is preferred to single files; a reason seen twice stays known") {
  TestMachine m;
  const std::string folder = "sys/" + kPci + "/tile0/gt0/freq0/throttle/";
  m.tree.write(folder + "status", "0\n");
  m.tree.write(folder + "reason_pl1", "0\n");
  m.tree.write(folder + "reason_thermal", "1\n");
  m.tree.write(folder + "reasons", "pl1 fastvmode \"bad\" fastvmode\n");
  auto gts = GtSysfs::find(m.sys, gpu_of(Driver::xe));
  REQUIRE(gts.size() == 1);
  // A name without a file is reported while it is there; a truncated one must not stay.
  CHECK(throttle(gts[0]) == Reasons{{"any", true}, {"fastvmode", true}, {"pl1", true}, {"thermal", false}});
  m.tree.write(folder + "reasons", "pl1 fastvm");
  CHECK(throttle(gts[0]) == Reasons{{"any", true}, {"fastvm", true}, {"pl1", true}, {"thermal", false}});
  for (int i = 0; i < 2; ++i) {
    m.tree.write(folder + "reasons", "pl1 fastvmode\n");
    (void)throttle(gts[0]);
  }
  CHECK(throttle(gts[0]) == Reasons{{"any", true}, {"pl1", true}, {"thermal", false}, {"fastvmode", true}});
  m.tree.write(folder + "reasons", "none\n");
  CHECK(throttle(gts[0]) == Reasons{{"any", false}, {"pl1", false}, {"thermal", false}, {"fastvmode", false}});
}

TEST_CASE("xe: a list of reasons that names none is a failure, and the single files are read instead") {
  TestMachine m;
  const std::string folder = "sys/" + kPci + "/tile0/gt0/freq0/throttle/";
  m.tree.write(folder + "status", "0\n");
  m.tree.write(folder + "reason_pl1", "0\n");
  for (const std::string& text : {std::string("\x80\xff\0\x01 \x9b", 6), std::string("12 34\n")}) {
    m.tree.write(folder + "reasons", text);
    auto gts = GtSysfs::find(m.sys, gpu_of(Driver::xe));
    REQUIRE(gts.size() == 1);
    Reasons reasons;
    const auto outcome =
        gts[0].throttle([&](std::string_view reason, bool active) { reasons[std::string(reason)] = active; });
    CHECK(outcome.is_failure());
    CHECK(reasons == Reasons{{"any", false}, {"pl1", false}});
  }
}

TEST_CASE("a throttle reason that is called like the sum of all is not reported beside it") {
  TestMachine m;
  const std::string folder = "sys/" + kPci + "/tile0/gt0/freq0/throttle/";
  m.tree.write(folder + "status", "1\n");
  m.tree.write(folder + "reason_any", "0\n");
  m.tree.write(folder + "reason_pl1", "1\n");
  auto gts = GtSysfs::find(m.sys, gpu_of(Driver::xe));
  REQUIRE(gts.size() == 1);
  int anys = 0;
  const auto count = [&](std::string_view name, bool) { anys += name == "any"; };
  REQUIRE(gts[0].throttle(count));
  CHECK(anys == 1);
  m.tree.write(folder + "reasons", "any pl1\n");
  gts = GtSysfs::find(m.sys, gpu_of(Driver::xe));
  anys = 0;
  REQUIRE(gts[0].throttle(count));
  CHECK(anys == 1);
}

TEST_CASE("xe: GTs of all tiles are sorted by number, not by name") {
  TestMachine m;
  for (const char* gt : {"tile0/gt0", "tile0/gt10", "tile1/gt2", "tile1/gtidle", "tiles/gt7"})
    m.tree.write("sys/" + kPci + "/" + gt + "/freq0/act_freq", "1\n");
  std::string ids;
  for (const GtSysfs& gt : GtSysfs::find(m.sys, gpu_of(Driver::xe))) ids += gt.id() + " ";
  CHECK(ids == "0 2 10 ");
}

TEST_CASE("xe: a GT number that two tiles have is one GT") {
  TestMachine m;
  for (const char* gt : {"tile0/gt0", "tile1/gt0", "tile1/gt1"})
    m.tree.write("sys/" + kPci + "/" + gt + "/freq0/act_freq", "1\n");
  std::string ids;
  for (const GtSysfs& gt : GtSysfs::find(m.sys, gpu_of(Driver::xe))) ids += gt.id() + " ";
  CHECK(ids == "0 1 ");
}

TEST_CASE("a file that fails, has no data or is invalid is a failure, and recovers") {
  TestMachine m("a380-i915");
  auto gts = gts_of(m);
  for (const int error : {EIO, ENODATA, ETIMEDOUT}) {
    CAPTURE(error);
    m.sys.fail_reading("rps_act_freq_mhz", error);
    m.sys.fail_reading("throttle_reason_pl1", error);
    m.sys.fail_reading("rc6_residency_ms", error);
    CHECK(gts[0].actual().is_failure());
    CHECK(gts[0].requested());
    CHECK(gts[0].residency_ms().is_failure());
    Reasons reasons;
    const auto outcome =
        gts[0].throttle([&](std::string_view reason, bool active) { reasons[std::string(reason)] = active; });
    CHECK(outcome.is_failure());
    CHECK(reasons.count("pl1") == 0);
    CHECK(reasons.count("pl2") == 1);
    m.sys.heal();
    CHECK(gts[0].actual());
    CHECK(gts[0].residency_ms());
  }
}

TEST_CASE("a GPU that shows no GT has none") {
  TestMachine m;
  CHECK(GtSysfs::find(m.sys, gpu_of(Driver::xe)).empty());
}

TEST_SUITE_END();
