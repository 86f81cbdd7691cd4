// SPDX-License-Identifier: Apache-2.0
// Intel GPUs on the bus that neither i915 nor xe drives: which, why, and how seldom the bus is read.
#include <doctest/doctest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/health/health.h"
#include "collector/health/health_files.h"
#include "support/fake_kernel_messages.h"
#include "support/forwarding_directory.h"
#include "support/sink_values.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("health_unbound");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

const std::string kArc = "0000:03:00.0";

// Counts the reads of the bus; can refuse to list it.
class CountedDirectory final : public ForwardingDirectory {
 public:
  using ForwardingDirectory::ForwardingDirectory;
  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    bus_reads += path.starts_with("bus/pci/devices/") && path.ends_with("/class");
    return ForwardingDirectory::read(path, buffer);
  }
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    if (fails && path.starts_with("bus/pci/devices")) return outcome_of_errno<Unit>(EIO, path);
    return ForwardingDirectory::for_each(path, visit);
  }
  mutable int bus_reads = 0;
  bool fails = false;
};

struct Bus {
  TestMachine m;
  CountedDirectory sys{m.sys};
  FakeKernelMessages uevents, log;
  std::vector<std::string> chosen;
  TestMachinePass pass{m.clock};
  SampleSink sink;

  Bus() {
    m.tree.make_directory("sys/class/drm");
    m.machine().uevents = &uevents;
    m.machine().kernel_log = &log;
  }

  // A function on the bus; without a driver unless one is named.
  void add(const std::string& address, const std::string& device, const std::string& driver = "",
           const std::string& pci_class = "0x030000", const std::string& vendor = "0x8086") {
    const std::string path = "devices/pci0000:00/" + address;
    m.tree.write("sys/" + path + "/vendor", vendor + "\n");
    m.tree.write("sys/" + path + "/device", device + "\n");
    m.tree.write("sys/" + path + "/class", pci_class + "\n");
    m.tree.link("sys/bus/pci/devices/" + address, "../../../" + path);
    if (!driver.empty()) bind(address, driver);
  }
  void bind(const std::string& address, const std::string& driver) {
    m.tree.link("sys/devices/pci0000:00/" + address + "/driver", "../../../bus/pci/drivers/" + driver);
  }
  void write_log(std::string_view text) { log.add("4,7,1000000,-;" + std::string(text) + "\n"); }
  void start() {
    collector_.reset();
    machine_.emplace(Machine{sys, m.machine().proc, m.machine().dev, m.perf, m.drm, m.clock, m.privileges, m.names});
    machine_->uevents = m.machine().uevents;
    machine_->kernel_log = m.machine().kernel_log;
    collector_ = std::make_unique<HealthCollector>(*machine_, nullptr, 60s, chosen, &m.log);
  }
  void scrape(Nanoseconds after = 15s) {
    if (!collector_) start();
    m.clock.advance(after);
    sink.clear();
    collector_->collect(pass, sink);
  }
  // Why no driver has it; "" if it is not listed.
  std::string reason(const std::string& address = kArc) {
    for (const char* reason : {"no_driver", "firmware", "other_driver", "no_node", "guest"})
      if (value_in(sink, "intel_gpu_unbound", {{"device", address}, {"reason", reason}}) == 1) return reason;
    return "";
  }
  bool says(std::string_view driver, std::string_view error, std::string_view firmware) {
    return value_in(sink, "intel_gpu_probe_failure_info",
                    {{"device", kArc}, {"driver", driver}, {"error", error}, {"firmware", firmware}}) == 1;
  }
  bool logged(std::string_view part) const {
    for (const RecordingLog::Line& line : m.log.lines())
      if (line.text.find(part) != std::string::npos) return true;
    return false;
  }

 private:
  std::optional<Machine> machine_;
  std::unique_ptr<HealthCollector> collector_;
};

}  // namespace

TEST_CASE("a card without a driver is listed with its id and its name") {
  Bus bus;
  bus.add(kArc, "0xe20b");
  bus.scrape();
  CHECK(value_in(bus.sink, "intel_gpu_unbound",
                 {{"device", kArc},
                  {"device_id", "0xe20b"},
                  {"name", "Battlemage G21 [Arc B580]"},
                  {"reason", "no_driver"}}) == 1);
  CHECK_FALSE(value_in(bus.sink, "intel_gpu_probe_failure_info", {}));
}

TEST_CASE("a card that vfio-pci holds is a guest's") {
  Bus bus;
  bus.add(kArc, "0xe20b", "vfio-pci");
  bus.scrape();
  CHECK(bus.reason() == "guest");
  CHECK(bus.logged("a virtual machine has it"));
}

