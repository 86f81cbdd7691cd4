// SPDX-License-Identifier: Apache-2.0
// What the kernel remembers of the outputs, what it announced, and what the page says.
#include <doctest/doctest.h>

#include <cerrno>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "collector/collectors.h"
#include "fake/simulation/simulation.h"
#include "kernel/sysfs/connector_files.h"
#include "support/fake_kernel_messages.h"
#include "support/forwarding_directory.h"
#include "support/held_reads.h"
#include "support/sink_values.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("connectors");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Notes the name of every file that is opened.
class WatchedDirectory final : public ForwardingDirectory {
 public:
  using ForwardingDirectory::ForwardingDirectory;
  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    note(path);
    return inner().read(path, buffer);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    note(path);
    return inner().read_start(path, buffer);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    note(path);
    return inner().open(path);
  }
  std::set<std::string> opened() const { return opened_; }

 private:
  void note(std::string_view path) const { opened_.emplace(path.substr(path.rfind('/') + 1)); }
  mutable std::set<std::string> opened_;
};

// The captured laptop, with the outputs and the messages that a test adds.
class Scene {
 public:
  TestMachine m;
  FakeKernelMessages uevents;
  Gpu gpu;
  SampleSink sink;
  bool asleep = false;
  Nanoseconds longest_wait = 60s;  // for modes, which are read by another thread

  explicit Scene(const std::string& machine = "kabylake-r-i915-connectors") : m(machine), gpu(m.gpus().front()) {
    m.machine().output_uevents = &uevents;
  }
  std::string folder(const std::string& output) const {
    return "sys/" + gpu.pci_path + "/drm/" + gpu.card + "/" + gpu.card + "-" + output + "/";
  }
  void output(const std::string& name, const std::string& status, const std::string& modes, int id) {
    m.tree.write(folder(name) + "status", status + "\n");
    m.tree.write(folder(name) + "enabled", status == "connected" ? "enabled\n" : "disabled\n");
    m.tree.write(folder(name) + "modes", modes);
    m.tree.write(folder(name) + "connector_id", std::to_string(id) + "\n");
  }
  void uevent(std::string_view pair, std::string_view second = "A=B") {
    std::string pairs(pair);
    pairs += '\0';
    pairs += second;
    uevents.add(uevent_text("change", gpu.pci_path + "/drm/" + gpu.card, "drm", pairs));
  }
  void start(Machine machine) {
    machine_.emplace(std::move(machine));
    collector_ = make_collector(connectors_collector, *machine_, m.log, {.longest_wait = longest_wait});
  }
  void scrape() {
    if (!collector_) start(m.machine());
    sink.clear();
    TestMachinePass pass(m.clock);
    pass.bound = {gpu};
    if (asleep) pass.sleeping = {gpu.address};
    collector_->collect(pass, sink);
  }
  std::optional<double> value(std::string_view metric, Labels labels) const { return value_in(sink, metric, labels); }
  std::optional<double> connected(std::string_view output) const {
    return value("intel_gpu_connector_connected", {{"connector", output}});
  }
  std::optional<double> hotplugs(std::string_view output) const {
    return value("intel_gpu_hotplug_events_total", {{"connector", output}});
  }
  std::string mode(std::string_view output) const {
    for (const auto& sample : sink.samples().samples())
      if (sample.metric->name == "intel_gpu_connector_info" && sink.samples().label_value(sample, 1) == output)
        return std::string(sink.samples().label_value(sample, 2));
    return {};
  }
  std::size_t count(std::string_view metric) const {
    std::size_t n = 0;
    for (const auto& sample : sink.samples().samples()) n += sample.metric->name == metric;
    return n;
  }
  std::optional<Reason> missing(std::string_view feature) const {
    for (const auto& state : sink.features())
      if (state.feature->name == feature && !state.available) return state.absent.reason;
    return std::nullopt;
  }

 private:
  std::optional<Machine> machine_;
  std::unique_ptr<MachineCollector> collector_;
};

}  // namespace

