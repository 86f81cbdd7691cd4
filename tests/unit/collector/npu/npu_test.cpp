// SPDX-License-Identifier: Apache-2.0
// What the driver intel_vpu shows of an NPU, by the kernel that has it, and what the page says.
#include <doctest/doctest.h>

#include <cerrno>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "collector/collectors.h"
#include "collector/health/health.h"
#include "collector/health/health_facts.h"
#include "kernel/device/npus.h"
#include "kernel/npu/npu_files.h"
#include "support/fake_kernel_messages.h"
#include "support/forwarding_directory.h"
#include "support/sink_values.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("npu");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

const std::string kPath = "devices/pci0000:00/0000:00:0b.0";

// A scrape that keeps what one collector tells the next one.
class SharedPass final : public MachinePass {
 public:
  explicit SharedPass(const Clock& clock) : clock_(clock) {}
  Nanoseconds now() const override { return clock_.now(); }
  Reading<const ClientSnapshot*> clients() override {
    if (!snapshot) return snapshot.propagate<const ClientSnapshot*>();
    return &*snapshot;
  }
  std::shared_ptr<const std::vector<Gpu>> gpus() const override { return std::make_shared<std::vector<Gpu>>(); }
  std::span<const std::string> asleep() const override { return {}; }
  FactBoard& facts() override { return board_; }

  Reading<ClientSnapshot> snapshot{ClientSnapshot{}};

 private:
  const Clock& clock_;
  FactBoard::Waiting waiting_;
  FactBoard board_{waiting_};
};

class Scene {
 public:
  TestMachine m;
  SampleSink sink;
  SharedPass pass{m.clock};
  FakeKernelMessages uevents;
  OptionValues::Given options;

  Scene() {
    m.machine().uevents = &uevents;
    pass.facts().put({}, FaultChannels{.has_events = true});
  }

  void file(const std::string& name, const std::string& text) {
    m.tree.write("sys/" + kPath + "/" + name, text + "\n");
  }
  // The processor's telemetry as Meteor Lake has it.
  void telemetry(std::uint64_t energy, unsigned celsius, const std::string& guid = "0x130670b2") {
    std::string region(0xd18, '\x7f');
    for (std::size_t i = 0; i < 8; ++i) region[0x628 + i] = static_cast<char>(energy >> 8 * i);
    region[0x98 + 5] = static_cast<char>(celsius);
    m.tree.write("sys/class/intel_pmt/telem0/guid", "0x1a067102\n");
    m.tree.write("sys/class/intel_pmt/telem1/guid", guid + "\n");
    m.tree.write("sys/class/intel_pmt/telem1/telem", region);
  }
  void remove(const std::string& name) { m.tree.remove("sys/" + kPath + "/" + name); }
  // Loads the driver.
  void bind(const std::string& driver = "intel_vpu", const std::string& accel = "accel0") {
    file("vendor", "0x8086");
    file("device", "0x643e");
    file("accel/" + accel + "/dev", "261:0");
    file("power/runtime_status", "active");
    m.tree.link("sys/" + kPath + "/driver", "../../../bus/pci/drivers/" + driver);
    m.tree.link("sys/class/accel/" + accel, "../../" + kPath + "/accel/" + accel);
  }
  // What a kernel of this version has.
  void kernel_6_11() { file("npu_busy_time_us", "5000000"); }
  void kernel_6_15() {
    kernel_6_11();
    file("npu_memory_utilization", "432013312");
  }
  void kernel_6_16() {
    kernel_6_15();
    file("npu_max_frequency_mhz", "1950");
    file("npu_current_frequency_mhz", "1400");
  }
  void scrape(Nanoseconds after = 0s) {
    m.clock.advance(after);
    if (!collector_) collector_ = make_collector(npu_collector, m.machine(), m.log, {.options = options});
    sink.clear();
    collector_->collect(pass, sink);
  }
  std::optional<double> value(std::string_view metric, Labels labels = {}) const {
    return value_in(sink, metric, labels);
  }
  std::optional<Reason> missing(std::string_view feature) const {
    for (const auto& state : sink.features())
      if (state.feature->name == feature && !state.available) return state.absent.reason;
    return std::nullopt;
  }
  std::size_t reported(std::string_view prefix) const {
    std::size_t count = 0;
    for (const auto& state : sink.features()) count += state.feature->name.starts_with(prefix);
    return count;
  }

