// SPDX-License-Identifier: Apache-2.0
#include "registry/registry.h"

#include <utility>

#include "registry/core.h"
#include "registry/run.h"
#include "registry/worker.h"

namespace igpu {

Registry::Registry(std::shared_ptr<void> keep_alive, Machine& machine, RegistryOptions registry_options,
                   std::vector<ConfiguredCollector> collectors, Log& log)
    : core_(std::make_shared<RegistryCore>(std::move(keep_alive), machine, std::move(registry_options),
                                           std::move(collectors), log)) {}

Registry::~Registry() {
  if (!current_) return;
  current_->cut_short();
  (void)current_->wait({});  // a hanging read delays this by collector_timeout at most
}

std::shared_ptr<ScrapeRun> Registry::start(const Request& request) {
  current_.reset();  // the memory of its page is reused
  const auto execute = [this](const std::shared_ptr<RegistryRun>& run, int epoch) {
    if (core_->options.on_calling_thread) return run->execute(epoch);
    if (!worker_) worker_ = std::make_unique<Worker>(core_->options.make_thread);
    worker_->submit([run, epoch] { run->execute(epoch); });
  };
  const auto self = std::make_shared<std::weak_ptr<RegistryRun>>();
  auto run = std::make_shared<RegistryRun>(core_, request, [this, execute, self](int epoch) {
    worker_->abandon();
    worker_.reset();
    if (epoch >= 0) execute(self->lock(), epoch);
  });
  *self = run;
  execute(run, 0);
  current_ = run;
  return run;
}

std::shared_ptr<const ScrapeResult> Registry::run(const Request& request) {
  const WaitLimit limit = WaitLimit::within(request.deadline);
  if (current_) (void)current_->wait({});
  return start(request)->result(request.collectors, limit, {});
}

Nanoseconds Registry::accumulating_due_after() const { return core_->accumulating_due_after; }

std::shared_ptr<const std::vector<Gpu>> Registry::gpus() const {
  const std::lock_guard lock(core_->known_mutex);
  return core_->known_gpus;
}

}  // namespace igpu
