// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "collector/sampling/sampler.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::sampling;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Counts how often it was asked, which is once for each tick.
struct CountingAccess final : GpuAccess {
  PowerStatus power_status() override {
    ++ticks;
    ticks.notify_all();
    if (throws) throw std::runtime_error("no memory");
    blocked.wait(true);
    return {};
  }
  bool pmu_is_open() const override { return true; }
  Absent pmu_closed_because() const override { return {}; }
  bool gone() const override { return removed; }
  void wait_for(int count) const {
    for (int seen = ticks; seen < count; seen = ticks) ticks.wait(seen);
  }
  std::atomic<int> ticks{0};
  void release() {
    blocked = false;
    blocked.notify_all();
  }
  std::atomic<bool> removed{false};
  std::atomic<bool> throws{false};
  std::atomic<bool> blocked{false};  // a reading does not come back
};

AccessibleGpu card(std::shared_ptr<GpuAccess> access) {
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  gpu.pci_path = "devices/pci0000:00/0000:03:00.0";
  gpu.card = "card0";
  return {gpu, std::move(access)};
}

}  // namespace

TEST_SUITE_BEGIN("sampling_thread");

TEST_CASE("it ends at once, however long the interval is") {
  TestMachine m;
  const auto sampler = std::make_shared<Sampler>(m.machine(), SamplerOptions{.interval = 1h});
  for (int i = 0; i < 20; ++i) const SamplingThread thread(sampler, {.interval = 1h});
  CHECK(sampler->missed() == 0);
}

TEST_CASE("a tick that throws is reported once, and the next ones are taken") {
  TestMachine m;
  const auto sampler = std::make_shared<Sampler>(m.machine(), SamplerOptions{.interval = 1ms});
  const auto access = std::make_shared<CountingAccess>();
  access->throws = true;
  sampler->follow({card(access)});
  SamplingThread thread(sampler, {.interval = 1ms});
  access->wait_for(3);
  CHECK(thread.outcome().is_failure());
  access->throws = false;
  access->wait_for(access->ticks + 2);
  (void)thread.outcome();  // of a tick that threw meanwhile
  access->wait_for(access->ticks + 2);
  CHECK(thread.outcome());
}

TEST_CASE("a tick that does not come back is reported, and its thread is left behind") {
  TestMachine m;
  const auto access = std::make_shared<CountingAccess>();
  const auto alive = std::make_shared<int>(0);
  {
    const auto sampler = std::make_shared<Sampler>(m.machine(), SamplerOptions{.interval = 1ms});
    access->blocked = true;
    sampler->follow({card(access)});
    SamplingThread thread(sampler, {.interval = 1ms, .longest_tick = 10ms, .keep_alive = alive});
    access->wait_for(1);
    while (thread.outcome()) std::this_thread::yield();
    CHECK(thread.outcome().is_failure());
    const std::uint64_t overdue = thread.overdue();
    CHECK(overdue > 0);
    CHECK(thread.overdue() >= overdue);
  }
  CHECK(alive.use_count() == 2);  // what the thread needs lives as long as it does
  access->release();
  while (alive.use_count() > 1) std::this_thread::yield();
}

TEST_CASE("scrapes on other threads read while it ticks and GPUs come and go") {
  TestMachine m;
  const auto shared = std::make_shared<Sampler>(m.machine(), SamplerOptions{.interval = 1ms, .saturated = 0.95});
  Sampler& sampler = *shared;
  auto access = std::make_shared<CountingAccess>();
  sampler.follow({card(access)});
  std::atomic<bool> done{false};
  std::vector<std::thread> scrapes;
  {
    const SamplingThread thread(shared, {.interval = 1ms});
    for (const char* const client : {"a", "b"})
      scrapes.emplace_back([&, client] {
        while (!done) {
          sampler.take_window(client, [](const Sampler::WindowView& window) { CHECK(window.layout.engines.empty()); });
          sampler.for_each_gpu([](const Sampler::GpuView& gpu) { CHECK(gpu.layout.device == "0000:03:00.0"); });
        }
      });
    for (int binding = 0; binding < 3; ++binding) {
      access->wait_for(20);
      access->removed = true;
      auto next = std::make_shared<CountingAccess>();
      sampler.follow({card(next)});
      access = next;
    }
    access->wait_for(5);
    done = true;
    for (std::thread& scrape : scrapes) scrape.join();
  }
  std::size_t bound = 0;
  sampler.for_each_gpu([&](const Sampler::GpuView&) { ++bound; });
  CHECK(bound == 1);
}

TEST_SUITE_END();
