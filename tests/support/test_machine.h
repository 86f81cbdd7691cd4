// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/collector.h"
#include "collector/engines/engines_facts.h"
#include "kernel/clients/client_ledger.h"
#include "kernel/device/discovery.h"
#include "machine/machine.h"
#include "run/machine_parts.h"
#include "support/fake_clock.h"
#include "support/fake_drm_nodes.h"
#include "support/fake_perf_events.h"
#include "support/fake_privileges.h"
#include "support/faulty_directory.h"
#include "support/machine_tree.h"
#include "support/recording_log.h"

namespace igpu::test {

// A machine: a tree of real files behind the real interface, and fakes for what files cannot show.
class TestMachine {
 public:
  MachineTree tree;
  FakeClock clock;
  FakePerfEvents perf{clock};
  FakeDrmNodes drm;
  FakePrivileges privileges;
  FakeNames names;
  RecordingLog log;
  FaultyDirectory sys{open_root(tree.path("sys"))};

  TestMachine()
      : proc_(open_root(tree.path("proc"))), dev_(open_root(tree.path("dev"))), machine_{sys,        *proc_, *dev_,
                                                                                         perf,       drm,    clock,
                                                                                         privileges, names} {}
  explicit TestMachine(const std::string& captured_machine) : TestMachine() { tree.lay_out(captured_machine); }

  Machine& machine() { return machine_; }
  // What a scrape would find now; sorted by PCI address.
  std::vector<Gpu> gpus() { return Discovery(machine_, {}).discover(); }

 private:
  std::unique_ptr<Directory> proc_, dev_;
  Machine machine_;
};

// A scrape of one collector without registry.
class TestPass final : public ScrapePass {
 public:
  TestPass(const Clock& clock, std::uint64_t number) : clock_(clock), number_(number) {}
  std::uint64_t number() const override { return number_; }
  Nanoseconds now() const override { return clock_.now(); }
  GpuPower power() const override { return is_suspended ? GpuPower::suspended : GpuPower::awake; }
  Reading<bool> suspended() const override { return told_suspended; }
  Reading<const ClientSnapshot*> clients() override {
    if (!snapshot) return snapshot.propagate<const ClientSnapshot*>();
    return &*snapshot;
  }

  FactBoard& facts() override { return board_; }

  bool is_suspended = false;
  Reading<bool> told_suspended = false;
  Reading<ClientSnapshot> snapshot{ClientSnapshot{}};

 private:
  const Clock& clock_;
  std::uint64_t number_;
  FactBoard::Waiting waiting_;
  FactBoard board_{waiting_};
};

// A scrape of one collector of the whole machine, without registry.
class TestMachinePass final : public MachinePass {
 public:
  explicit TestMachinePass(const Clock& clock) : clock_(clock) {}
  Nanoseconds now() const override { return clock_.now(); }
  Reading<const ClientSnapshot*> clients() override {
    if (!snapshot) return snapshot.propagate<const ClientSnapshot*>();
    return &*snapshot;
  }
  std::shared_ptr<const std::vector<Gpu>> gpus() const override { return std::make_shared<std::vector<Gpu>>(bound); }
  std::span<const std::string> asleep() const override { return sleeping; }
  FactBoard& facts() override { return board_; }

  Reading<ClientSnapshot> snapshot{ClientSnapshot{}};
  std::vector<Gpu> bound;
  std::vector<std::string> sleeping;

 private:
  const Clock& clock_;
  FactBoard::Waiting waiting_;
  FactBoard board_{waiting_};
};

// What the registry gives to a collector of the whole machine.
struct MachineGiven {
  OptionValues::Given options = {};  // by flag; those that are not given have their defaults
  std::shared_ptr<WorkloadRuleSource> rules = nullptr;
  std::shared_ptr<Flights> flights = nullptr;
  std::span<const std::string> chosen = {};
  Nanoseconds longest_wait = std::chrono::seconds(60);
  Nanoseconds min_window = std::chrono::seconds(1);
};
inline std::unique_ptr<MachineCollector> make_collector(CollectorEntry (*collector_entry)(), Machine& machine, Log& log,
                                                        const MachineGiven& given = {}) {
  const CollectorEntry entry = collector_entry();
  const OptionValues options(entry.info->options, given.options);
  MachineContext context{machine, options, given.min_window, given.rules, log};
  context.flights = given.flights;
  context.chosen = given.chosen;
  context.longest_wait = given.longest_wait;
  return entry.create_for_machine(context);
}

// One collector on one GPU of a test machine.
//
//   TestMachine m("a380-i915");
//   CollectorRun<frequency_collector> frequency(m, gpu);
//   frequency.collect();
//   CHECK(frequency.value("intel_gpu_frequency_hertz", {{"gt", "0"}, {"kind", "actual"}}) == 2400e6);
template <CollectorEntry (*collector_entry)()>
class CollectorRun {
 public:
  using LabelList = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  CollectorRun(TestMachine& machine, Gpu gpu) : machine_(machine), gpu_(std::move(gpu)) { bind(); }