TEST_CASE("what is no GPU of Intel's without a driver of its own is not listed") {
  Bus bus;
  bus.add("0000:00:1f.3", "0x7a50", "", "0x040300");            // sound
  bus.add("0000:01:00.0", "0x2684", "", "0x030000", "0x10de");  // another vendor's
  bus.add("0000:00:02.1", "0x2a43", "", "0x038000");            // the second display of an old chip
  bus.add("0000:04:00.0", "0xe20b", "xe");
  bus.m.tree.make_directory("sys/devices/pci0000:00/0000:04:00.0/drm/card1");
  bus.add("0000:05:00.0", "0xe20b", "xe");  // its firmware is broken: it is monitored without a node
  bus.m.tree.write("sys/devices/pci0000:00/0000:05:00.0/survivability_mode", "");
  bus.scrape();
  CHECK_FALSE(value_in(bus.sink, "intel_gpu_unbound", {}));
}

TEST_CASE("a card that another driver has is named with that driver, and one whose driver made no node with that") {
  Bus bus;
  bus.add(kArc, "0xe20b", "uio_pci_generic");
  bus.add("0000:04:00.0", "0x56a0", "i915");
  bus.m.tree.make_directory("sys/devices/pci0000:00/0000:04:00.0/drm");  // the probe is in its middle
  bus.scrape();
  CHECK(bus.reason() == "other_driver");
  CHECK(value_in(bus.sink, "intel_gpu_unbound_driver_info", {{"device", kArc}, {"driver", "uio_pci_generic"}}) == 1);
  CHECK(bus.m.log.count(LogLevel::warn) == 1);
  CHECK(bus.reason("0000:04:00.0") == "no_node");
  CHECK(value_in(bus.sink, "intel_gpu_unbound_driver_info", {{"device", "0000:04:00.0"}, {"driver", "i915"}}) == 1);
  // The probe ends.
  bus.m.tree.make_directory("sys/devices/pci0000:00/0000:04:00.0/drm/renderD128");
  bus.pass.bound.emplace_back().address = "0000:04:00.0";
  bus.scrape();
  CHECK(bus.reason("0000:04:00.0").empty());
}

TEST_CASE("a card may be any function of its slot, as a guest's virtual function is") {
  Bus bus;
  bus.add("0000:00:05.3", "0xe211");
  bus.scrape();
  CHECK(bus.reason("0000:00:05.3") == "no_driver");
}

TEST_CASE("a virtual function is its physical function's to report, whoever holds it") {
  Bus bus;
  const char* const drivers[] = {"vfio-pci", "", "xe-vfio-pci", "uio_pci_generic"};
  for (int function = 0; function < 4; ++function) {
    const std::string address = "0000:05:00." + std::to_string(function);
    bus.add(address, "0xe211", drivers[function]);
    bus.m.tree.link("sys/devices/pci0000:00/" + address + "/physfn", "../0000:03:00.0");
  }
  bus.scrape();
  CHECK_FALSE(value_in(bus.sink, "intel_gpu_unbound", {}));
}

TEST_CASE("the kernel log names the firmware that is missing, and the probe's error") {
  Bus bus;
  bus.add(kArc, "0xe20b");
  SUBCASE("xe") {
    bus.write_log("xe 0000:03:00.0: Direct firmware load for xe/bmg_dmc.bin failed with error -2");
    bus.write_log("xe 0000:03:00.0: [drm] *ERROR* Tile0: GT0: GuC firmware xe/bmg_guc_70.bin: fetch failed -ENOENT");
    bus.write_log("xe 0000:03:00.0: [drm] *ERROR* Tile0: GT1: GuC firmware xe/other.bin: fetch failed -ENOENT");
    bus.write_log("xe 0000:03:00.0: probe with driver xe failed with error -2");
    bus.scrape();
    CHECK(bus.says("xe", "-2", "xe/bmg_guc_70.bin"));
  }
  SUBCASE("i915, before Linux 6.9") {
    bus.write_log("i915 0000:03:00.0: Direct firmware load for i915/dg2_guc_70.bin failed with error -2");
    bus.write_log("i915: probe of 0000:03:00.0 failed with error -5");
    bus.scrape();
    CHECK(bus.says("i915", "-5", "i915/dg2_guc_70.bin"));
  }
  CHECK(bus.reason() == "firmware");
  CHECK(bus.logged("reason=firmware"));
}

