// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "igpu/units.h"
#include "kernel/sysfs/gt_sysfs.h"

namespace igpu {

// Decides when the PMU of an xe GPU is open: from the first sign of activity until a minute without activity has
// passed.
//
// Signs of work while it is closed: a visible client's engine time moved, or a GT spent less time in C6 than it does
// when it is idle. The latter detects work of hidden clients. The C6 share of an idle GT is learned, since on some
// desktops it is zero: if the PMU, opened after such a sign, shows no busy engine for a minute, that share becomes the
// idle share.
class XeSleepWatch {
 public:
  XeSleepWatch(const Directory& sys, std::string_view pci_path) : idle_(sys, pci_path) {}

  // Whether to open the closed PMU. clients_moved: a client's engine time has moved since the last scan. some_hidden:
  // not every client is visible. Reads the residencies only if the visible clients were idle.
  bool should_open(Nanoseconds now, bool clients_moved, bool some_hidden);
  void opened(Nanoseconds now);
  // Whether to close the open PMU. active: an engine worked since the last scan.
  bool should_close(Nanoseconds now, bool active);
  void closed(Nanoseconds now);
  // Call when the PMU was closed early or the GPU sleeps: nothing is measured, and windows restart.
  void restart();

 private:
  struct Gt {
    double idle_fraction = 1;  // share of the time that the idle GT spends in C6
    Nanoseconds learned_at{};
    std::optional<double> sign;  // the fraction for which the PMU was opened
    std::optional<std::uint64_t> milliseconds;
    Nanoseconds read_at{};
  };

  bool residency_drops(Nanoseconds now, bool some_hidden);
  bool unwatched(Nanoseconds now) const;

  XeGtIdle idle_;
  std::vector<Gt> gts_;
  std::optional<Nanoseconds> last_scan_;
  Nanoseconds last_activity_{};
  bool doubtful_ = false;  // opened because of a residency, and no engine has been busy since
};

}  // namespace igpu
