// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "igpu/units.h"
#include "igpu/workload_rules.h"

namespace igpu {

class Flights;  // igpu/flight.h

// Options of a Monitor. The defaults are those of the program.
struct MonitorOptions {
  std::string sysfs_root = "/sys";
  std::string procfs_root = "/proc";
  std::string devfs_root = "/dev";
  std::string rootfs_root = "/";  // of the host, where its container engines keep their state
  std::string simulate;           // profile name, or "capture:" and a name; "" reads the real machine
  std::shared_ptr<const std::map<std::string, std::string, std::less<>>> capture;  // its files (igpu/capture.h)

  std::vector<std::string> gpus;  // PCI address, cardN or renderDN; empty: all
  bool disable_default_collectors = false;
  std::map<std::string, bool> collectors;  // explicit choices by name
  // By flag, as CollectorDescription::options names them: "collector.engines.xe-source" -> {"auto"}; several values for
  // a repeatable one.
  std::map<std::string, std::vector<std::string>, std::less<>> collector_options;

  // How collector `workloads` groups processes before it groups them by --workload.by; null: no rules.
  std::shared_ptr<WorkloadRuleSource> workload_rules;

  // Where collector `samples` finds requests for flights and leaves what it recorded; null: no flight recorder.
  std::shared_ptr<Flights> flights;

  Nanoseconds min_window = std::chrono::seconds(1);
  Nanoseconds collector_timeout =
      std::chrono::seconds(5);  // a collector that hangs for longer is skipped until it returns
  // Counters that advance only when read are read at least this often, and more often if they wrap sooner.
  Nanoseconds accumulator_interval = std::chrono::minutes(10);
};

}  // namespace igpu
