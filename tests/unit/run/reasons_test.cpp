// SPDX-License-Identifier: Apache-2.0
// Every feature on every driver, kind of GPU and age of kernel: the reason it is absent for, and what `doctor` says
// then.
#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/collector.h"
#include "run/findings.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr Driver i915 = Driver::i915, xe = Driver::xe;
constexpr GpuKind integrated = GpuKind::integrated, discrete = GpuKind::discrete;
constexpr Reason kernel = Reason::kernel, hardware = Reason::hardware;

struct Subject {
  TestMachine m;
  Gpu gpu;

  Subject(Driver driver, GpuKind kind) {
    const bool card = kind == discrete;
    gpu.address = card ? "0000:03:00.0" : "0000:00:02.0";
    gpu.pci_path = "devices/pci0000:00/" + std::string(card ? "0000:00:01.0/" : "") + gpu.address;
    gpu.card = "card0";
    gpu.render_node = "renderD128";
    gpu.driver = driver;
    gpu.kind = kind;
    gpu.device_id = 0x56a5;  // an Arc A380, where it is a card
    m.tree.write("sys/" + gpu.pci_path + "/vendor", "0x8086\n");
  }
  void write(const std::string& file, const std::string& text) {
    m.tree.write("sys/" + gpu.pci_path + "/" + file, text);
  }
  void write_hwmon(std::initializer_list<const char*> files) {
    write("hwmon/hwmon1/name", std::string(to_string(gpu.driver)) + "\n");
    for (const char* file : files) write(std::string("hwmon/hwmon1/") + file, "40000\n");
  }

  struct Answer {
    bool available;
    Reason reason;
    Advice advice;
  };
  // Of all collectors, with one visible client whose fdinfo has nothing but its name.
  std::map<std::string_view, Answer> features() {
    std::map<std::string_view, Answer> all;
    CounterMemory pmu_memory;
    PmuSession pmu(m.machine(), pmu_memory,
                   gpu_pmu_name(m.machine().sys, to_string(gpu.driver), gpu.address, stands_for_package(gpu)));
    for (const CollectorEntry& entry : all_collectors()) {
      if (!entry.create) continue;  // of the machine
      CounterMemory memory;
      const OptionValues options(entry.info->options, {});
      const auto collector = entry.create({m.machine(), gpu, pmu, memory, options, std::chrono::seconds(1), m.log});
      SampleSink out;
      TestPass pass(m.clock, 1);
      DrmClient client;
      client.device = gpu.address;
      client.driver = gpu.driver;
      client.id = 1;
      client.pid = 77;
      pass.snapshot->clients.push_back(std::move(client));
      collector->collect(pass, out);
      for (const auto& state : out.features())
        all[state.feature->name] = {state.available, state.absent.reason,
                                    advise(*state.feature, state.absent, {}, &gpu)};
    }
    return all;
  }
};

struct Expected {
  std::string_view feature;
  std::optional<Reason> reason;  // nullopt: available
  std::string_view hint = {};    // in the hint; "": nothing can be done, so there is no hint
};

// What every absence must be, also that of a feature without a row in these tables.
void check_words(const Subject& subject, const Advice& advice) {
  CHECK_FALSE(advice.cause.empty());
  // No hint names another driver's version.
  CHECK(advice.cause.find(subject.gpu.driver == i915 ? "xe" : "i915") == std::string::npos);
}

void check(Subject& subject, const std::vector<Expected>& expected) {
  const auto features = subject.features();
  for (const auto& feature : features) {
    const std::string_view name = feature.first;
    const auto& answer = feature.second;
    INFO(name << ": " << answer.advice.cause << " / " << answer.advice.hint);
    if (!answer.available) check_words(subject, answer.advice);
  }
  for (const Expected& e : expected) {
    INFO(e.feature);
    REQUIRE(features.count(e.feature) == 1);
    const auto& answer = features.at(e.feature);
    INFO(answer.advice.cause << " / " << answer.advice.hint);
    CHECK(answer.available == !e.reason);
    if (answer.available || !e.reason) continue;
    CHECK(to_string(answer.reason) == to_string(*e.reason));
    CHECK(answer.advice.hint.empty() == e.hint.empty());
    CHECK(answer.advice.hint.find(e.hint) != std::string::npos);
  }
}

}  // namespace

TEST_SUITE_BEGIN("reasons");