 private:
  std::unique_ptr<MachineCollector> collector_;
};

}  // namespace

TEST_CASE("Linux 6.16: everything that the driver tells, without a GPU") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  s.scrape();
  s.file("npu_busy_time_us", "5500000");
  s.scrape(2s);
  CHECK(
      s.value("intel_npu_info",
              {{"device", "0000:00:0b.0"}, {"accel", "accel0"}, {"device_id", "0x643e"}, {"name", "Lunar Lake NPU"}}) ==
      1);
  CHECK(s.value("intel_npu_busy_seconds_total", {{"device", "0000:00:0b.0"}}) == 5.5);
  CHECK(s.value("intel_npu_busy_ratio") == 0.25);
  CHECK(s.value("intel_npu_memory_resident_bytes") == 432013312);
  CHECK(s.value("intel_npu_frequency_hertz", {{"bound", "current"}}) == 1.4e9);
  CHECK(s.value("intel_npu_frequency_hertz", {{"bound", "max"}}) == 1.95e9);
  CHECK(s.value("intel_npu_runtime_suspended") == 0);
  CHECK(s.value("intel_npu_recoveries_total") == 0);
  for (const auto& state : s.sink.features()) CHECK(state.available == (state.feature->name != "npu_telemetry"));
  CHECK(s.reported("npu") == 6);
  CHECK(s.sink.failures().empty());
}

TEST_CASE("older kernels lack files, and what they lack is absent, not zero") {
  Scene s;
  s.bind();
  SUBCASE("6.10: an NPU that tells nothing") {
    s.scrape();
    CHECK(s.missing("npu_busy") == Reason::kernel);
    CHECK(s.missing("npu_memory") == Reason::kernel);
    CHECK(s.missing("npu_frequency") == Reason::kernel);
    CHECK(!s.value("intel_npu_busy_seconds_total"));
    CHECK(s.value("intel_npu_info") == 1);
  }
  SUBCASE("6.11: the busy time") {
    s.kernel_6_11();
    s.scrape();
    CHECK(!s.missing("npu_busy"));
    CHECK(s.missing("npu_memory") == Reason::kernel);
    CHECK(!s.value("intel_npu_memory_resident_bytes"));
  }
  SUBCASE("6.15: the memory, too") {
    s.kernel_6_15();
    s.scrape();
    CHECK(!s.missing("npu_memory"));
    CHECK(s.missing("npu_frequency") == Reason::kernel);
    CHECK(!s.value("intel_npu_frequency_hertz"));
  }
  CHECK(s.sink.failures().empty());
}

TEST_CASE("Linux 7.2 has the clock in a folder; the old names go one day") {
  Scene s;
  s.bind();
  s.kernel_6_15();
  s.file("freq/current_freq", "1200");
  s.file("freq/hw_max_freq", "1900");
  s.scrape();
  CHECK(s.value("intel_npu_frequency_hertz", {{"bound", "current"}}) == 1.2e9);
  CHECK(s.value("intel_npu_frequency_hertz", {{"bound", "max"}}) == 1.9e9);
  CHECK(!s.missing("npu_frequency"));
}

TEST_CASE("a sleeping NPU: its books are read, its clock stands still, and it is not woken") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  s.file("power/runtime_status", "suspended");
  s.file("npu_current_frequency_mhz", "0");
  s.scrape();
  s.scrape(2s);
  CHECK(s.value("intel_npu_runtime_suspended") == 1);
  CHECK(s.value("intel_npu_busy_ratio") == 0);
  CHECK(s.value("intel_npu_frequency_hertz", {{"bound", "current"}}) == 0);
}