TEST_CASE("a captured laptop: a monitor on one output, nothing on the other") {
  Scene s;
  s.scrape();
  CHECK(s.count("intel_gpu_connector_connected") == 2);
  CHECK(s.connected("DP-1") == 0);
  CHECK(s.connected("DP-5") == 1);
  CHECK(s.value("intel_gpu_connector_enabled", {{"connector", "DP-1"}}) == 0);
  CHECK(s.value("intel_gpu_connector_enabled", {{"connector", "DP-5"}}) == 1);
  CHECK(s.count("intel_gpu_connector_info") == 1);
  CHECK(s.value("intel_gpu_connector_info", {{"device", "0000:00:02.0"}, {"connector", "DP-5"}}) == 1);
  // Counters begin at zero, so that rate() sees the first event.
  CHECK(s.hotplugs("DP-1") == 0);
  CHECK(s.hotplugs("unknown") == 0);
  CHECK(s.sink.failures().empty());
  CHECK(!s.missing("connectors"));
  CHECK(!s.missing("hotplug_events"));
}

TEST_CASE("it probes nothing: it reads what the kernel remembers, and opens neither a DRM node nor the EDID") {
  Scene s;
  s.output("HDMI-A-1", "connected", "1920x1080\n", 240);
  s.m.tree.write(s.folder("HDMI-A-1") + "edid", "serial number");
  WatchedDirectory sys(open_root(s.m.tree.path("sys")));
  Machine machine{sys,       s.m.machine().proc, s.m.machine().dev,  s.m.machine().perf, s.m.machine().drm,
                  s.m.clock, s.m.privileges,     s.m.machine().names};
  machine.output_uevents = &s.uevents;
  const auto collector = make_collector(connectors_collector, machine, s.m.log);
  TestMachinePass pass(s.m.clock);
  pass.bound = {s.gpu};
  collector->collect(pass, s.sink);
  CHECK(s.connected("HDMI-A-1") == 1);
  CHECK(sys.opened() == std::set<std::string>{"status", "enabled", "modes", "connector_id"});
  CHECK(s.m.drm.opens == 0);
}

TEST_CASE("the preferred mode is the first one, of outputs with a monitor") {
  Scene s;
  s.output("HDMI-A-1", "connected", "3840x2160\n1920x1080i\n", 240);
  s.output("HDMI-A-2", "disconnected", "1024x768\n", 241);
  s.output("HDMI-A-3", "connected", "", 242);
  s.scrape();
  CHECK(s.value("intel_gpu_connector_info", {{"connector", "HDMI-A-1"}, {"mode", "3840x2160"}}) == 1);
  CHECK(!s.value("intel_gpu_connector_info", {{"connector", "HDMI-A-2"}}));
  CHECK(!s.value("intel_gpu_connector_info", {{"connector", "HDMI-A-3"}}));
  CHECK(s.connected("HDMI-A-3") == 1);
}

TEST_CASE("a state that the driver does not know is absent, and no failure") {
  Scene s;
  s.output("Writeback-1", "unknown", "", 250);
  s.scrape();
  CHECK(!s.connected("Writeback-1"));
  CHECK(s.value("intel_gpu_connector_enabled", {{"connector", "Writeback-1"}}) == 0);
  CHECK(s.sink.failures().empty());
}

TEST_CASE("hot-plug events count for the output that they name") {
  Scene s;
  s.output("HDMI-A-1", "connected", "1920x1080\n", 240);
  s.scrape();
  s.uevent("HOTPLUG=1", "CONNECTOR=240");
  s.uevent("HOTPLUG=1", "CONNECTOR=240");
  s.uevent("HOTPLUG=1");                    // several outputs, or Linux before 5.17
  s.uevent("HOTPLUG=1", "CONNECTOR=9999");  // gone for longer than a scrape
  s.scrape();
  CHECK(s.hotplugs("HDMI-A-1") == 2);
  CHECK(s.hotplugs("unknown") == 2);
  CHECK(s.hotplugs("DP-1") == 0);
  s.scrape();
  CHECK(s.hotplugs("HDMI-A-1") == 2);
}

