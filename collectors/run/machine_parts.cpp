// SPDX-License-Identifier: Apache-2.0
#include "run/machine_parts.h"

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "fake/capture/passes.h"
#include "fake/simulation/simulation.h"
#include "igpu/displays.h"
#include "kernel/device/discovery.h"
#include "machine/gpu_adapters.h"

namespace igpu {
namespace {

class SystemParts final : public MachineParts {
 public:
  SystemParts(const MonitorOptions& options, std::shared_ptr<EarlyAccess> early)
      : early_(early ? std::move(early) : open_early(options)),
        sys_(open_tree(options.sysfs_root, "sysfs")),
        proc_(open_tree(options.procfs_root, "procfs")),
        dev_(open_tree(options.devfs_root, "devfs")),
        root_(open_tree(options.rootfs_root, "rootfs")),
        perf_(early_->perf ? nullptr : system_perf_events()),
        drm_(system_drm_nodes(options.devfs_root)),
        clock_(system_clock()),
        privileges_(system_privileges()),
        names_(system_names()),
        adapters_(system_gpu_adapters()),
        machine_{*sys_,
                 *proc_,
                 *dev_,
                 early_->perf ? *early_->perf : *perf_,
                 *drm_,
                 *clock_,
                 *privileges_,
                 *names_,
                 &open_page_folder,
                 root_.get()} {
    machine_.adapters = adapters_.get();
    early_->lend_to(machine_);
  }
  Machine& machine() override { return machine_; }

 private:
  static std::unique_ptr<Directory> open_tree(const std::string& root, const std::string& flag) {
    try {
      return open_root(root);
    } catch (const std::system_error& error) {
      throw OptionError("path." + flag, root + ": " + error.code().message());
    }
  }

  std::shared_ptr<EarlyAccess> early_;
  std::unique_ptr<Directory> sys_, proc_, dev_, root_;
  std::unique_ptr<PerfEvents> perf_;  // null: another process opens them
  std::unique_ptr<DrmNodes> drm_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Privileges> privileges_;
  std::unique_ptr<Names> names_;
  std::unique_ptr<GpuAdapters> adapters_;
  Machine machine_;
};

class SimulatedParts final : public MachineParts {
 public:
  explicit SimulatedParts(const MonitorOptions& options) : clock_(system_clock()) {
    const std::string& profile = options.simulate;
    simulated_ = SimulatedMachine::create(profile, *clock_, std::chrono::system_clock::now().time_since_epoch());
    if (!simulated_) {
      std::string message = "no profile '" + profile + "'; there are:";
      for (const SimulationProfile& known : simulation_profiles()) message += " " + std::string(known.name);
      throw OptionError("simulate", message);
    }
    machine_ = std::make_unique<Machine>(simulated_->machine());
    for (const CollectorDescription& collector : describe_collectors(options))
      if (collector.name == "jobs") machine_->queue_faults = Machine::kNoPart;  // not by a flag that is off
  }
  Machine& machine() override { return *machine_; }

 private:
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<SimulatedMachine> simulated_;
  std::unique_ptr<Machine> machine_;
};

class CaptureParts final : public MachineParts {
 public:
  explicit CaptureParts(const CaptureFiles& files) : replay_(capture::passes_of(files)) {}
  Machine& machine() override { return asked_.machine(); }
  void scrape_begins() override { replay_.begin_pass(); }

 private:
  capture::Replay replay_;
  capture::AskedMachine asked_{replay_, nullptr};
};

}  // namespace

std::shared_ptr<MachineParts> capture_parts(const CaptureFiles& files) { return std::make_shared<CaptureParts>(files); }

std::shared_ptr<MachineParts> make_machine_parts(const MonitorOptions& options, std::shared_ptr<EarlyAccess> early) {
  if (options.capture) return capture_parts(*options.capture);
  if (options.simulate.empty()) return std::make_shared<SystemParts>(options, std::move(early));
  return std::make_shared<SimulatedParts>(options);
}

std::vector<DisplayDevice> display_devices(const MonitorOptions& options) {
  MonitorOptions machine = options;  // without what collectors open early
  machine.disable_default_collectors = true;
  machine.collectors.clear();
  return display_devices(make_machine_parts(machine, nullptr)->machine().sys);
}

}  // namespace igpu
