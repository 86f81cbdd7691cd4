// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/machine.h"

namespace igpu::test {

// The machine that runs the tests.
struct RealMachine {
  std::unique_ptr<Directory> sys = open_root("/sys");
  std::unique_ptr<Directory> proc = open_root("/proc");
  std::unique_ptr<Directory> dev = open_root("/dev");
  std::unique_ptr<PerfEvents> perf = system_perf_events();
  std::unique_ptr<DrmNodes> nodes = system_drm_nodes("/dev");
  std::unique_ptr<Clock> clock = system_clock();
  std::unique_ptr<Privileges> privileges = system_privileges();
  std::unique_ptr<Names> names = system_names();
  Machine machine{*sys, *proc, *dev, *perf, *nodes, *clock, *privileges, *names};
};

}  // namespace igpu::test
