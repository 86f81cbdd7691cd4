// SPDX-License-Identifier: Apache-2.0
#include "collector/health/health_files.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/gpu_tree.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("health_files");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

const std::string kRoot = "sys/devices/pci0000:00/0000:00:01.0/";
const std::string kUpstream = kRoot + "0000:01:00.0/";
const std::string kCard = kUpstream + "0000:02:01.0/0000:03:00.0/";

// An Arc B580 in a slot, and what it answers about its firmware.
struct ArcMachine : TestMachine {
  ArcMachine() {
    add_gpu(tree, {.pci_path = kCard.substr(12, kCard.size() - 13),
                   .driver = "xe",
                   .card = "card1",
                   .render_node = "renderD128",
                   .device = "0xe20b"});
    tree.write(kCard + "power/control", "auto\n");
    tree.write(kCard + "d3cold_allowed", "1\n");
    tree.link("sys/bus/pci/devices/0000:03:00.0", "../../../" + kCard.substr(4, kCard.size() - 5));
    drm.add("renderD128", [this](unsigned long, void* argument) { return firmware(argument); });
  }

  int firmware(void* argument) {
    struct Query {
      std::uint64_t extensions;
      std::uint32_t query, size;
      std::uint64_t data;
    };
    struct Version {
      std::uint16_t which, pad;
      std::uint32_t branch, major, minor, patch, pad2;
      std::uint64_t reserved;
    };
    ++asked;
    if (error != 0) return error;
    auto& query = *static_cast<Query*>(argument);
    if (query.query != 7) return EINVAL;
    if (query.size == 0) {
      query.size = sizeof(Version);
      return 0;
    }
    Version version;
    std::memcpy(&version, reinterpret_cast<const void*>(query.data), sizeof version);
    CHECK(version.pad + version.branch + version.major + version.minor + version.patch + version.reserved == 0);
    if (version.which == 1 && !huc_runs) return ENODEV;
    const Version answer = version.which == 0 ? Version{0, 0, 0, 1, 20, 0, 0, 0} : Version{1, 0, 0, 8, 2, 10, 0, 0};
    std::memcpy(reinterpret_cast<void*>(query.data), &answer, sizeof answer);
    return 0;
  }

  bool huc_runs = true;
  int error = 0;
  int asked = 0;
};

struct Run {
  explicit Run(TestMachine& test_machine) : machine(test_machine), part(test_machine.machine()) {}

  void collect(Nanoseconds after = 15s) {
    machine.clock.advance(after);
    sink.clear();
    const auto gpus = machine.gpus();
    HealthScrape scrape{machine.clock.now(), gpus, asleep};
    if (fault) scrape.faulted.insert(gpus.front().address);
    part.collect(scrape, sink);
  }
  std::optional<double> value(std::string_view metric, Labels labels) const {
    std::optional<double> found;
    for (const auto& sample : sink.samples().samples()) {
      if (sample.metric->name != metric) continue;
      bool same = true;
      for (const auto& [name, wanted] : labels) {
        bool has = false;
        for (std::size_t i = 0; i < sample.metric->label_count; ++i)
          has = has || (sample.metric->label_names[i] == name && sink.samples().label_value(sample, i) == wanted);
        same = same && has;
      }
      if (same) found = sample.value;
    }
    return found;
  }
  std::size_t count(std::string_view metric) const {
    std::size_t n = 0;
    for (const auto& sample : sink.samples().samples()) n += sample.metric->name == metric;
    return n;
  }
  // Why a feature of the GPU is absent; nothing if it is available.
  std::optional<Absent> missing(std::string_view feature) const {
    for (const auto& state : sink.features())
      if (state.feature->name == feature && state.device == "0000:03:00.0" && !state.available) return state.absent;
    return std::nullopt;
  }

  TestMachine& machine;
  HealthFiles part;
  SampleSink sink;
  std::vector<std::string> asleep;
  bool fault = false;
};

constexpr const char* kErrors = "intel_gpu_pcie_errors_total";
constexpr const char* kFirmware = "intel_gpu_firmware_info";

}  // namespace

TEST_CASE("errors of a card's slot are counted by the switch on the card and by the root port") {
  ArcMachine m;
  m.tree.write(kUpstream + "aer_dev_correctable", "RxErr 0\nBadTLP 4\nTOTAL_ERR_COR 4\n");
  m.tree.write(kRoot + "aer_dev_nonfatal", "CmpltTO 2\nTOTAL_ERR_NONFATAL 2\n");
  Run run(m);
  run.collect();
  CHECK(run.count(kErrors) == 3);
  CHECK(run.value(kErrors, {{"device", "0000:03:00.0"},
                            {"port", "switch_upstream"},
                            {"severity", "correctable"},
                            {"type", "BadTLP"}}) == 4);
  CHECK(run.value(kErrors, {{"port", "switch_upstream"}, {"type", "RxErr"}}) == 0);
  CHECK(run.value(kErrors, {{"port", "root"}, {"severity", "nonfatal"}, {"type", "CmpltTO"}}) == 2);
  CHECK_FALSE(run.missing("pcie_errors"));
}

