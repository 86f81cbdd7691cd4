// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/log.h"
#include "igpu/units.h"

namespace igpu {

// Logs problems when they begin and when they end, not at every scrape. Any thread.
class ScrapeLog {
 public:
  ScrapeLog(Log& log, bool windows) : log_(log), windows_(windows) {}

  void device_found(const Gpu& gpu);
  void device_gone(const Gpu& gpu);
  void no_device();
  // name: given with --gpu. is_here: a GPU has it now. True if the name is missing and has never been found or
  // reported.
  bool is_first_miss(const std::string& name, bool is_here);
  void no_such_device(const std::string& name, const std::vector<Gpu>& present);

  struct Trouble {
    std::string collector;  // "" for the discovery of GPUs
    std::string device, where, error;
    auto operator<=>(const Trouble&) const = default;
  };
  // Logs what is missing or failed in one scrape. partial: not all collectors ran, so a problem that is not listed may
  // persist. findings: the same list as last time if nothing has changed.
  void scrape(const std::shared_ptr<const std::vector<Finding>>& findings, const std::set<Trouble>& failures,
              bool partial);
  // Logs that a caller's deadline passed before these collectors had finished. Logged once for each collector, and
  // again only after an hour without a late result.
  void late(const std::vector<std::string_view>& collectors, Nanoseconds now);

 private:
  // Collectors by problem: a problem that several collectors share is one line.
  struct Cause {
    std::string device, where, error;
    auto operator<=>(const Cause&) const = default;
  };
  using Causes = std::map<Cause, std::vector<std::string>>;
  void log_findings(const std::vector<Finding>& findings);
  void log_broken(const Causes& causes);
  void log_working(const Causes& causes);

  struct State {
    bool available;
    Absent absent;
  };
  Log& log_;
  const bool windows_;  // hints differ on Windows
  std::mutex mutex_;
  bool no_device_logged_ = false;
  std::set<std::string> known_names_;
  std::map<std::pair<std::string, std::string>, State> known_;  // by (feature, device)
  std::shared_ptr<const std::vector<Finding>> last_findings_;
  std::set<Trouble> failing_;
  std::map<std::string, Nanoseconds, std::less<>> late_;  // by collector: when it was last late
};

}  // namespace igpu
