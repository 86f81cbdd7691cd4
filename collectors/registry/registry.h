// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "collector/collector.h"
#include "igpu/log.h"
#include "igpu/monitor.h"
#include "igpu/options.h"
#include "machine/machine.h"
#include "registry/configuration.h"
#include "registry/scrape_run.h"

namespace igpu {

struct RegistryOptions {
  std::vector<std::string> gpus;  // selection, as MonitorOptions
  Nanoseconds min_window{};
  Nanoseconds collector_timeout{};
  // Makes the threads that collectors run on; empty: the caller of a scrape does. A thread inherits rights from the one
  // that makes it.
  std::function<std::thread(std::function<void()>)> make_thread = {};
  Nanoseconds accumulator_interval = std::chrono::minutes(10);  // as MonitorOptions
  std::shared_ptr<WorkloadRuleSource> workload_rules = {};      // as MonitorOptions
  // start() runs the collectors itself and starts no thread. A read that hangs then hangs the caller.
  bool on_calling_thread = false;
  bool own_metrics = true;  // registry_metrics.h, on every page
};

class Worker;

// Runs the collectors: one run at a time, one collector after the other, each apart from the rest. A collector that
// throws, fails or hangs costs its own samples and nothing else; one that hangs is left behind with its thread and is
// skipped until it returns. Follows GPUs that come and go.
class Registry {
 public:
  // machine and log must outlive the registry and every collector that was left behind; keep_alive is held by those (it
  // may own the machine).
  Registry(std::shared_ptr<void> keep_alive, Machine& machine, RegistryOptions registry_options,
           std::vector<ConfiguredCollector> collectors, Log& log);
  ~Registry();

  struct Request {
    CollectorSet collectors;
    bool only_accumulating = false;  // just those that must be read now and then
    bool reads_clients = false;      // with only_accumulating: also those that can be read by an interval
    Nanoseconds deadline = Nanoseconds::max();
  };
  // Starts a run. The previous one must have ended; not thread-safe.
  std::shared_ptr<ScrapeRun> start(const Request& request);
  // Waits for the previous run, then does the same and waits for it.
  std::shared_ptr<const ScrapeResult> run(const Request& request);

  std::shared_ptr<const std::vector<Gpu>> gpus() const;  // those found last; thread-safe; not null
  // How long after the last run one with only_accumulating was due, given what was read until then; thread-safe.
  Nanoseconds accumulating_due_after() const;

 private:
  struct Core;
  class Run;
  std::shared_ptr<Core> core_;
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<Run> current_;
};

}  // namespace igpu
