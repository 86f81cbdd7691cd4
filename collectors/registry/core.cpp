// SPDX-License-Identifier: Apache-2.0
#include "registry/core.h"

#include <algorithm>
#include <exception>

namespace igpu {
namespace {

bool is_same_binding(const Gpu& a, const Gpu& b) {
  return a.binding == b.binding && a.address == b.address && a.card == b.card && a.render_node == b.render_node;
}

}  // namespace

// Makes units for GPUs that were bound since the last scrape and closes those that are gone, with all their files.
void Registry::Core::follow_devices() {
  const std::vector<Gpu>& gpus = discovery.discover();
  const bool unchanged = std::equal(gpus.begin(), gpus.end(), units.begin(), units.end(),
                                    [](const Gpu& gpu, const auto& unit) { return is_same_binding(gpu, unit->gpu); });
  if (unchanged) return;
  units_changed = true;
  std::vector<std::shared_ptr<GpuUnit>> next;
  for (const Gpu& gpu : gpus) {
    const auto same_address =
        std::find_if(units.begin(), units.end(), [&](const auto& unit) { return unit->gpu.address == gpu.address; });
    const bool known = same_address != units.end();
    if (known && is_same_binding((*same_address)->gpu, gpu)) {
      next.push_back(*same_address);
      continue;
    }
    scrape_log.device_found(gpu);
    // The old unit's files are closed before the new ones are opened.
    const std::shared_ptr<GpuUnit> before = known ? *same_address : nullptr;
    if (known) units.erase(same_address);
    next.push_back(bind(gpu, before.get()));
  }
  for (const auto& unit : units) {
    if (std::none_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.address == unit->gpu.address; }))
      scrape_log.device_gone(unit->gpu);
  }
  units = std::move(next);
}

void Registry::Core::publish_known() {
  if (!units_changed) return;
  auto known = std::make_shared<std::vector<Gpu>>();
  for (const auto& unit : units) known->push_back(unit->gpu);
  const std::lock_guard guard(known_mutex);
  known_gpus = std::move(known);
  units_changed = false;
}

Slot& Registry::Core::add_slot(std::list<Slot>& slots, const ConfiguredCollector& collector) const {
  Slot& slot = slots.emplace_back();
  slot.configured = &collector;
  slot.info = collector.entry.info;
  if (const auto within = collector.read_within(options.accumulator_interval))
    slot.reading.emplace(machine.clock.now(), *within);
  return slot;
}

std::shared_ptr<GpuUnit> Registry::Core::bind(const Gpu& gpu, const GpuUnit* before) {
  auto unit = std::make_shared<GpuUnit>();
  unit->gpu = gpu;
  DeviceMemory& memory = memories[gpu.address];
  // A collector that still hangs on the old binding does not share its memory with the new one.
  if (before && before->busy()) memory = DeviceMemory{};
  unit->pmu_memory = memory.pmu;
  unit->runtime_pm = std::make_unique<RuntimePm>(machine.sys, gpu.pci_path);
  unit->pmu = std::make_unique<PmuSession>(
      machine, *unit->pmu_memory,
      gpu_pmu_name(machine.sys, to_string(gpu.driver), gpu.address, stands_for_package(gpu)));
  for (const ConfiguredCollector& collector : collectors) {
    if (!collector.enabled || !collector.entry.create) continue;
    auto& counters = memory.collectors[collector.entry.info->name];
    if (!counters) counters = std::make_shared<CounterMemory>();
    Slot& slot = add_slot(unit->slots, collector);
    slot.memory = counters;
    try {
      slot.collector = make_collector(slot, *unit);
    } catch (const std::exception&) {  // tried again when it is to collect, and reported there
    }
  }
  return unit;
}

}  // namespace igpu