TEST_CASE("a probe that failed without a missing file, and a driver that wants to be forced") {
  Bus bus;
  bus.add(kArc, "0xe20b");
  SUBCASE("failed") {
    bus.write_log("xe 0000:03:00.0: probe with driver xe failed with error -12");
    bus.scrape();
    CHECK(bus.says("xe", "-12", ""));
  }
  SUBCASE("refused") {
    bus.write_log(
        "i915 0000:03:00.0: Your graphics device 56a0 is not properly supported by i915 in this kernel version. To "
        "force "
        "driver probe anyway, use i915.force_probe=56a0 module parameter");
    bus.scrape();
    CHECK(bus.says("i915", "force_probe", ""));
  }
  SUBCASE("what a program writes into the log is no evidence") {
    bus.log.add("12,7,1000000,-;xe 0000:03:00.0: probe with driver xe failed with error -12\n");
    bus.scrape();
    CHECK_FALSE(value_in(bus.sink, "intel_gpu_probe_failure_info", {}));
  }
  SUBCASE("the driver has had it since: somebody took it away") {
    bus.write_log("xe 0000:03:00.0: probe with driver xe failed with error -2");
    bus.write_log("[drm] Initialized xe 1.1.0 for 0000:03:00.0 on minor 0");
    bus.scrape();
    CHECK_FALSE(value_in(bus.sink, "intel_gpu_probe_failure_info", {}));
  }
  CHECK(bus.reason() == "no_driver");
}

TEST_CASE("the reason is of now: no driver, then a guest's, then bound, then gone") {
  Bus bus;
  bus.add(kArc, "0xe20b");
  for (int i = 0; i < 4; ++i) bus.scrape();
  CHECK(bus.reason() == "no_driver");
  bus.bind(kArc, "vfio-pci");
  bus.scrape();
  CHECK(bus.reason() == "guest");
  bus.bind(kArc, "xe");
  bus.m.tree.make_directory("sys/devices/pci0000:00/" + kArc + "/drm/card0");
  bus.scrape();
  CHECK(bus.reason().empty());
}

TEST_CASE("a scrape reads the bus only when something changed on it") {
  Bus bus;
  for (int i = 0; i < 50; ++i) bus.add("0000:01:" + std::to_string(10 + i) + ".0", "0x1234", "", "0x060100");
  bus.add(kArc, "0xe20b");
  for (int i = 0; i < 3; ++i) bus.scrape();
  const int settled = bus.sys.bus_reads;
  for (int i = 0; i < 10; ++i) bus.scrape();
  CHECK(bus.sys.bus_reads == settled);
  CHECK(bus.reason() == "no_driver");
  // A card is plugged in.
  bus.add("0000:06:00.0", "0x56a0");
  bus.uevents.add(uevent_text("add", "devices/pci0000:00/0000:06:00.0", "pci", "PCI_ID=8086:56A0"));
  bus.scrape();
  CHECK(bus.sys.bus_reads > settled);
  CHECK(bus.reason("0000:06:00.0") == "no_driver");
  // i915 lost its GPU.
  bus.pass.bound.emplace_back().address = "0000:00:02.0";
  bus.scrape();
  bus.pass.bound.clear();
  bus.add("0000:00:02.0", "0x4680");
  bus.scrape();
  CHECK(bus.reason("0000:00:02.0") == "no_driver");
}

TEST_CASE("the log has one line for each card and reason") {
  Bus bus;
  bus.add(kArc, "0xe20b");
  bus.start();  // before any scrape
  CHECK(bus.m.log.count(LogLevel::warn) == 1);
  CHECK(bus.logged("GPU without i915 or xe is not monitored"));
  CHECK(bus.logged("device=0000:03:00.0"));
  CHECK(bus.logged("doctor"));
  for (int i = 0; i < 5; ++i) bus.scrape();
  CHECK(bus.m.log.count(LogLevel::warn) == 1);
}

TEST_CASE("--gpu chooses among these cards, too") {
  Bus bus;
  bus.add(kArc, "0xe20b");
  bus.add("0000:04:00.0", "0x56a0");
  bus.chosen = {kArc};
  bus.scrape();
  CHECK(bus.reason() == "no_driver");
  CHECK(bus.reason("0000:04:00.0").empty());
}

TEST_CASE("a bus that cannot be read fails the collector; one that is not there does not") {
  Bus bus;
  bus.scrape();
  CHECK(bus.sink.failures().empty());
  bus.add(kArc, "0xe20b");
  bus.sys.fails = true;
  bus.start();
  bus.scrape();
  CHECK(bus.sink.failures().size() == 1);
  CHECK_FALSE(value_in(bus.sink, "intel_gpu_unbound", {}));
}

TEST_SUITE_END();
