// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "machine/filesystem.h"
#include "source/attribute.h"

// hwmon of a discrete GPU (drivers/gpu/drm/i915/i915_hwmon.c, xe/xe_hwmon.c), and of the CPU package an integrated one is
// part of (drivers/hwmon/coretemp.c). Channels are told apart by their label: index meaning changed between kernels. i915
// has no labels: its one channel is the package. Reading resumes the device.
namespace igpu {

// A label as our label values name it: "pkg" -> "package"; "" (i915) -> "package".
std::string sensor_name(std::string_view label);

class Hwmon {
 public:
  struct Channel {
    std::string name;   // sensor_name of its label
    std::string index;  // "2" of temp2_input
    Attribute attribute;
  };

  // Of the GPU itself; nothing for integrated ones and virtual functions.
  static Hwmon of_gpu(const Directory& sys, const Gpu& gpu);
  // The CPU package's temperature only.
  static Hwmon of_cpu_package(const Directory& sys);

  std::vector<Channel> temperatures;  // millidegrees
  std::vector<Channel> fans;          // rpm
  std::vector<Channel> voltages;      // millivolts
  std::vector<Channel> energies;      // microjoules
  struct Limit {
    Channel channel;
    std::string_view limit;  // max, cap, rated_max, crit
  };
  std::vector<Limit> power_limits;    // microwatts
  std::vector<Channel> current_limits;  // milliamperes

  static Reading<Celsius> celsius(Attribute& attribute);
  static Reading<Rpm> rpm(Attribute& attribute);
  static Reading<Volts> volts(Attribute& attribute);
  static Reading<Watts> watts(Attribute& attribute);      // 0: the limit is not set: Absent{hardware}
  static Reading<Amperes> amperes(Attribute& attribute);  // 0: Absent{hardware}

 private:
  void add_folder(const Directory& sys, const std::string& folder);
};

}  // namespace igpu