TEST_CASE("without AER files there are no counts, and why not is told: the firmware handles errors") {
  ArcMachine m;
  Run run(m);
  run.collect();
  CHECK(run.count(kErrors) == 0);
  CHECK(run.missing("pcie_errors") == Absent{Reason::kernel, ENOENT});
  CHECK(run.sink.failures().empty());
}

TEST_CASE("an integrated GPU on the root bus counts errors, too, if the kernel has its counts") {
  ArcMachine m;
  const std::string device = "sys/devices/pci0000:00/0000:00:02.0/";
  add_gpu(m.tree, {.pci_path = "pci0000:00/0000:00:02.0",
                   .driver = "i915",
                   .card = "card0",
                   .render_node = "renderD129",
                   .device = "0x46a6"});
  Run run(m);
  run.collect();
  CHECK(run.count(kErrors) == 0);
  m.tree.write(device + "aer_dev_correctable", "BadTLP 4\n");
  run.collect(20s);
  CHECK(run.value(kErrors, {{"device", "0000:00:02.0"}, {"port", "endpoint"}, {"type", "BadTLP"}}) == 4);
}

TEST_CASE("a card that was removed and found again continues its count") {
  ArcMachine m;
  m.tree.write(kUpstream + "aer_dev_correctable", "BadTLP 4\n");
  Run run(m);
  run.collect();
  m.tree.write(kUpstream + "aer_dev_correctable", "BadTLP 1\n");
  run.collect(20s);
  CHECK(run.value(kErrors, {{"type", "BadTLP"}}) == 4);
  m.tree.write(kUpstream + "aer_dev_correctable", "BadTLP 3\n");
  run.collect(20s);
  CHECK(run.value(kErrors, {{"type", "BadTLP"}}) == 6);
}

TEST_CASE("files are read every 20 seconds, and at once after another channel reported a fault") {
  ArcMachine m;
  m.tree.write(kUpstream + "aer_dev_correctable", "BadTLP 0\n");
  Run run(m);
  run.collect();
  m.tree.write(kUpstream + "aer_dev_correctable", "BadTLP 7\n");
  run.collect(15s);
  CHECK(run.value(kErrors, {{"type", "BadTLP"}}) == 0);
  run.collect(5s);
  CHECK(run.value(kErrors, {{"type", "BadTLP"}}) == 7);
  m.tree.write(kUpstream + "aer_dev_correctable", "BadTLP 8\n");
  run.fault = true;
  run.collect(1s);
  CHECK(run.value(kErrors, {{"type", "BadTLP"}}) == 8);
}

TEST_CASE("a file that cannot be read costs its own series, and is read again at the next scrape") {
  ArcMachine m;
  m.tree.write(kUpstream + "aer_dev_correctable", "BadTLP 1\n");
  m.tree.write(kRoot + "aer_dev_correctable", "BadTLP 2\n");
  Run run(m);
  run.collect();
  m.sys.fail_reading("0000:01:00.0/aer_dev_correctable", EIO);
  run.collect(20s);
  CHECK(run.count(kErrors) == 1);
  CHECK(run.sink.failures().size() == 1);
  m.sys.heal();
  run.collect(1s);
  CHECK(run.count(kErrors) == 2);
  CHECK(run.sink.failures().empty());
}

TEST_CASE("xe reports HuC's version and GuC's interface; two answers are enough") {
  ArcMachine m;
  Run run(m);
  for (int scrape = 0; scrape < 5; ++scrape) {
    run.collect(20s);
    CHECK(run.count(kFirmware) == 2);
    CHECK(run.value(kFirmware, {{"uc", "huc"}, {"version", "8.2.10"}, {"interface", ""}}) == 1);
    CHECK(run.value(kFirmware, {{"uc", "guc"}, {"version", ""}, {"interface", "1.20.0"}}) == 1);
  }
  CHECK(m.asked == 8);  // each in two calls
  CHECK(m.drm.open_now == 0);
}

TEST_CASE("HuC that is loaded late is found in the second round") {
  ArcMachine m;
  m.huc_runs = false;
  Run run(m);
  run.collect();
  CHECK(run.count(kFirmware) == 1);
  m.huc_runs = true;
  run.collect(20s);
  CHECK(run.count(kFirmware) == 2);
}

TEST_CASE("a sleeping GPU is not asked for its firmware; its files are read all the same") {
  ArcMachine m;
  m.tree.write(kUpstream + "aer_dev_correctable", "BadTLP 1\n");
  Run run(m);
  run.asleep = {"0000:03:00.0"};
  run.collect();
  CHECK(m.drm.opens == 0);
  CHECK(run.missing("firmware") == Absent{Reason::suspended});
  CHECK(run.count(kErrors) == 1);
  CHECK(run.value("intel_gpu_runtime_pm_info", {{"control", "auto"}, {"d3cold_allowed", "1"}}) == 1);
  run.asleep.clear();
  run.collect(1s);
  CHECK(run.count(kFirmware) == 2);
  run.asleep = {"0000:03:00.0"};
  run.collect(1s);
  CHECK(run.count(kFirmware) == 2);
}

