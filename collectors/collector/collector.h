// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/monotonic_counter.h"
#include "base/option.h"
#include "collector/facts.h"
#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/log.h"
#include "igpu/metric.h"
#include "igpu/options.h"
#include "igpu/workload_rules.h"
#include "kernel/clients/clients.h"
#include "kernel/clients/gpu_access.h"
#include "kernel/pmu/pmu_session.h"
#include "machine/machine.h"
#include "machine/slow_reads.h"
#include "metric/sample_sink.h"

// The interface of a collector, its input and its output. Most collectors read a GPU: one instance per collector and
// GPU, which the registry creates when the GPU is bound and destroys when the GPU disappears. A MachineCollector reads
// the whole machine: one instance, whatever GPUs there are. The registry calls collect() at each scrape, never on two
// threads at once. A collector uses only the clock and paths it is given, and no globals.
namespace igpu {

// What a collector reads that can be opened only before privileges are dropped (run/machine_parts.h).
enum class EarlyPart {
  fault_channels,               // uevents of drivers, the kernel's log, and faults of queues if job_counters are opened
  job_counters,                 // BPF programs at the tracepoints of jobs
  job_counters_of_all_classes,  // those that are opened count by engine class, too
  output_uevents,
};

// A list of CollectorInfo: kListOf<MetricDescriptor, kBusy, kBusyRatio>.
template <class Descriptor, const auto&... Of>
inline constexpr std::array<const Descriptor*, sizeof...(Of)> kListOf{&Of...};

// The static description of a collector; exists before any instance.
struct CollectorInfo {
  std::string_view name;  // also in its flags; identity has no flag, because it is always on
  std::string_view help;
  bool enabled_by_default = true;
  bool for_commands = false;  // stats and capture run it although it is off by default
  bool in_snapshots = true;   // igpu::Gpu runs it if it is on by default
  bool always_on = false;
  bool runs_while_suspended = false;  // collect() is called then, and must read nothing that resumes the GPU
  bool accumulates_on_read = false;   // its counters advance only when read: also read between scrapes
  bool reads_processes = false;       // ScrapePass::clients(): the sandbox must allow /proc/<pid>
  std::span<const std::string_view> proc_files =
      {};  // files below /proc that belong to no process: the sandbox must allow them
  std::span<const EarlyPart> opened_early = {};
  std::span<const MetricDescriptor* const> metrics;
  std::span<const MetricDescriptor* const> in_windows = {};  // those of them that Windows gives
  std::span<const MetricDescriptor* const> not_in_linux = {};
  std::span<const FeatureDescriptor* const> features;
  std::span<const OptionDescriptor* const> options = {};     // base/option.h
  std::span<const OptionDescriptor* const> enabled_by = {};  // the options that turn the collector on when given
  std::string_view notes = {};  // for METRICS.md: text that applies to several of its metrics
};

// KernelAbsence::cause of a feature that only i915 has.
inline constexpr std::string_view kNotInXe = "the xe driver does not offer it, in any version";

struct CollectorContext {
  Machine& machine;
  const Gpu& gpu;               // outlives the collector
  PmuSession& gpu_pmu;          // the GPU's PMU (i915: shared by engines, frequency, rc6; xe: engines' own)
  CounterMemory& memory;        // survives re-binding; private to this collector and GPU
  const OptionValues& options;  // of CollectorInfo::options: options[kDescriptor]
  Nanoseconds min_window;       // for CounterWindow
  Log& log;
};

// One scrape, as seen by the collectors of one GPU.
class ScrapePass {
 public:
  virtual ~ScrapePass() = default;
  virtual std::uint64_t number() const = 0;  // for PmuSession::refresh
  virtual Nanoseconds now() const = 0;       // reads the clock at each call
  // If the GPU is not awake, the registry does not call its collectors and reports their features as Absent{suspended}.
  // A collector with runs_while_suspended is called, and must read nothing that resumes the GPU.
  virtual GpuPower power() const = 0;
  // The kernel's own power status, if it reports one; power() is derived from it.
  virtual Reading<bool> suspended() const = 0;
  // The DRM clients. The first call in a scrape scans /proc; all collectors of all GPUs share the result.
  virtual Reading<const ClientSnapshot*> clients() = 0;
  virtual FactBoard& facts() = 0;
};

class Collector {
 public:
  virtual ~Collector() = default;
  virtual void collect(ScrapePass& pass, SampleSink& out) = 0;
  // Called instead of collect() if the GPU is not awake. May discard windows; must read nothing.
  virtual void gpu_is_suspended() {}
  // After collect(), for a collector that accumulates on read: the longest safe time between two readings, which is
  // half of the shortest wraparound of its counters.
  virtual Nanoseconds read_within() const { return Nanoseconds::max(); }
};

struct MachineContext {
  Machine& machine;
  const OptionValues& options;  // of CollectorInfo::options
  Nanoseconds min_window;
  std::shared_ptr<WorkloadRuleSource> workload_rules;  // null: none
  Log& log;
  // For a collector with a thread: if the thread hangs for collector_timeout, it is left behind and keeps what
  // keep_alive owns.
  Nanoseconds collector_timeout = std::chrono::seconds(5);
  std::shared_ptr<void> keep_alive{};
  std::shared_ptr<Flights> flights{};                  // null: no flight recorder
  std::span<const std::string> chosen{};               // the names of --gpu; none: all GPUs
  Nanoseconds longest_wait = SlowReads::kLongestWait;  // of a scrape, for files that the kernel takes long to make
};

// Samples that differ from client to client, because they cover the time since the client's own previous scrape. Any
// thread.
class ClientSamples {
 public:
  virtual ~ClientSamples() = default;
  // client: as ScrapeRequest. Ends the client's window and begins its next one. Reads nothing.
  virtual void write(std::string_view client, SampleSink& out) = 0;
};

// One scrape, as seen by a collector of the whole machine. Collectors run in the order of their list, so facts of the
// GPUs' collectors in the same scrape are there if those are listed earlier.
class MachinePass {
 public:
  virtual ~MachinePass() = default;
  virtual Nanoseconds now() const = 0;
  virtual Reading<const ClientSnapshot*> clients() = 0;              // as ScrapePass::clients(): the same scan
  virtual std::shared_ptr<const std::vector<Gpu>> gpus() const = 0;  // bound and chosen
  // PCI addresses of the GPUs that are not awake: their clients are not in the snapshot.
  virtual std::span<const std::string> asleep() const = 0;
  virtual FactBoard& facts() = 0;
  // For threads that read between scrapes: the GPUs of gpus().
  virtual std::vector<AccessibleGpu> accessible_gpus() const { return {}; }
  // Called by the collector that has such samples. Every page of this scrape then gets those of its own client.
  virtual void differs_by_client(std::shared_ptr<ClientSamples>) {}
};

class MachineCollector {
 public:
  virtual ~MachineCollector() = default;
  virtual void collect(MachinePass& pass, SampleSink& out) = 0;
};

// At least one of the functions is set. If both are, the machine's object runs after the GPUs' objects.
struct CollectorEntry {
  const CollectorInfo* info;
  std::unique_ptr<Collector> (*create)(const CollectorContext&) = nullptr;
  std::unique_ptr<MachineCollector> (*create_for_machine)(const MachineContext&) = nullptr;
};

// Uses the class's static create(context) if it has one, otherwise its constructor from the context.
template <class C, class Base, class Context>
std::unique_ptr<Base> create_collector(const Context& context) {
  if constexpr (requires { C::create(context); }) {
    return C::create(context);
  } else {
    return std::make_unique<C>(context);
  }
}

// entry<PcieCollector>(): the class has static constexpr CollectorInfo kInfo. It is a collector, or its create()
// chooses one by the GPU's driver. OfMachine: a second class for the object of the machine.
template <class C, class OfMachine = C>
constexpr CollectorEntry entry() {
  CollectorEntry entry{&C::kInfo};
  constexpr bool chooses = requires(const CollectorContext& context) { C::create(context); };
  if constexpr (chooses || std::is_base_of_v<Collector, C>)
    entry.create = &create_collector<C, Collector, CollectorContext>;
  if constexpr (std::is_base_of_v<MachineCollector, OfMachine>)
    entry.create_for_machine = &create_collector<OfMachine, MachineCollector, MachineContext>;
  return entry;
}

// All collectors, in the order they run. registration.cpp
std::span<const CollectorEntry> all_collectors();

}  // namespace igpu
