// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/wddm_clients.h"

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "base/scan.h"
#include "kernel/device/discovery.h"
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

// A process uses an engine for as long as time passes, but a long job is counted when it ends.
constexpr GainBound kBound{.per_second = 1e7, .at_once = 1e7};

// Takes "prefix123_" off the front of rest; base 16: "prefix0x7B_".
template <class Integer>
std::optional<Integer> take_number(std::string_view& rest, std::string_view prefix, int base = 10) {
  if (!rest.starts_with(prefix)) return std::nullopt;
  rest.remove_prefix(prefix.size());
  const std::string_view digits = take_until(rest, '_');
  if (digits.empty() || is_blank(digits.front()) || is_blank(digits.back()) || digits.back() == '\0')
    return std::nullopt;
  return scan_integer<Integer>(digits, base);
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

std::optional<EngineCounterName> parse_engine_counter_name(std::string_view name) {
  const auto pid = take_number<std::uint32_t>(name, "pid_");
  const auto high = take_number<std::uint32_t>(name, "luid_", 16);
  const auto low = take_number<std::uint32_t>(name, "", 16);
  const auto adapter = take_number<std::uint32_t>(name, "phys_");
  const auto node = take_number<std::uint32_t>(name, "eng_");
  if (!pid || !high || !low || !adapter || !node || !name.starts_with("engtype_")) return std::nullopt;
  return EngineCounterName{*pid, static_cast<std::uint64_t>(*high) << 32 | *low, *adapter, *node};
}

Reading<Unit> ProcessEngineTimes::refresh() {
  EngineCounters* const source = machine_.adapters == nullptr ? nullptr : machine_.adapters->engine_counters();
  if (source == nullptr) return Absent{Reason::kernel, ENOSYS};
  const Nanoseconds begin = machine_.clock.now();
  const auto counters = source->read();
  if (!counters) return counters.propagate<Unit>();
  const Nanoseconds end = machine_.clock.now();
  refused_ = 0;
  std::map<Key, std::uint64_t> now;
  bool any_name = counters->empty();
  for (const EngineCounter& counter : *counters) {
    const auto name = parse_engine_counter_name(counter.instance);
    any_name = any_name || name;
    // The nodes that the adapter describes are those of the first one that is linked.
    if (!name || name->luid != luid_ || name->adapter != 0) continue;
    if (name->node >= kMostWddmNodes || !wddm_time(Reading<std::int64_t>(counter.running))) {
      ++refused_;
      continue;
    }
    now[{name->pid, name->node}] += static_cast<std::uint64_t>(counter.running);
  }
  if (!any_name)
    return Failure{std::make_error_code(std::errc::invalid_argument),
                   "performance counter GPU Engine: names of its instances"};
  // Before the first one nobody knows whether this GPU has any.
  if (!last_ && now.empty()) return Absent{Reason::kernel, ENODATA};
  std::map<Key, MonotonicCounter> known;
  for (const auto& [key, running] : now) {
    const auto before = known_.find(key);
    if (before != known_.end()) {
      MonotonicCounter& counter = known.emplace(key, before->second).first->second;
      const std::uint64_t total = counter.total();
      (void)counter.advance_bounded(running, 0, kBound, begin, end);
      totals_[key.second] += counter.total() - total;
      continue;
    }
    (void)known[key].advance_bounded(running, 0, kBound, begin, end);
    // It has begun since the last reading, unless it has more time than fits since then.
    const bool is_new = last_ && static_cast<double>(running) <= kBound.most(end - *last_);
    totals_[key.second] += is_new ? running : 0;
  }
  known_ = std::move(known);
  last_ = begin;
  return Unit{};
}

Nanoseconds ProcessEngineTimes::busy(std::uint32_t node) const {
  const auto at = totals_.find(node);
  return at == totals_.end() ? Nanoseconds::zero() : Nanoseconds(static_cast<std::int64_t>(at->second) * 100);
}

}  // namespace igpu