TEST_CASE("without permission for the render node the firmware is unknown, and asked again when it is given") {
  ArcMachine m;
  m.drm.refuse("renderD128", EACCES);
  Run run(m);
  run.collect();
  CHECK(run.missing("firmware") == Absent{Reason::permission, EACCES});
  m.drm.refuse("renderD128", 0);
  run.collect(20s);
  CHECK_FALSE(run.missing("firmware"));
}

TEST_CASE("older kernels have no such query; a wedged xe answers nothing; a failed call is a failure and made again") {
  ArcMachine m;
  m.error = EINVAL;
  Run old(m);
  old.collect();
  CHECK(old.missing("firmware") == Absent{Reason::kernel, EINVAL});
  m.error = ECANCELED;
  Run wedged(m);
  wedged.collect();
  CHECK(wedged.missing("firmware") == Absent{Reason::kernel, ECANCELED});
  CHECK(wedged.sink.failures().empty());
  m.error = EIO;
  Run failing(m);
  failing.collect();
  CHECK(failing.sink.failures().size() == 1);
  m.error = 0;
  failing.collect(1s);
  CHECK(failing.sink.failures().empty());
  CHECK(failing.count(kFirmware) == 2);
}

TEST_CASE("i915 tells whether HuC runs, or why it does not") {
  TestMachine m;
  add_gpu(m.tree, {.pci_path = "pci0000:00/0000:00:01.0/0000:03:00.0",
                   .driver = "i915",
                   .card = "card0",
                   .render_node = "renderD128",
                   .device = "0x56a5"});
  int error = 0;
  m.drm.add("renderD128", [&](unsigned long request, void* argument) {
    CHECK(request == 0xc0106446);
    struct {
      std::int32_t param;
      int* value;
    } query;
    std::memcpy(&query, argument, sizeof query);
    CHECK(query.param == 42);
    *query.value = 1;
    return error;
  });
  Run run(m);
  run.collect();
  CHECK(run.count(kFirmware) == 1);
  CHECK(run.value(kFirmware, {{"uc", "huc"}, {"version", ""}}) == 1);
  for (const auto& [answer, reason] : {std::pair{ENODEV, Reason::hardware},
                                       {ENOPKG, Reason::kernel},
                                       {EOPNOTSUPP, Reason::kernel},
                                       {EIO, Reason::kernel}}) {
    error = answer;
    Run other(m);
    other.collect();
    CHECK(other.count(kFirmware) == 0);
    CHECK(other.missing("firmware") == Absent{reason, answer});
    CHECK(other.sink.failures().empty());
  }
}

TEST_CASE("a card whose firmware failed at boot has no DRM node, and is on the page all the same") {
  ArcMachine m;
  m.tree.remove("sys/class/drm");
  m.tree.remove(kCard + "drm");
  m.tree.link("sys/bus/pci/drivers/xe/0000:03:00.0", "../../../../" + kCard.substr(4, kCard.size() - 5));
  CHECK(m.gpus().empty());  // still being bound
  m.tree.write(kCard + "survivability_mode", "Boot\n");
  const auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  CHECK(gpus[0].address == "0000:03:00.0");
  CHECK(gpus[0].card.empty());
  CHECK(gpus[0].driver == Driver::xe);
  CHECK(gpus[0].kind == GpuKind::discrete);
  Run run(m);
  run.collect();
  CHECK(run.value("intel_gpu_survivability_mode", {{"device", "0000:03:00.0"}}) == 1);
  CHECK(run.missing("firmware")->reason == Reason::kernel);
}

TEST_CASE("survivability mode is a state of xe's cards; a working one is not in it") {
  ArcMachine m;
  Run run(m);
  run.collect();
  CHECK(run.value("intel_gpu_survivability_mode", {}) == 0);
  TestMachine integrated("lunarlake-xe-claw8");
  Run other(integrated);
  other.collect();
  CHECK(other.count("intel_gpu_survivability_mode") == 0);
}

TEST_CASE("a GPU that may never sleep") {
  ArcMachine m;
  m.tree.write(kCard + "power/control", "on\n");
  m.tree.remove(kCard + "d3cold_allowed");
  Run run(m);
  run.collect();
  CHECK(run.count("intel_gpu_runtime_pm_info") == 1);
  CHECK(run.value("intel_gpu_runtime_pm_info", {{"control", "on"}, {"d3cold_allowed", ""}}) == 1);
  m.tree.write(kCard + "power/control", "auto\n");
  run.collect(20s);
  CHECK(run.value("intel_gpu_runtime_pm_info", {{"control", "auto"}}) == 1);
}

TEST_SUITE_END();
