// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "machine/filesystem.h"

// hwmon of a discrete GPU (drivers/gpu/drm/i915/i915_hwmon.c, xe/xe_hwmon.c), and of the CPU package an integrated one
// is part of (drivers/hwmon/coretemp.c). Channels are identified by their label: the meaning of indices has changed
// between kernels. i915 has no labels, nor has xe up to Linux 6.8: their only channel is the package. Reading resumes
// the device.
namespace igpu {

// The value of sensor_name for a label: "pkg" -> "package"; "" (i915) -> "package".
std::string sensor_name(std::string_view label);
// Whether power*_rated_max of this GPU is a rating. From Battlemage on the register holds something else: Linux 6.11 to
// 6.14 show 35 W for a card of 190 W, later kernels hide the file.
bool has_rated_power(const Gpu& gpu);

class Hwmon {
 public:
  struct Channel {
    std::string name;   // sensor_name of its label
    std::string index;  // "2" of temp2_input
    Attribute attribute;
  };

  // The channels of the GPU itself; none for integrated GPUs and virtual functions.
  static Hwmon of_gpu(const Directory& sys, const Gpu& gpu);
  // Only the temperature of the CPU package.
  static Hwmon of_cpu_package(const Directory& sys);

  // Whether there is an hwmon device, even one without channels.
  bool found = false;
  // Set if a name or label could not be read. Its channels are left out: without a label they would be taken for the
  // package's.
  std::optional<Failure> unreadable;

  // Names are unique within each list.
  std::vector<Channel> temperatures;  // millidegrees
  std::vector<Channel> fans;          // rpm
  std::vector<Channel> voltages;      // millivolts
  std::vector<Channel> energies;      // microjoules
  struct Limit {
    Channel channel;
    std::string_view limit;  // of power: max, cap, rated_max, crit
  };
  std::vector<Limit> power_limits;        // microwatts
  std::vector<Limit> temperature_limits;  // millidegrees; limit: crit, emergency
  std::vector<Channel> current_limits;    // milliamperes

  static Reading<Celsius> celsius(Attribute& attribute);  // Absent{hardware}: a value that a working chip cannot have
  static Reading<Celsius> celsius_limit(Attribute& attribute);  // Absent{hardware}: 0, the limit is not set
  // The driver counts turns between two readings of the file, by this or another program. Two readings within one
  // millisecond give no speed: nullopt.
  static Reading<std::optional<Rpm>> rpm(Attribute& attribute);
  static Reading<Volts> volts(Attribute& attribute);
  // Upper bound of the card's sustained power: the largest limit that it states, with a minimum, as limits can change;
  // if it states no credible limit, a value above what any card draws.
  Watts highest_power();
  // The time in which its energy counters wrap around once at that power. They are 32 bits of 1/2^14 J in hardware; the
  // driver detects a wraparound only if the file is read before the next one completes.
  static Nanoseconds energy_lap(Watts power);
  static Reading<Watts> watts(Attribute& attribute);      // Absent{hardware}: 0, the limit is not set
  static Reading<Amperes> amperes(Attribute& attribute);  // Absent{hardware}: 0, the limit is not set

 private:
  void add_folder(const Directory& sys, const std::string& folder);
  // The text of a name or label; nullopt if it could not be read.
  std::optional<std::string> read_word(const Directory& sys, const std::string& path);
};

}  // namespace igpu
