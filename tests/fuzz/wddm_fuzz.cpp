// SPDX-License-Identifier: Apache-2.0
// What a graphics driver of Windows may answer: scripts of the tests' own gdi32.
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "kernel/clients/wddm_clients.h"
#include "kernel/device/discovery.h"
#include "kernel/device/drm_nodes.h"
#include "support/fake_gpu_adapters.h"
#include "support/test_machine.h"

namespace {

constexpr double kMostBytes = 64.0 * (1ull << 50);

template <class T>
void check_range(const igpu::Reading<T>& reading, double most) {
  FUZZ_CHECK(!reading || (reading->value > 0 && reading->value <= most));
}

}  // namespace

FUZZ_TARGET(wddm) {
  if (size > 65536) return 0;
  static igpu::test::TestMachine machine;
  igpu::test::FakeGpuAdapters adapters({reinterpret_cast<const char*>(data), size});
  adapters.add_process(7, "a");
  adapters.add_process(8, "services.exe");
  adapters.advance(1000);
  machine.machine().adapters = &adapters;
  const auto gpus = igpu::adapter_gpus(adapters);
  FUZZ_CHECK(gpus);
  for (const igpu::Gpu& gpu : *gpus) {
    FUZZ_CHECK(igpu::is_pci_address(gpu.address) && gpu.device_id != 0);
    igpu::WddmGpu adapter(machine.machine(), gpu);
    if (const auto engines = adapter.engines()) {
      FUZZ_CHECK(!(*engines)->empty() && (*engines)->size() <= igpu::kMostWddmNodes);
      for (const igpu::WddmEngine& engine : **engines) {
        FUZZ_CHECK(!engine.name.empty());
        const auto busy = adapter.busy(engine);
        FUZZ_CHECK(!busy || busy->count() >= 0);
      }
    }
    if (const auto regions = adapter.memory()) {
      FUZZ_CHECK(!regions->empty() && regions->size() <= 2);
      for (const igpu::RegionUse& region : *regions)
        FUZZ_CHECK(region.size.value > 0 && region.size.value <= kMostBytes && region.used->value <= region.size.value);
    }
    check_range(adapter.clock().actual, 1e11);
    const igpu::WddmSensors sensors = adapter.sensors();
    check_range(sensors.temperature, 200);
    check_range(sensors.fan, 100'000);
    check_range(sensors.power, 10);
  }
  for (const igpu::Gpu& gpu : *gpus) {
    igpu::ProcessEngineTimes times(machine.machine(), gpu.binding);
    if (!times.refresh()) continue;
    adapters.advance(1000);
    machine.clock.advance(std::chrono::seconds(1));
    (void)times.refresh();
    for (std::uint32_t node = 0; node < igpu::kMostWddmNodes; ++node) FUZZ_CHECK(times.busy(node).count() >= 0);
  }
  const auto clients = igpu::WddmClients(machine.machine()).find({});
  FUZZ_CHECK(clients && clients->clients.size() <= 2 * gpus->size());
  machine.machine().adapters = nullptr;
  return 0;
}
