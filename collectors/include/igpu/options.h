// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
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

// What can be set. Each option of a collector is declared once, beside the collector; the command line, the
// environment, --help, METRICS.md and the tests read these descriptors.
//
// Type-erased: what a program needs to offer the option and to check a value. Static storage duration.
class OptionDescriptor {
 public:
  struct Text {
    std::string_view flag;           // without dashes: "collector.engines.xe-source"
    std::string_view default_value;  // as it would be written; "" for none
    std::string_view help;           // a sentence
  };

  constexpr std::string_view flag() const { return text_.flag; }
  constexpr std::string_view default_value() const { return text_.default_value; }
  constexpr std::string_view help() const { return text_.help; }
  constexpr bool repeatable() const { return repeatable_; }
  // What help shows in place of the value: "N", "DURATION", "auto|pmu|fdinfo"; "" for a switch, whose values are "true"
  // and "false".
  virtual std::string placeholder() const = 0;
  // Why the option does not accept this value, to be written after it: "is none of auto, pmu, fdinfo". "": it does.
  virtual std::string refusal(std::string_view value) const = 0;

 protected:
  constexpr explicit OptionDescriptor(Text text, bool repeatable = false) : text_(text), repeatable_(repeatable) {}
  ~OptionDescriptor() = default;

 private:
  Text text_;
  bool repeatable_;
};

// A Monitor cannot be made with this option. The caller knows where the value came from, and should name that place
// instead of the flag. what() names the flag.
class OptionError : public std::invalid_argument {
 public:
  OptionError(std::string flag, std::string reason)
      : std::invalid_argument("--" + flag + ": " + reason), flag_(std::move(flag)), reason_(std::move(reason)) {}
  const std::string& flag() const { return flag_; }  // without dashes
  const std::string& reason() const { return reason_; }

 private:
  std::string flag_, reason_;
};

}  // namespace igpu
