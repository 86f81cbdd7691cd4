// SPDX-License-Identifier: Apache-2.0
#include "run/core.h"

#include <algorithm>
#include <set>

namespace igpu {
namespace {

bool is_same_binding(const Gpu& a, const Gpu& b) {
  return a.binding == b.binding && a.address == b.address && a.card == b.card && a.render_node == b.render_node;
}

}  // namespace

// Adds units for GPUs that were bound since the last scrape, and closes the units, with all their files, of GPUs that
// are gone.
void RegistryCore::follow_devices() {
  const std::vector<Gpu>& gpus = discovery.discover();
  const bool unchanged = std::equal(gpus.begin(), gpus.end(), units.begin(), units.end(),
                                    [](const Gpu& gpu, const auto& unit) { return is_same_binding(gpu, unit->gpu); });
  if (unchanged) return;
  units_changed = true;
  std::vector<std::shared_ptr<GpuUnit>> next;
  for (const Gpu& gpu : gpus) {
    const auto same_address =
        std::ranges::find_if(units, [&](const auto& unit) { return unit->gpu.address == gpu.address; });
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
    if (std::ranges::none_of(gpus, [&](const Gpu& gpu) { return gpu.address == unit->gpu.address; }))
      scrape_log.device_gone(unit->gpu);
  }
  units = std::move(next);
}

void RegistryCore::publish_known() {
  if (!units_changed) return;
  auto known = std::make_shared<std::vector<Gpu>>();
  for (const auto& unit : units) known->push_back(unit->gpu);
  const std::lock_guard guard(known_mutex);
  known_gpus = std::move(known);
  units_changed = false;
}

std::size_t RegistryCore::device_count(const Progress& progress) const {
  if (progress.listed) return progress.units.size();
  const std::lock_guard lock(known_mutex);
  return known_gpus->size();
}

Reading<ClientSnapshot> RegistryCore::find_clients(std::span<const std::string> chosen,
                                                   std::vector<std::string> asleep) {
  Reading<ClientSnapshot> found = find_chosen_clients(chosen, asleep);
  if (!found) return found;
  const auto gpus = [&] {
    const std::lock_guard lock(known_mutex);
    return known_gpus;
  }();
  ledgers.count(*found, *gpus, asleep);
  return found;
}

Reading<ClientSnapshot> RegistryCore::find_chosen_clients(std::span<const std::string> chosen,
                                                          std::vector<std::string> asleep) {
  if (options.gpus.empty()) return finder->find(asleep);
  const auto is_chosen = [&](const std::string& address) { return std::ranges::find(chosen, address) != chosen.end(); };
  // The search must not wake the others either.
  for (const Gpu& gpu : all_gpus.discover()) {
    if (is_chosen(gpu.address)) continue;
    PowerWatch& power = other_power.try_emplace(gpu.address, machine.sys, gpu.pci_path).first->second;
    if (power.read(machine.clock.now()).power != GpuPower::awake) asleep.push_back(gpu.address);
  }
  Reading<ClientSnapshot> found = finder->find(asleep);
  if (!found) return found;
  std::set<std::uint32_t> holders;
  std::erase_if(found->clients, [&](const DrmClient& client) { return !is_chosen(client.device); });
  for (const DrmClient& client : found->clients) holders.insert(client.pid);
  std::erase_if(found->processes, [&](const ClientProcess& process) { return !holders.contains(process.pid); });
  return found;
}

void RegistryCore::report_missing(const std::vector<std::shared_ptr<GpuUnit>>& found) {
  if (options.gpus.empty() && found.empty()) return scrape_log.no_device();
  for (const std::string& name : options.gpus) {
    const bool is_here = std::ranges::any_of(found, [&](const auto& unit) { return is_named(unit->gpu, name); });
    if (scrape_log.is_first_miss(name, is_here)) scrape_log.no_such_device(name, Discovery(machine, {}).discover());
  }
}

// Only a collector that completed its reading is rescheduled; one that this run skipped, or that failed, hung or was
// late, stays due. A sleeping GPU has nothing to read.
void RegistryCore::plan_readings(const Progress& progress) {
  const Nanoseconds now = machine.clock.now();
  for (const Step& step : progress.steps) {
    if (!step.slot->reading) continue;
    const bool read =
        step.outcome == Outcome::suspended || (step.outcome == Outcome::collected && step.sink->failures().empty());
    const Nanoseconds within = step.slot->read_within;
    if (read)
      step.slot->reading->was_read(now, within);
    else
      step.slot->reading->was_missed(now, within);
  }
  Nanoseconds due = now + options.accumulator_interval;  // discovery runs at least this often, too
  const auto consider = [&due](const std::list<Slot>& slots) {
    for (const Slot& slot : slots)
      if (slot.reading) due = std::min(due, slot.reading->due());
  };
  consider(machine_slots);
  for (const auto& unit : progress.units) consider(unit->slots);
  accumulating_due_after = std::max(due - now, Nanoseconds::zero());
}

Slot& RegistryCore::add_slot(std::list<Slot>& slots, const ConfiguredCollector& collector) const {
  Slot& slot = slots.emplace_back();
  slot.configured = &collector;
  slot.info = collector.entry.info;
  if (const auto within = collector.read_within(options.accumulator_interval))
    slot.reading.emplace(machine.clock.now(), *within);
  return slot;
}

std::shared_ptr<GpuUnit> RegistryCore::bind(const Gpu& gpu, const GpuUnit* before) {
  auto unit = std::make_shared<GpuUnit>();
  unit->gpu = gpu;
  DeviceMemory& memory = memories[gpu.address];
  // A collector that still hangs on the old binding does not share its memory with the new one.
  if (before && before->busy()) memory = DeviceMemory{};
  unit->pmu_memory = memory.pmu;
  unit->power = std::make_shared<PowerWatch>(machine.sys, gpu.pci_path);
  unit->pmu = std::make_shared<PmuSession>(
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
    } catch (const std::exception&) {  // the next scrape tries again, and reports the error
    }
  }
  return unit;
}

}  // namespace igpu