TEST_CASE("the processor's telemetry has the NPU's energy, in 2^-14 J, and its temperature") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  s.telemetry(1000 << 14, 47);
  s.scrape();
  CHECK(s.value("intel_npu_energy_joules_total") == 1000);
  CHECK(s.value("intel_npu_temperature_celsius") == 47);
  CHECK(!s.value("intel_npu_power_watts"));
  s.telemetry((1000 << 14) + (7 << 13), 48);
  s.scrape(2s);
  CHECK(s.value("intel_npu_energy_joules_total") == 1003.5);
  CHECK(s.value("intel_npu_power_watts") == 1.75);
  CHECK(!s.missing("npu_telemetry"));
}

TEST_CASE("the energy wraps after 262,144 J, and starts again when the firmware does") {
  Scene s;
  s.bind();
  s.telemetry(NpuTelemetry::kEnergyRange - (2 << 14), 47);
  s.scrape();
  s.telemetry(2 << 14, 47);
  s.scrape(2s);
  CHECK(s.value("intel_npu_power_watts") == 2);
  CHECK(s.value("intel_npu_energy_joules_total") == 262146);
  s.telemetry(100000ULL << 14, 47);
  s.scrape(2s);
  CHECK(!s.value("intel_npu_power_watts"));
  CHECK(s.value("intel_npu_energy_joules_total") == 262146);
}

TEST_CASE("telemetry of an unknown layout is not read; a short region fails; one that only root may read says so") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  SUBCASE("an unknown layout") {
    s.telemetry(1000 << 14, 47, "0x99999999");
    s.scrape();
    CHECK(s.missing("npu_telemetry") == Reason::hardware);
    CHECK(s.sink.failures().empty());
  }
  SUBCASE("a short region") {
    s.telemetry(1000 << 14, 47);
    s.m.tree.write("sys/class/intel_pmt/telem1/telem", "short");
    s.scrape();
    CHECK(s.sink.failures().size() == 1);
  }
  SUBCASE("no permission") {
    s.telemetry(1000 << 14, 47);
    s.m.sys.refuse_opening("class/intel_pmt/telem1/telem", EACCES);
    s.scrape();
    CHECK(s.missing("npu_telemetry") == Reason::permission);
    CHECK(s.sink.failures().empty());
  }
  CHECK(!s.value("intel_npu_power_watts"));
  CHECK(!s.value("intel_npu_temperature_celsius"));
}

namespace {

// A client as its fdinfo shows it, in MiB.
NpuClient npu_client(std::uint32_t pid, std::uint64_t id, std::uint64_t total, std::uint64_t resident) {
  constexpr std::uint64_t kMiB = 1 << 20;
  ClientMemory memory{.region = "memory"};
  memory.total = total * kMiB;
  memory.shared = 0;
  memory.resident = resident * kMiB;
  return {"0000:00:0b.0", id, pid, "python" + std::to_string(pid), {memory}};
}

}  // namespace

TEST_CASE("memory by process is that of all of its clients; those of other devices are not the NPU's") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  s.pass.snapshot->npu_clients = {npu_client(7, 1, 64, 41), npu_client(7, 2, 16, 9), npu_client(8, 3, 8, 8)};
  s.pass.snapshot->npu_clients.push_back(
      {"0000:c5:00.1", 4, 9, "other", {ClientMemory{.region = "memory", .total = 1}}});
  s.scrape();
  const auto bytes = [&](std::string_view pid, std::string_view state) {
    return s.value("intel_npu_process_memory_bytes",
                   {{"device", "0000:00:0b.0"}, {"pid", pid}, {"memory_region", "memory"}, {"state", state}});
  };
  CHECK(bytes("7", "total") == 80.0 * 1024 * 1024);
  CHECK(bytes("7", "resident") == 50.0 * 1024 * 1024);
  CHECK(bytes("7", "shared") == 0);
  CHECK(!bytes("7", "active"));
  CHECK(bytes("8", "resident") == 8.0 * 1024 * 1024);
  CHECK(!bytes("9", "total"));
  CHECK(!s.missing("npu_process_memory"));
  CHECK(s.reported("npu_process_memory") == 1);
}

