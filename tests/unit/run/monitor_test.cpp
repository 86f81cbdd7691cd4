// SPDX-License-Identifier: Apache-2.0
#include "igpu/monitor.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machine/device_users.h"
#include "run/machine_parts.h"
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

// The kernel's reports, on demand.
class Reports final : public DeviceUsers, public ChangeSignal {
 public:
  Reading<std::vector<std::uint32_t>> list() override {
    ++listings;
    return std::vector<std::uint32_t>{};
  }
  bool reports_changes() const override { return true; }
  ChangeSignal* change_signal() override { return this; }
  Changes changes() override { return {{}, true}; }
  bool wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reported_ || interrupted_; });
    return std::exchange(reported_, false) && !interrupted_;
  }
  void interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
  }
  void report() {
    const std::lock_guard lock(mutex_);
    reported_ = true;
    changed_.notify_all();
  }
  std::atomic<int> listings{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reported_ = false, interrupted_ = false;
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

TEST_CASE("a process that gets a client is scanned without a scrape, several times, if somebody counts what ended") {
  Reports reports;
  const auto parts = std::make_shared<Parts>("a380-i915");
  parts->whole.drm_users = &reports;
  RecordingLog log;
  MonitorOptions options;
  options.min_window = 1ms;
  SUBCASE("workloads") { options.collectors["workloads"] = true; }
  SUBCASE("nobody") {}
  const bool counts = options.collectors.contains("workloads");
  const auto monitor = make_monitor(parts, options, log);
  const int before = reports.listings;
  reports.report();
  const auto deadline = std::chrono::steady_clock::now() + (counts ? Nanoseconds(60s) : Nanoseconds(500ms));
  while (reports.listings < before + 3 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
  CHECK((reports.listings >= before + 3) == counts);
}

TEST_SUITE_END();