TEST_CASE("i915, integrated, on a kernel and a machine that offer nothing") {
  Subject s(i915, integrated);
  check(s, {{"engine_busy", kernel, "4.16"},
            {"engine_wait_sema", kernel, "4.16"},
            {"interrupts", kernel, "4.16"},
            {"frequency", kernel, "Linux 5.19"},
            {"frequency_average", kernel, "4.16"},
            {"throttle_reasons", kernel, "5.19 or newer, on GPUs of Gen11"},
            {"rc6", kernel, "4.16"},
            {"awake_time", kernel, "5.15"},
            {"power", kernel, "modules rapl"},
            {"temperature", kernel, "module coretemp"},
            {"fan", hardware, ""},
            {"voltage", hardware, ""},
            {"power_limits", hardware, ""},
            {"memory_size", Reason::permission, "/dev/dri in the container"},
            {"memory_used", Reason::permission, "/dev/dri in the container"},
            {"pcie_link", hardware, ""},
            {"memory_bandwidth", kernel, "module intel_uncore"},
            {"process_engine_time", kernel, "5.19"},
            {"process_memory", kernel, "6.8"},
            {"error_state", kernel, "CONFIG_DRM_I915_CAPTURE_ERROR"}});
}

TEST_CASE("i915, a card, on a kernel before 6.2") {
  Subject s(i915, discrete);
  check(s, {{"engine_busy", kernel, "4.16"},
            {"engine_wait_sema", kernel, "4.16"},
            {"interrupts", kernel, "4.16"},
            {"frequency", kernel, "Linux 5.19"},
            {"frequency_average", kernel, "4.16"},
            {"throttle_reasons", kernel, "5.19"},
            {"rc6", kernel, "4.16"},
            {"awake_time", kernel, "5.15"},
            {"power", kernel, "Linux 6.2"},
            {"temperature", kernel, "Linux 6.14"},
            {"fan", kernel, "Linux 6.12"},
            {"voltage", kernel, "Linux 6.2"},
            {"power_limits", kernel, "Linux 6.2"},
            {"memory_size", Reason::permission, "/dev/dri in the container"},
            {"memory_used", Reason::permission, "/dev/dri in the container"},
            {"pcie_link", kernel, "on the host"},
            {"memory_bandwidth", hardware, ""},
            {"process_engine_time", kernel, "6.5"},
            {"process_memory", kernel, "6.8"},
            {"error_state", kernel, "CONFIG_DRM_I915_CAPTURE_ERROR"}});
}

TEST_CASE("xe, integrated, on a kernel and a machine that offer nothing") {
  Subject s(xe, integrated);
  check(s, {{"engine_busy", kernel, "6.17"},
            {"engine_wait_sema", kernel, ""},
            {"interrupts", kernel, ""},
            {"frequency", kernel, "6.8"},
            {"frequency_average", kernel, ""},
            {"throttle_reasons", kernel, "6.8"},
            {"rc6", kernel, "6.8"},
            {"awake_time", kernel, ""},
            {"power", kernel, "modules rapl"},
            {"temperature", kernel, "module coretemp"},
            {"fan", hardware, ""},
            {"voltage", hardware, ""},
            {"power_limits", hardware, ""},
            {"memory_size", Reason::permission, "/dev/dri in the container"},
            {"memory_used", Reason::permission, "/dev/dri in the container"},
            {"pcie_link", hardware, ""},
            {"memory_bandwidth", kernel, "module intel_uncore"},
            {"process_engine_time", kernel, "6.11"},
            {"process_memory", kernel, "6.8"}});
}