TEST_CASE("the processes with the least memory have no series beyond the limit, and none has without the flag") {
  Scene s;
  s.bind();
  s.pass.snapshot->npu_clients = {npu_client(7, 1, 64, 1), npu_client(8, 2, 16, 9), npu_client(9, 3, 8, 8)};
  const auto has = [&](std::string_view pid) {
    return s.value("intel_npu_process_memory_bytes", {{"pid", pid}, {"state", "total"}}).has_value();
  };
  SUBCASE("two") {
    s.options["collector.fdinfo.max-processes"] = {"2"};
    s.scrape();
    CHECK((!has("7") && has("8") && has("9")));
  }
  SUBCASE("--no-collector.fdinfo.per-process") {
    s.options["collector.fdinfo.per-process"] = {"false"};
    s.scrape();
    CHECK(!has("8"));
    CHECK(s.missing("npu_process_memory") == Reason::disabled);
  }
}

TEST_CASE("why memory by process is missing: the kernel, a permission, a GPU that sleeps, or nobody uses the NPU") {
  Scene s;
  s.bind();
  ClientSnapshot& snapshot = *s.pass.snapshot;
  SUBCASE("nobody: nothing is known of this kernel") {
    s.scrape();
    CHECK(s.reported("npu_process_memory") == 0);
  }
  SUBCASE("a kernel before 7.0: the node is open, and its text says nothing") {
    snapshot.npu_files_silent = 1;
    s.scrape();
    CHECK(s.missing("npu_process_memory") == Reason::kernel);
  }
  SUBCASE("processes of other users") {
    snapshot.processes_denied = 3;
    s.scrape();
    CHECK(s.missing("npu_process_memory") == Reason::permission);
  }
  SUBCASE("a GPU sleeps, and the links of descriptors are not readable") {
    snapshot.files_left_out = 3;
    s.scrape();
    CHECK(s.missing("npu_process_memory") == Reason::suspended);
  }
  SUBCASE("/proc fails") {
    s.pass.snapshot = Failure{std::make_error_code(std::errc::io_error), "proc"};
    s.scrape();
    CHECK(s.sink.failures().size() == 1);
  }
  CHECK(s.value("intel_npu_info") == 1);
}

TEST_CASE("a busy time that goes back gives no ratio, and the counter stays where it was") {
  Scene s;
  s.bind();
  s.kernel_6_11();
  s.scrape();
  s.file("npu_busy_time_us", "1000000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_seconds_total") == 5);
  CHECK(!s.value("intel_npu_busy_ratio"));
  s.file("npu_busy_time_us", "2000000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_seconds_total") == 6);
  CHECK(s.value("intel_npu_busy_ratio") == 0.5);
}

TEST_CASE("a busy time that is lower once, and not from a restart, gives no ratio; the next one is over both windows") {
  Scene s;
  s.bind();
  s.kernel_6_11();
  s.scrape();
  s.file("npu_busy_time_us", "4000000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_seconds_total") == 5);
  CHECK(!s.value("intel_npu_busy_ratio"));
  s.file("npu_busy_time_us", "6000000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_seconds_total") == 6);
  CHECK(s.value("intel_npu_busy_ratio") == 0.25);
}