TEST_CASE("other events are none: properties, leases, faults, other devices") {
  Scene s;
  s.output("HDMI-A-1", "connected", "1920x1080\n", 240);
  std::string training = "HOTPLUG=1";
  training += '\0';
  training += "CONNECTOR=240";
  s.uevent(training, "PROPERTY=7");
  s.uevent("LEASE=1");
  s.uevent("WEDGED=rebind");
  s.uevent("HOTPLUG=0");
  s.uevents.add("not a uevent");
  s.uevents.add(uevent_text("change", "devices/pci0000:00/0000:01:00.0/drm/card7", "drm", "HOTPLUG=1"));
  s.uevents.add(uevent_text("add", s.gpu.pci_path + "/drm/" + s.gpu.card, "drm", "HOTPLUG=1"));
  s.scrape();
  CHECK(s.hotplugs("HDMI-A-1") == 0);
  CHECK(s.hotplugs("unknown") == 0);
}

TEST_CASE("an output of a dock that is gone when its event is read; its count is kept until it returns") {
  Scene s;
  s.output("DP-6", "connected", "1920x1080\n", 300);
  s.scrape();
  s.m.tree.remove(s.folder("DP-6"));
  s.uevent("HOTPLUG=1", "CONNECTOR=300");
  s.scrape();
  CHECK(!s.hotplugs("DP-6"));
  CHECK(s.hotplugs("unknown") == 0);
  s.output("DP-6", "connected", "1920x1080\n", 301);
  s.scrape();
  CHECK(s.hotplugs("DP-6") == 1);
}

TEST_CASE("events that were lost are counted, and no failure") {
  Scene s;
  s.scrape();
  CHECK(s.value("intel_gpu_hotplug_events_lost_total", {}) == 0);
  s.uevents.lose();
  s.uevent("HOTPLUG=1");
  s.scrape();
  CHECK(s.value("intel_gpu_hotplug_events_lost_total", {}) == 1);
  CHECK(s.hotplugs("unknown") == 1);
  CHECK(s.sink.failures().empty());
}

TEST_CASE("a mode is read when an output was plugged in, when events were lost, and every 20 seconds besides") {
  Scene s;
  s.output("HDMI-A-1", "connected", "1920x1080\n", 240);
  const auto mode = [&] {
    s.scrape();
    return s.mode("HDMI-A-1");
  };
  CHECK(mode() == "1920x1080");
  s.m.tree.write(s.folder("HDMI-A-1") + "modes", "3840x2160\n");  // the driver found it without an event
  CHECK(mode() == "1920x1080");
  s.m.clock.advance(20s);
  CHECK(mode() == "3840x2160");
  s.m.tree.write(s.folder("HDMI-A-1") + "modes", "2560x1440\n");
  s.uevent("HOTPLUG=1", "CONNECTOR=240");
  CHECK(mode() == "2560x1440");
  s.m.tree.write(s.folder("HDMI-A-1") + "modes", "1024x768\n");
  s.uevents.lose();
  CHECK(mode() == "1024x768");
  s.output("HDMI-A-1", "disconnected", "", 240);
  CHECK(mode().empty());
  s.output("HDMI-A-1", "connected", "640x480\n", 240);
  CHECK(mode() == "640x480");
}

TEST_CASE("a GPU whose driver probes an output for long delays no scrape, and no other GPU") {
  Scene s;
  s.output("HDMI-A-1", "connected", "1920x1080\n", 240);
  s.longest_wait = 0s;
  HeldReads driver(s.m.sys, "HDMI-A-1/modes");
  driver.gate.close();
  s.start(driver.in(s.m.machine()));
  s.scrape();
  CHECK(s.connected("HDMI-A-1") == 1);
  CHECK(s.mode("HDMI-A-1").empty());
  s.uevent("HOTPLUG=1", "CONNECTOR=240");  // what is being read is of before
  s.scrape();
  CHECK(s.hotplugs("HDMI-A-1") == 1);
  CHECK(s.sink.failures().empty());
  CHECK(driver.gate.wait_for_arrivals(1));
  s.m.tree.write(s.folder("HDMI-A-1") + "modes", "3840x2160\n");
  driver.gate.open();
  for (int i = 0; i < 60'000 && s.mode("HDMI-A-1").empty(); ++i) {
    std::this_thread::sleep_for(1ms);
    s.scrape();
  }
  CHECK(s.mode("HDMI-A-1") == "3840x2160");
  CHECK(driver.gate.arrived() == 2);
}