namespace {

const std::vector<Expected> kOldXeCard{{"engine_busy", kernel, "6.17"},
                                       {"engine_wait_sema", kernel, ""},
                                       {"interrupts", kernel, ""},
                                       {"frequency", kernel, "6.8"},
                                       {"frequency_average", kernel, ""},
                                       {"throttle_reasons", kernel, "6.8"},
                                       {"rc6", kernel, "6.8"},
                                       {"awake_time", kernel, ""},
                                       {"power", kernel, "6.8"},
                                       {"temperature", kernel, "6.17"},
                                       {"fan", kernel, "6.17"},
                                       {"voltage", kernel, "6.8"},
                                       {"power_limits", kernel, "6.8"},
                                       {"memory_size", Reason::permission, "/dev/dri in the container"},
                                       {"memory_used", Reason::permission, "/dev/dri in the container"},
                                       {"pcie_link", kernel, "on the host"},
                                       {"memory_bandwidth", hardware, ""},
                                       {"process_engine_time", kernel, "6.11"},
                                       {"process_memory", kernel, "6.8"}};

std::vector<Expected> but(std::vector<Expected> table, std::initializer_list<Expected> others) {
  for (const Expected& other : others) *std::ranges::find(table, other.feature, &Expected::feature) = other;
  return table;
}

std::vector<Expected> with(std::vector<Expected> table, std::initializer_list<std::string_view> available) {
  for (const std::string_view feature : available) table = but(std::move(table), {{feature, std::nullopt}});
  return table;
}

}  // namespace

TEST_CASE("xe, a card, on a kernel that offers nothing") {
  Subject s(xe, discrete);
  check(s, kOldXeCard);
}

TEST_CASE(
    "an Arc A380 under xe of Linux 6.12: energy, but neither temperature nor fan yet: the kernel lacks them, not the "
    "card") {
  Subject s(xe, discrete);
  s.write_hwmon({"energy2_input", "power2_max", "in1_input"});
  check(s, with(kOldXeCard, {"power", "voltage", "power_limits"}));
}

TEST_CASE("an Arc A380 under i915 of Linux 6.12: a fan, but no temperature yet") {
  Subject s(i915, discrete);
  s.write_hwmon({"energy1_input", "power1_max", "in0_input", "fan1_input"});
  const auto features = s.features();
  CHECK(features.at("fan").available);
  CHECK(features.at("temperature").reason == kernel);
  CHECK(features.at("temperature").advice.hint.find("6.14") != std::string::npos);
}

TEST_CASE("a card under a kernel with all of hwmon: what is missing the card does not have") {
  Subject s(xe, discrete);
  s.write_hwmon({"energy1_input", "power1_max", "temp2_input"});
  auto table = with(kOldXeCard, {"power", "power_limits", "temperature"});
  check(s, but(table, {{"fan", hardware, ""}, {"voltage", hardware, ""}}));
}

TEST_CASE("coretemp without the package's sensor: the processor has none") {
  Subject s(i915, integrated);
  s.m.tree.write("sys/class/hwmon/hwmon3/name", "coretemp\n");
  CHECK(s.features().at("temperature").reason == hardware);
}

TEST_CASE("firmware too old for the xe events is not blamed on the kernel") {
  Subject s(xe, discrete);
  s.m.tree.write("sys/bus/event_source/devices/xe_0000_03_00.0/type", "21\n");
  s.m.tree.write("sys/bus/event_source/devices/xe_0000_03_00.0/events/gt-c6-residency", "event=0x01\n");
  check(s, but(kOldXeCard, {{"engine_busy", kernel, "firmware"}}));
}

TEST_CASE(
    "a virtual function has what the driver shows of it; the rest is the host's, whether its GT folder exists or not") {
  for (const Driver driver : {i915, xe}) {
    for (const GpuKind kind : {integrated, discrete}) {
      for (const bool gt_folder : {true, false}) {
        INFO(to_string(driver) << " " << to_string(kind) << (gt_folder ? " with" : " without") << " GT folder");
        Subject s(driver, kind);
        s.gpu.virtual_function = true;
        if (gt_folder) s.write(driver == xe ? "tile0/gt0/engines/name" : "drm/card0/gt/gt0/id", "0\n");
        const auto features = s.features();
        for (const char* name :
             {"engine_busy", "engine_wait_sema", "interrupts", "frequency", "frequency_average", "throttle_reasons",
              "rc6", "awake_time", "power", "temperature", "fan", "voltage", "power_limits", "memory_bandwidth"}) {
          INFO(name);
          REQUIRE(features.count(name) == 1);
          CHECK_FALSE(features.at(name).available);
          CHECK(to_string(features.at(name).reason) == to_string(hardware));
          CHECK(features.at(name).advice.hint.empty());
          CHECK(features.at(name).advice.cause.find("virtual function") != std::string::npos);
        }
        CHECK(features.at("process_engine_time").reason == (driver == xe ? hardware : kernel));
        CHECK(features.at("process_memory").reason == kernel);
      }
    }
  }
}

TEST_SUITE_END();
