// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/wddm_clients.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernel/device/adapters.h"
#include "machine/gpu_adapters.h"

namespace igpu {
namespace {

constexpr std::uint64_t kMostClientBytes = std::uint64_t{1} << 50;
constexpr std::uint64_t kLongestTogether = std::uint64_t{1} << 63;  // whatever all nodes say together
constexpr std::uint64_t kPerTick = 100'000;                         // of ClientProcess::start_time_ticks, in 100 ns

// nullopt: it does not use this GPU.
template <class Device>
std::optional<DrmClient> wddm_client(const Device& device, const AdapterProcess& process, Nanoseconds now) {
  DrmClient client;
  bool uses = false;
  for (const WddmEngine& engine : device.engines) {
    if (!engine.engine_class) continue;
    const auto busy = wddm_time(device.adapter->running(process, engine.node));
    if (!busy) continue;
    ClientEngine& sum = client.engines[static_cast<std::size_t>(*engine.engine_class)];
    sum.capacity = sum.busy_ns ? sum.capacity + 1 : 1;
    sum.busy_ns = std::min(sum.busy_ns.value_or(0), kLongestTogether) + static_cast<std::uint64_t>(busy->count());
    uses = uses || busy->count() > 0;
  }
  for (const WddmSegment& segment : device.segments) {
    if (!segment.aperture && device.kind == GpuKind::integrated) continue;
    const auto bytes = device.adapter->committed(process, segment.number);
    if (!bytes || *bytes > kMostClientBytes) continue;
    const char* const region = segment.aperture ? "system" : "vram0";
    auto at = std::ranges::find(client.memory, region, &ClientMemory::region);
    if (at == client.memory.end()) at = client.memory.insert(at, ClientMemory{.region = region});
    at->total = at->total.value_or(0) + *bytes;
    uses = uses || *bytes > 0;
  }
  if (!uses) return std::nullopt;
  client.device = device.address;
  client.driver = Driver::wddm;
  client.id = (process.started << 20) ^ process.pid;  // a number that Windows gives again has another start
  client.pid = process.pid;
  client.time = now;
  return client;
}

}  // namespace

Reading<Unit> WddmClients::find_devices() {
  const auto gpus = adapter_gpus(*machine_.adapters);
  if (!gpus) return gpus.propagate<Unit>();
  std::vector<Device> devices;
  for (const Gpu& gpu : *gpus) {
    const auto known = std::ranges::find(devices_, gpu.binding, &Device::binding);
    if (known != devices_.end() && known->address == gpu.address) {
      devices.push_back(std::move(*known));
      continue;
    }
    Device device{gpu.address, gpu.kind, machine_.adapters->open(gpu.binding), {}, {}, gpu.binding};
    if (!device.adapter) continue;
    auto engines = wddm_engines(*device.adapter);
    auto segments = wddm_segments(*device.adapter);
    if (engines.is_failure() || segments.is_failure()) continue;  // asked again at the next scan
    device.engines = std::move(engines).value_or({});
    device.segments = std::move(segments).value_or({});
    devices.push_back(std::move(device));
  }
  devices_ = std::move(devices);
  return Unit{};
}

Reading<ClientSnapshot> WddmClients::find(std::span<const std::string> asleep) {
  ClientSnapshot snapshot;
  snapshot.way = "d3dkmt";
  snapshot.time = machine_.clock.now();
  const Nanoseconds deadline = snapshot.time + machine_.client_scan_limit;
  if (const auto found = find_devices(); !found) return found.propagate<ClientSnapshot>();
  const auto all = machine_.adapters->processes();
  if (!all) return all.propagate<ClientSnapshot>();
  snapshot.boot_ticks = all->now / kPerTick;
  for (const AdapterProcess& process : all->processes) {
    snapshot.pids.push_back(process.pid);
    if (process.pid == all->self) continue;
    ++snapshot.processes_seen;
    if (!process.handle) {
      ++snapshot.processes_denied;
      continue;
    }
    const Nanoseconds now = machine_.clock.now();
    if (now > deadline) {
      snapshot.complete = false;
      continue;
    }
    bool is_user = false;
    for (const Device& device : devices_) {
      if (std::ranges::find(asleep, device.address) != asleep.end()) continue;
      auto client = wddm_client(device, process, now);
      if (!client) continue;
      snapshot.clients.push_back(*std::move(client));
      is_user = true;
    }
    if (!is_user) continue;
    ClientProcess& user = snapshot.processes.emplace_back();
    user.pid = process.pid;
    user.start_time_ticks = process.started / kPerTick;
    user.comm = process.name;
    if (process.cpu) user.cpu = to_seconds(*process.cpu);
    if (process.resident) user.resident = Bytes{static_cast<double>(*process.resident)};
  }
  std::ranges::sort(snapshot.pids);
  std::ranges::sort(snapshot.processes, {}, &ClientProcess::pid);
  std::ranges::sort(snapshot.clients, [](const DrmClient& a, const DrmClient& b) {
    return std::tie(a.device, a.pid, a.id) < std::tie(b.device, b.pid, b.id);
  });
  snapshot.duration = machine_.clock.now() - snapshot.time;
  return snapshot;
}

}  // namespace igpu
