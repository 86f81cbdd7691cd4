// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <optional>
#include <string_view>

#include "base/counter_window.h"
#include "collector/engines/engines.h"
#include "collector/engines/engines_facts.h"
#include "kernel/clients/wddm_clients.h"
#include "kernel/windows/wddm.h"

namespace igpu {
namespace {

constexpr FeatureDescriptor kBusyByNodes{EnginesCollector::kBusyFeature.name, EnginesCollector::kBusyFeature.meaning,
                                         Need::windows_rights, false, EnginesCollector::kBusyFeature.kernel_absences};
constexpr std::string_view kGt = "0";  // Windows does not tell a GPU's parts apart
constexpr std::string_view kOfNode = "d3dkmt", kOfProcesses = "pdh";

// Engines of a GPU under Windows: the running time of its nodes, which the graphics kernel has counted since the driver
// started. Some drivers have nodes whose time stays 0 while processes use them. In that case the time of all engines
// comes from Windows' performance counters. Each source has a counter of its own.
class WddmEnginesCollector final : public Collector {
 public:
  explicit WddmEnginesCollector(const CollectorContext& context)
      : gpu_(context.gpu),
        memory_(context.memory),
        min_window_(context.min_window),
        machine_(context.machine),
        adapter_(context.machine, context.gpu) {}

  void collect(ScrapePass& pass, SampleSink& out) override {
    out.absent(EnginesCollector::kWaitFeature, {Reason::kernel});
    out.absent(EnginesCollector::kInterruptsFeature, {Reason::kernel});
    FeatureReport report(out, kBusyByNodes, {Reason::kernel});
    if (engines_.empty()) {
      const auto found = adapter_.engines();
      if (!found) {
        (void)report.note(found);
        return;
      }
      for (const WddmEngine& engine : **found) engines_.emplace_back(engine, memory_, min_window_);
    }
    for (Engine& engine : engines_) engine.busy = adapter_.busy(engine.facts);
    find_still_classes(pass);
    EngineSeconds by_class;
    if (std::ranges::find(still_, true) == still_.end()) {
      for (Engine& engine : engines_) {
        if (report.note(engine.busy)) write(engine, engine.of_node, *engine.busy, kOfNode, pass, by_class, out);
        engine.of_processes.window.restart();
      }
      processes_.reset();
      pass.facts().put(gpu_.address, by_class);
      return;
    }
    if (!processes_) processes_.emplace(machine_, gpu_.binding);
    auto refreshed = processes_->refresh();
    if (refreshed.is_absent() && refreshed.absent().reason == Reason::kernel)
      refreshed = Absent{Reason::kernel, ENODATA};
    if (report.note(refreshed)) {
      for (Engine& engine : engines_) {
        write(engine, engine.of_processes, processes_->busy(engine.facts.node), kOfProcesses, pass, by_class, out);
        engine.of_node.window.restart();
      }
      if (processes_->refused() > 0)
        out.failed(
            {std::make_error_code(std::errc::result_out_of_range), "performance counter GPU Engine: running time"});
      pass.facts().put(gpu_.address, by_class);
      return;
    }
    // Without them the nodes that count are all there is.
    for (Engine& engine : engines_)
      if (!is_still(engine) && report.note(engine.busy))
        write(engine, engine.of_node, *engine.busy, kOfNode, pass, by_class, out);
    pass.facts().put(gpu_.address, by_class);
  }

 private:
  struct Count {
    Count(MonotonicCounter& counter, Nanoseconds min_window) : nanoseconds(counter), window(min_window) {}
    MonotonicCounter& nanoseconds;
    CounterWindow<1> window;
  };
  struct Engine {
    Engine(const WddmEngine& engine, CounterMemory& memory, Nanoseconds min_window)
        : facts(engine),
          of_node(memory.counter("busy/" + engine.name), min_window),
          of_processes(memory.counter("busy of processes/" + engine.name), min_window) {}
    WddmEngine facts;
    Count of_node, of_processes;
    Reading<Nanoseconds> busy = Absent{};  // of the node, at this scrape
  };
  using ByClass = std::array<bool, kEngineClasses>;

  // A node has counted since its driver started, and so all that a process has used it for: one that says 0 does not
  // count. That stays known when the process has ended.
  void find_still_classes(ScrapePass& pass) {
    ByClass has_nodes{}, counts{}, used{};
    for (const Engine& engine : engines_) {
      if (!engine.facts.engine_class) continue;
      const auto at = static_cast<std::size_t>(*engine.facts.engine_class);
      has_nodes[at] = true;
      // One that does not answer tells nothing of its class.
      counts[at] = counts[at] || !engine.busy || *engine.busy > Nanoseconds::zero();
    }
    if (has_nodes != counts) {
      if (const auto snapshot = pass.clients())
        for (const DrmClient& client : (*snapshot)->clients_of(gpu_.address))
          for (std::size_t i = 0; i < kEngineClasses; ++i)
            used[i] = used[i] || client.engines[i].busy_ns.value_or(0) > 0;
    }
    for (std::size_t i = 0; i < kEngineClasses; ++i) still_[i] = has_nodes[i] && !counts[i] && (still_[i] || used[i]);
  }

  bool is_still(const Engine& engine) const {
    return engine.facts.engine_class && still_[static_cast<std::size_t>(*engine.facts.engine_class)];
  }

  void write(const Engine& engine, Count& count, Nanoseconds busy, std::string_view source, ScrapePass& pass,
             EngineSeconds& by_class, SampleSink& out) const {
    // Another driver than at the last scrape counts from zero.
    const std::uint64_t total = count.nanoseconds.advance(static_cast<std::uint64_t>(busy.count()));
    const Seconds seconds{static_cast<double>(total) / 1e9};
    out.add(EnginesCollector::kBusy, {gpu_.address, kGt, engine.facts.name, engine.facts.class_label(), source},
            seconds);
    if (const auto delta = count.window.advance(pass.now(), {total}))
      out.add(EnginesCollector::kBusyRatio, {gpu_.address, kGt, engine.facts.name, engine.facts.class_label(), source},
              clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->elapsed.count())));
    if (const auto known = engine.facts.engine_class) {
      auto& sum = by_class[static_cast<std::size_t>(*known)];
      sum = sum.value_or(0) + seconds.value;
    }
  }

  const Gpu& gpu_;
  CounterMemory& memory_;
  const Nanoseconds min_window_;
  const Machine& machine_;
  WddmGpu adapter_;
  std::optional<ProcessEngineTimes> processes_;  // while they are the source
  std::list<Engine> engines_;
  ByClass still_{};  // nodes of the class have not counted, although it was used
};

}  // namespace

std::unique_ptr<Collector> EnginesCollector::create_wddm(const CollectorContext& context) {
  return std::make_unique<WddmEnginesCollector>(context);
}

}  // namespace igpu
