// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/clients/client_ledger.h"
#include "kernel/clients/clients.h"
#include "kernel/device/discovery.h"
#include "metric/sample_sink.h"
#include "run/findings.h"
#include "run/gpu_unit.h"
#include "run/registry.h"

namespace igpu {

// The result of a step.
enum class Outcome { pending, collected, suspended, left_behind, late };

// One collector of one GPU, or of the machine, in one run.
struct Step {
  std::shared_ptr<GpuUnit> unit;  // null: a collector of the machine
  Slot* slot;
  PowerReading power;
  std::shared_ptr<SampleSink> sink;
  Outcome outcome = Outcome::pending;
  Nanoseconds duration{};
  bool walked = false;  // the collector asked for the clients

  std::string device() const { return unit ? unit->gpu.address : std::string(); }
};

struct WalkFacts {
  Nanoseconds duration{};
  bool complete = false;
  std::size_t blocks_skipped = 0;
  std::string_view way;
  std::optional<Nanoseconds> age;  // of the oldest process scan that was used
};

// State of a run in progress.
struct Progress {
  bool listed = false;  // the GPUs have been listed
  std::vector<Step> steps;
  std::vector<std::shared_ptr<GpuUnit>> units;
  std::optional<Failure> discovery_failed;
  std::optional<WalkFacts> walk;
  // Samples that differ by client, and the collector that provides them; null if there are none.
  std::shared_ptr<ClientSamples> by_client;
  const CollectorInfo* by_client_of = nullptr;
};

// Reuses the memory of sinks: a sink returns to the pool when its page is released. Any thread.
class SinkPool : public std::enable_shared_from_this<SinkPool> {
 public:
  std::shared_ptr<SampleSink> empty_sink() {
    std::unique_ptr<SampleSink> sink;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        sink = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!sink) sink = std::make_unique<SampleSink>();
    return {sink.release(),
            [pool = shared_from_this()](SampleSink* used) { pool->give_back(std::unique_ptr<SampleSink>(used)); }};
  }

 private:
  void give_back(std::unique_ptr<SampleSink> sink) {
    sink->clear();
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(sink));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<SampleSink>> free_;
};

// The state that collectors and their threads need. It is shared, because a thread that hangs may outlive the registry.
struct RegistryCore {
  std::shared_ptr<void> keep_alive;
  Machine& machine;
  RegistryOptions options;
  const std::vector<ConfiguredCollector> collectors;
  Log& log;
  std::shared_ptr<SinkPool> sinks = std::make_shared<SinkPool>();

  // The search for clients; walk_mutex guards the members from finder to other_power.
  std::mutex walk_mutex;
  std::unique_ptr<ClientFinder> finder;
  ClientLedgers ledgers;
  Discovery all_gpus;                             // used if the options choose some GPUs
  std::map<std::string, PowerWatch> other_power;  // of GPUs that are not chosen, by address

  // Used by the thread that owns the current run; discovery_mutex guards them against a thread that was left behind.
  std::mutex discovery_mutex;
  Discovery discovery;
  std::vector<std::shared_ptr<GpuUnit>> units;
  bool units_changed = false;     // since the last publish_known()
  std::list<Slot> machine_slots;  // one for each enabled collector of the machine
  std::map<std::string, DeviceMemory> memories;

  mutable std::mutex known_mutex;
  std::shared_ptr<const std::vector<Gpu>> known_gpus = std::make_shared<std::vector<Gpu>>();  // as last listed

  FactBoard::Waiting waiting_facts;

  KeptFindings findings;
  ScrapeLog scrape_log;
  std::uint64_t pass_number = 0;
  std::atomic<Nanoseconds> accumulating_due_after{};

  RegistryCore(std::shared_ptr<void> alive, Machine& the_machine, RegistryOptions registry_options,
               std::vector<ConfiguredCollector> configured, Log& the_log)
      : keep_alive(std::move(alive)),
        machine(the_machine),
        options(std::move(registry_options)),
        collectors(std::move(configured)),
        log(the_log),
        finder(make_client_finder(the_machine)),
        all_gpus(the_machine, {}),
        discovery(the_machine, options.gpus),
        scrape_log(the_log, the_machine.adapters != nullptr) {
    findings.read_release(the_machine);
    for (const ConfiguredCollector& collector : collectors)
      if (collector.enabled && collector.entry.create_for_machine) start(add_slot(machine_slots, collector));
  }

  // Creates the collector now, so that one that counts events misses none before the first run. If its constructor
  // throws, the first run tries again and reports the error.
  void start(Slot& slot) {
    try {
      slot.machine_collector = make_machine_collector(slot);
    } catch (const std::exception&) {
      slot.machine_collector.reset();
    }
  }

  void follow_devices();
  void publish_known();
  // The number of GPUs in the list of this run or, if the run has none, in the last one.
  std::size_t device_count(const Progress& progress) const;
  // The clients of the chosen GPUs with what they have counted, and the processes that hold them.
  Reading<ClientSnapshot> find_clients(std::span<const std::string> chosen, std::vector<std::string> asleep);
  Reading<ClientSnapshot> find_chosen_clients(std::span<const std::string> chosen, std::vector<std::string> asleep);
  // Logs each name of the choice that no GPU has.
  void report_missing(const std::vector<std::shared_ptr<GpuUnit>>& found);
  std::shared_ptr<GpuUnit> bind(const Gpu& gpu, const GpuUnit* before);
  // Called after a run: plans the next reading of each counter that advances only when read.
  void plan_readings(const Progress& progress);
  Slot& add_slot(std::list<Slot>& slots, const ConfiguredCollector& collector) const;
  std::unique_ptr<Collector> make_collector(const Slot& slot, GpuUnit& unit) {
    return slot.configured->entry.create(
        {machine, unit.gpu, *unit.pmu, *slot.memory, slot.configured->options, options.min_window, log});
  }
  std::unique_ptr<MachineCollector> make_machine_collector(const Slot& slot) {
    return slot.configured->entry.create_for_machine({machine, slot.configured->options, options.min_window,
                                                      options.workload_rules, log, options.collector_timeout,
                                                      keep_alive, options.flights, options.gpus});
  }
};

}  // namespace igpu