  // Makes the collector again, as after a re-binding; counters are remembered.
  void bind() {
    if (collector_) ++gpu_.binding;
    collector_.reset();
    pmu_ = std::make_unique<PmuSession>(
        machine_.machine(), pmu_memory_,
        gpu_pmu_name(machine_.machine().sys, to_string(gpu_.driver), gpu_.address, stands_for_package(gpu_)));
    const CollectorEntry entry = collector_entry();
    values_ = OptionValues(entry.info->options, options);
    collector_ = entry.create({machine_.machine(), gpu_, *pmu_, memory_, values_, min_window, machine_.log});
  }
  // The next scrape; with clients if the collector asks for them.
  SampleSink& collect(Reading<ClientSnapshot> clients = ClientSnapshot{}) {
    sink_.clear();
    if (clients) ledgers_.count(*clients, {&gpu_, 1}, {});
    TestPass pass(machine_.clock, ++number_);
    pass.snapshot = std::move(clients);
    pass.is_suspended = is_suspended;
    pass.told_suspended = told_suspended ? Reading<bool>(is_suspended) : told_suspended;
    collector_->collect(pass, sink_);
    measured = pass.facts().get<EngineSeconds>(gpu_.address);
    vf_engines = pass.facts().get<VfEngines>(gpu_.address);
    return sink_;
  }
  SampleSink& collect_after(Nanoseconds time, Reading<ClientSnapshot> clients = ClientSnapshot{}) {
    machine_.clock.advance(time);
    return collect(std::move(clients));
  }

  // Labels that are not named may have any value; several matches or none: nullopt.
  std::optional<double> value(std::string_view metric, LabelList labels = {}) const {
    std::optional<double> found;
    for (const auto& sample : sink_.samples().samples()) {
      if (sample.metric->name != metric || !matches(sample, labels)) continue;
      if (found) return std::nullopt;
      found = sample.value;
    }
    return found;
  }
  std::size_t count(std::string_view metric, LabelList labels = {}) const {
    std::size_t n = 0;
    for (const auto& sample : sink_.samples().samples()) n += sample.metric->name == metric && matches(sample, labels);
    return n;
  }
  // Reason a feature is absent for; nothing if it is available or was not reported.
  std::optional<Reason> missing(std::string_view feature) const {
    for (const auto& state : sink_.features())
      if (state.feature->name == feature && !state.available) return state.absent.reason;
    return std::nullopt;
  }
  bool available(std::string_view feature) const {
    for (const auto& state : sink_.features())
      if (state.feature->name == feature && state.available) return true;
    return false;
  }
  std::size_t failures() const { return sink_.failures().size(); }
  const SampleSink& sink() const { return sink_; }
  Collector& collector() { return *collector_; }
  PmuSession& pmu() { return *pmu_; }

  OptionValues::Given options;  // by flag; those that are not given have their defaults
  Nanoseconds min_window = std::chrono::seconds(1);
  std::shared_ptr<const EngineSeconds> measured;        // by the last scrape, for collectors of the machine
  std::shared_ptr<const VfEngines> vf_engines;          // the same, of its virtual functions
  bool is_suspended = false;                            // for collectors that run while the GPU is suspended
  Reading<bool> told_suspended = Reading<bool>(false);  // unless set to absent or failed

 private:
  bool matches(const SampleList::Sample& sample, LabelList labels) const {
    for (const auto& [name, value] : labels) {
      bool same = false;
      for (std::size_t i = 0; i < sample.metric->label_count; ++i)
        same = same || (sample.metric->label_names[i] == name && sink_.samples().label_value(sample, i) == value);
      if (!same) return false;
    }
    return true;
  }

  TestMachine& machine_;
  Gpu gpu_;
  CounterMemory pmu_memory_, memory_;
  std::unique_ptr<PmuSession> pmu_;
  OptionValues values_;
  std::unique_ptr<Collector> collector_;
  ClientLedgers ledgers_;
  SampleSink sink_;
  std::uint64_t number_ = 0;
};

}  // namespace igpu::test
