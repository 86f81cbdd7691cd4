// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/discovery.h"
#include "registry/gpu_unit.h"
#include "registry/kept_findings.h"
#include "registry/registry.h"
#include "registry/scrape_log.h"
#include "registry/sink_pool.h"
#include "source/client_finder.h"

namespace igpu {

// What collectors and the threads they run on need; shared, because a thread that hangs may outlive the registry.
struct Registry::Core {
  std::shared_ptr<void> keep_alive;
  Machine& machine;
  RegistryOptions options;
  const std::vector<ConfiguredCollector> collectors;
  Log& log;
  std::shared_ptr<SinkPool> sinks = std::make_shared<SinkPool>();

  std::mutex walk_mutex;
  std::unique_ptr<ClientFinder> finder;

  // Used by the thread that owns the current run; discovery_mutex guards them against one that was left behind.
  std::mutex discovery_mutex;
  Discovery discovery;
  std::vector<std::shared_ptr<GpuUnit>> units;
  bool units_changed = false;     // since known_gpus was made from them
  std::list<Slot> machine_slots;  // all of them, from the start
  std::map<std::string, DeviceMemory> memories;

  mutable std::mutex known_mutex;
  std::shared_ptr<const std::vector<Gpu>> known_gpus = std::make_shared<std::vector<Gpu>>();  // as last listed

  KeptFindings findings;
  ScrapeLog scrape_log;
  std::uint64_t pass_number = 0;
  std::atomic<Nanoseconds> accumulating_due_after{};

  Core(std::shared_ptr<void> alive, Machine& the_machine, RegistryOptions registry_options,
       std::vector<ConfiguredCollector> configured, Log& the_log)
      : keep_alive(std::move(alive)),
        machine(the_machine),
        options(std::move(registry_options)),
        collectors(std::move(configured)),
        log(the_log),
        finder(make_client_finder(the_machine)),
        discovery(the_machine, options.gpus),
        scrape_log(the_log) {
    for (const ConfiguredCollector& collector : collectors)
      if (collector.enabled && collector.entry.create_for_machine) add_slot(machine_slots, collector);
  }

  void follow_devices();
  void publish_known();
  std::shared_ptr<GpuUnit> bind(const Gpu& gpu, const GpuUnit* before);
  Slot& add_slot(std::list<Slot>& slots, const ConfiguredCollector& collector) const;
  std::unique_ptr<Collector> make_collector(const Slot& slot, GpuUnit& unit) {
    return slot.configured->entry.create(
        {machine, unit.gpu, *unit.pmu, *slot.memory, slot.configured->options, options.min_window, log});
  }
  std::unique_ptr<MachineCollector> make_machine_collector(const Slot& slot) {
    return slot.configured->entry.create_for_machine(
        {machine, slot.configured->options, options.min_window, options.workload_rules, log});
  }
};

}  // namespace igpu
