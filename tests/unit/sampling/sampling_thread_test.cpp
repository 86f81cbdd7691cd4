// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampling_thread.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::sampling;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Counts how often it was asked, which is once for each tick.
struct CountingAccess final : GpuAccess {
  GpuPower power(Nanoseconds) override {
    ++ticks;
    ticks.notify_all();
    return GpuPower::awake;
  }
  bool pmu_is_open() const override { return true; }
  bool gone() const override { return removed; }
  void wait_for(int count) const {
    for (int seen = ticks; seen < count; seen = ticks) ticks.wait(seen);
  }
  std::atomic<int> ticks{0};
  std::atomic<bool> removed{false};
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
  Sampler sampler(m.machine(), {.interval = 1h});
  for (int i = 0; i < 20; ++i) const SamplingThread thread(sampler, 1h);
  CHECK(sampler.missed() == 0);
}

TEST_CASE("scrapes on other threads read while it ticks and GPUs come and go") {
  TestMachine m;
  Sampler sampler(m.machine(), {.interval = 1ms, .saturated = 0.95, .history = 10ms});
  auto access = std::make_shared<CountingAccess>();
  sampler.follow({card(access)});
  std::atomic<bool> done{false};
  std::vector<std::thread> scrapes;
  {
    const SamplingThread thread(sampler, 1ms);
    for (const char* const client : {"a", "b"})
      scrapes.emplace_back([&, client] {
        while (!done) {
          sampler.take_window(client, [](const Sampler::WindowView& window) { CHECK(window.layout.engines.empty()); });
          sampler.for_each_gpu([](const Sampler::GpuView& gpu) { CHECK(gpu.layout.device == "0000:03:00.0"); });
          sampler.for_last(1s, [](const FrameLayout&, const SampleFrame&) {});
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