TEST_CASE("without uevents the files are still read, and the reason is told") {
  Scene s;
  s.m.machine().output_uevents = Absent{Reason::permission, EUSERS};
  s.scrape();
  CHECK(s.connected("DP-5") == 1);
  CHECK(s.count("intel_gpu_hotplug_events_total") == 0);
  CHECK(s.missing("hotplug_events") == Reason::permission);
}

TEST_CASE("a sleeping GPU is read as well: the files do not resume it") {
  Scene s;
  s.asleep = true;
  s.scrape();
  CHECK(s.connected("DP-5") == 1);
}

TEST_CASE("a GPU without outputs says so") {
  Scene s("b580-xe-k6.14");
  s.scrape();
  CHECK(s.missing("connectors") == Reason::hardware);
  s.gpu.card.clear();  // survivability mode
  s.scrape();
  CHECK(s.missing("connectors") == Reason::hardware);
  CHECK(s.sink.failures().empty());
}

TEST_CASE("1,000 outputs: as many as a kernel can have, and events of the others are not lost") {
  Scene s;
  for (int i = 0; i < 1000; ++i) s.output("DP-" + std::to_string(10 + i), "connected", "1x1\n", i);
  s.uevent("HOTPLUG=1", "CONNECTOR=989");  // DP-999, the last one by name
  s.scrape();
  CHECK(s.count("intel_gpu_connector_connected") == kMostConnectors);
  CHECK(s.count("intel_gpu_hotplug_events_total") == kMostConnectors + 1);
  CHECK(s.hotplugs("unknown") == 1);
}

TEST_CASE("names that change all the time take no more memory than those of the known outputs") {
  Scene s;
  constexpr int kMostKnown = 4 * static_cast<int>(kMostConnectors);
  for (int i = 0; i < 2 * kMostKnown; ++i) {
    const std::string name = "A-" + std::to_string(i);
    s.output(name, "connected", "1x1\n", 5000 + i);
    s.uevent("HOTPLUG=1", "CONNECTOR=" + std::to_string(5000 + i));
    s.scrape();
    s.m.tree.remove(s.folder(name));
  }
  CHECK(s.hotplugs("unknown") >= kMostKnown);
}

TEST_CASE("the simulation unplugs each monitor every ten minutes, and plugs it in again") {
  FakeClock clock;
  const auto simulated = SimulatedMachine::create("battlemage", clock, std::nullopt);
  REQUIRE(simulated);
  Machine machine = simulated->machine();
  RecordingLog log;
  const auto collector = make_collector(connectors_collector, machine, log);
  TestMachinePass pass(clock);
  pass.bound = Discovery(machine, {}).discover();
  REQUIRE(pass.bound.size() == 1);
  clock.advance(std::chrono::minutes(30));
  SampleSink sink;
  collector->collect(pass, sink);
  std::map<std::string, double, std::less<>> events;
  for (const auto& sample : sink.samples().samples())
    if (sample.metric->name == "intel_gpu_hotplug_events_total")
      events[std::string(sink.samples().label_value(sample, 1))] = sample.value;
  CHECK(events == std::map<std::string, double, std::less<>>{{"DP-2", 0}, {"HDMI-A-2", 6}, {"unknown", 0}});
}

TEST_CASE("bad content fails, and takes nothing else with it") {
  Scene s;
  s.output("HDMI-A-1", "conn", "1920x1080\n", 240);
  s.output("HDMI-A-2", "connected", std::string(60, '9') + "\n", 241);
  s.m.tree.write(s.folder("HDMI-A-2") + "connector_id", "-1\n");
  s.scrape();
  CHECK(s.sink.failures().size() == 3);
  CHECK(s.connected("DP-5") == 1);
  CHECK(s.connected("HDMI-A-2") == 1);
  CHECK(!s.value("intel_gpu_connector_info", {{"connector", "HDMI-A-2"}}));
}

TEST_SUITE_END();
