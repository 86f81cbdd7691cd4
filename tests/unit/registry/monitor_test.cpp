// SPDX-License-Identifier: Apache-2.0
#include "igpu/monitor.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "monitor/machine_parts.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("monitor");

using namespace igpu;
using namespace std::chrono_literals;
using igpu::test::RecordingLog;
using igpu::test::TestMachine;

namespace {

// A captured machine whose time passes.
struct Parts final : MachineParts {
  explicit Parts(const std::string& captured)
      : m(captured), clock(system_clock()), whole{m.sys, m.machine().proc, m.machine().dev, m.perf,
                                                  m.drm, *clock,           m.privileges,    m.names} {}
  Machine& machine() override { return whole; }
  TestMachine m;
  std::unique_ptr<Clock> clock;
  Machine whole;
};

bool says(const RecordingLog& log, std::string_view text) {
  for (const auto& line : log.lines())
    if (line.text.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("scrapes without the accumulators, and lists of GPUs, do not postpone reading them") {
  const auto parts = std::make_shared<Parts>("a380-i915");
  RecordingLog log;
  MonitorOptions options;
  options.min_window = 1ms;
  options.accumulator_interval = 500ms;
  const auto monitor = make_monitor(parts, options, log);
  // Signals each read.
  parts->m.tree.write("sys/" + monitor->gpus().front().pci_path + "/hwmon/hwmon1/energy1_input", "no number\n");
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!says(log, "energy1_input") && std::chrono::steady_clock::now() < deadline) {
    (void)monitor->scrape({.collectors = CollectorSet::only({"fdinfo"})});
    (void)monitor->gpus();
    std::this_thread::sleep_for(5ms);
  }
  CHECK(says(log, "energy1_input"));
}

TEST_SUITE_END();
