// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "machine/filesystem.h"
#include "source/attribute.h"

// hwmon of a discrete GPU (drivers/gpu/drm/i915/i915_hwmon.c, xe/xe_hwmon.c), and of the CPU package an integrated one
// is part of (drivers/hwmon/coretemp.c). Channels are identified by their label: index meaning changed between kernels.
// i915 has no labels, nor had xe up to Linux 6.8: their one channel is the package. Reading resumes the device.
namespace igpu {

// A label as our label values name it: "pkg" -> "package"; "" (i915) -> "package".
std::string sensor_name(std::string_view label);
// Whether power*_rated_max of this GPU is a rating at all. From Battlemage on the register behind it is none:
// Linux 6.11 to 6.14 show 35 W for a card of 190 W, later ones hide the file.
bool has_rated_power(const Gpu& gpu);

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

  // Whether there is such a device at all, whatever it measures.
  bool found = false;

  // No two of a kind have the same name.
  std::vector<Channel> temperatures;  // millidegrees
  std::vector<Channel> fans;          // rpm
  std::vector<Channel> voltages;      // millivolts
  std::vector<Channel> energies;      // microjoules
  struct Limit {
    Channel channel;
    std::string_view limit;  // max, cap, rated_max, crit
  };
  std::vector<Limit> power_limits;      // microwatts
  std::vector<Channel> current_limits;  // milliamperes

  static Reading<Celsius> celsius(Attribute& attribute);  // no temperature of a working chip: Absent{hardware}
  // The driver counts turns between two readings of the file, ours or another program's. When they come within the same
  // millisecond there is no speed: nullopt.
  static Reading<std::optional<Rpm>> rpm(Attribute& attribute);
  static Reading<Volts> volts(Attribute& attribute);
  // The most that the card draws for longer than moments, and the least that this says: the largest limit that it
  // states; where it states none that can be true, more than any card draws.
  Watts highest_power();
  // The time in which its energy counters go once around at such a power. They are 32 bits of 1/2^14 J in hardware; the
  // driver sees a lap only if the file is read before the next one is over.
  static Nanoseconds energy_lap(Watts power);
  static Reading<Watts> watts(Attribute& attribute);      // 0: the limit is not set: Absent{hardware}
  static Reading<Amperes> amperes(Attribute& attribute);  // 0: Absent{hardware}

 private:
  void add_folder(const Directory& sys, const std::string& folder);
};

}  // namespace igpu