TEST_CASE("the telemetry's energy that is lower once gives no power; the next one is over both windows") {
  Scene s;
  s.bind();
  s.telemetry(100000ULL << 14, 47);
  s.scrape();
  s.telemetry(99990ULL << 14, 47);
  s.scrape(2s);
  CHECK(s.value("intel_npu_energy_joules_total") == 100000);
  CHECK(!s.value("intel_npu_power_watts"));
  CHECK(s.value("intel_npu_temperature_celsius") == 47);
  s.telemetry(100010ULL << 14, 47);
  s.scrape(2s);
  CHECK(s.value("intel_npu_energy_joules_total") == 100010);
  CHECK(s.value("intel_npu_power_watts") == 2.5);
}

TEST_CASE("a busy time that no time can have passed is a fault of the driver: the counter stays where it was") {
  Scene s;
  s.bind();
  s.kernel_6_11();
  s.scrape();
  s.file("npu_busy_time_us", "18446744073709551615");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_seconds_total") == 5);
  CHECK(!s.value("intel_npu_busy_ratio"));
  s.file("npu_busy_time_us", "6000000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_seconds_total") == 5);
  s.file("npu_busy_time_us", "6500000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_seconds_total") == 5.5);
}

TEST_CASE("a job that was longer than the window is no ratio above 1") {
  Scene s;
  s.bind();
  s.kernel_6_11();
  s.scrape();
  s.file("npu_busy_time_us", "8500000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_ratio") == 1);
}

TEST_CASE("the driver is loaded again: the counters go on") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  s.pass.facts().post(DeviceFault{DeviceFault::Sign::reset, "0000:00:0b.0"});
  s.scrape();
  s.remove("accel");
  s.m.tree.remove("sys/class/accel/accel0");
  s.scrape(2s);
  CHECK(!s.value("intel_npu_busy_seconds_total"));
  CHECK(s.missing("npu") == Reason::hardware);
  s.bind("intel_vpu", "accel1");
  s.file("npu_busy_time_us", "250000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_info", {{"accel", "accel1"}}) == 1);
  CHECK(s.value("intel_npu_busy_seconds_total") == 5);
  CHECK(s.value("intel_npu_recoveries_total") == 1);
  s.file("npu_busy_time_us", "1250000");
  s.scrape(2s);
  CHECK(s.value("intel_npu_busy_seconds_total") == 6);
}

TEST_CASE("a machine without an NPU says so in one line") {
  Scene s;
  SUBCASE("no class of accelerators") {}
  SUBCASE("an accelerator of another driver") { s.bind("amdxdna"); }
  SUBCASE("a link to nowhere") { s.m.tree.link("sys/class/accel/accel0", "../../devices/virtual/accel0"); }
  s.scrape();
  CHECK(s.missing("npu") == Reason::hardware);
  CHECK(s.sink.features().size() == 1);
  CHECK(s.sink.samples().samples().empty());
  CHECK(s.sink.failures().empty());
}

TEST_CASE("files with bad content fail, and take nothing else with them") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  s.file("npu_busy_time_us", "-7");
  s.file("npu_memory_utilization", "99999999999999999999999999");
  s.file("power/runtime_status", "dreaming");
  s.scrape();
  CHECK(s.sink.failures().size() == 3);
  CHECK(!s.value("intel_npu_busy_seconds_total"));
  CHECK(!s.value("intel_npu_memory_resident_bytes"));
  CHECK(!s.value("intel_npu_runtime_suspended"));
  CHECK(s.value("intel_npu_frequency_hertz", {{"bound", "max"}}) == 1.95e9);
}

TEST_CASE("no more NPUs than kMostNpus have series, whatever the class of accelerators lists") {
  Scene s;
  for (int i = 0; i < 100; ++i) s.bind("intel_vpu", "accel" + std::to_string(i));
  s.scrape();
  std::size_t count = 0;
  for (const auto& sample : s.sink.samples().samples()) count += sample.metric->name == "intel_npu_info";
  CHECK(count <= kMostNpus);
  CHECK(count > 0);
}

