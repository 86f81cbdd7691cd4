// SPDX-License-Identifier: Apache-2.0
#include "igpu/displays.h"
#include "kernel/device/discovery.h"
#include "run/machine_parts.h"

namespace igpu {

std::vector<DisplayDevice> display_devices(const MonitorOptions& options) {
  MonitorOptions machine = options;  // without what collectors open early
  machine.disable_default_collectors = true;
  machine.collectors.clear();
  return display_devices(make_machine_parts(machine, nullptr)->machine().sys);
}

}  // namespace igpu