TEST_CASE("a recovery is the driver's event after the reset; the health collector reads it for both") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  HealthCollector health(s.m.machine());
  const auto scrape = [&] {
    SampleSink of_health;
    health.collect(s.pass, of_health);
    CHECK(of_health.failures().empty());
    s.scrape();
  };
  scrape();
  CHECK(s.value("intel_npu_recoveries_total") == 0);
  s.uevents.add(uevent_text("change", kPath, "pci", "IVPU_PM_EVENT=IVPU_RECOVER"));
  s.uevents.add(uevent_text("change", kPath, "pci", "IVPU_PM_EVENT=IVPU_SOMETHING_ELSE"));
  s.uevents.add(uevent_text("change", kPath, "drm", "IVPU_PM_EVENT=IVPU_RECOVER"));
  s.uevents.add(uevent_text("change", "devices/pci0000:00/0000:00:0c.0", "pci", "IVPU_PM_EVENT=IVPU_RECOVER"));
  scrape();
  CHECK(s.value("intel_npu_recoveries_total") == 1);
  scrape();
  CHECK(s.value("intel_npu_recoveries_total") == 1);
  CHECK(!s.missing("npu_recoveries"));
}

TEST_CASE("an event and a dump of one recovery count once; without events the dumps count") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  const auto recover = [&] {
    s.pass.facts().post(DeviceFault{DeviceFault::Sign::reset, "0000:00:0b.0"});
    s.pass.facts().post(DeviceFault{DeviceFault::Sign::dump, "0000:00:0b.0"});
  };
  s.pass.facts().put({}, FaultChannels{.has_events = true, .has_dumps = true});
  recover();
  s.scrape();
  CHECK(s.value("intel_npu_recoveries_total") == 1);
  s.pass.facts().put({}, FaultChannels{.has_events = false, .has_dumps = true});
  recover();
  s.pass.facts().post(DeviceFault{DeviceFault::Sign::dump, "0000:03:00.0"});  // a GPU's
  s.scrape();
  CHECK(s.value("intel_npu_recoveries_total") == 2);
}

TEST_CASE("without events and dumps no recovery can be counted, which is not zero recoveries") {
  Scene s;
  s.bind();
  s.kernel_6_16();
  s.pass.facts().put({}, FaultChannels{});
  SUBCASE("collector health is off") {
    s.scrape();
    CHECK(s.missing("npu_recoveries") == Reason::disabled);
  }
  SUBCASE("a user namespace") {
    s.m.machine().uevents = Absent{Reason::permission, EUSERS};
    s.scrape();
    CHECK(s.missing("npu_recoveries") == Reason::permission);
  }
  CHECK(!s.value("intel_npu_recoveries_total"));
}

TEST_CASE("a core dump of the NPU is not one of a GPU, and an old one is no recovery") {
  Scene s;
  s.bind();
  s.m.machine().uevents = Absent{Reason::permission, EUSERS};
  const auto dump = [&](const std::string& name) {
    s.m.tree.write("sys/devices/virtual/devcoredump/" + name + "/data", "");
    s.m.tree.link("sys/devices/virtual/devcoredump/" + name + "/failing_device", "../../../../" + kPath);
    s.m.tree.link("sys/class/devcoredump/" + name, "../../devices/virtual/devcoredump/" + name);
  };
  s.m.tree.write("sys/class/devcoredump/disabled", "0\n");
  dump("devcd1");
  HealthCollector health(s.m.machine());
  const auto scrape = [&] {
    SampleSink of_health;
    s.m.clock.advance(30s);
    health.collect(s.pass, of_health);
    s.scrape();
  };
  scrape();
  CHECK(s.value("intel_npu_recoveries_total") == 0);
  dump("devcd2");
  scrape();
  CHECK(s.value("intel_npu_recoveries_total") == 1);
}

TEST_SUITE_END();
