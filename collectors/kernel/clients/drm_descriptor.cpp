// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/drm_descriptor.h"

#include <algorithm>

#include "igpu/words.h"
#include "kernel/clients/fdinfo_text.h"
#include "kernel/device/npus.h"

namespace igpu {

SleepingGpus::SleepingGpus(const Directory& sys, std::span<const std::string> asleep) : asleep_(asleep) {
  if (asleep.empty()) return;
  std::vector<std::string_view> i915_addresses;  // reading an i915 client only touches memory
  (void)sys.for_each("class/drm", [&](std::string_view name) {
    add_node(sys, name, i915_addresses);
    return true;
  });
  (void)sys.for_each("class/accel", [&](std::string_view name) {
    const std::string path = "class/accel/" + std::string(name);
    const auto driver = sys.read_link(path + "/device/driver");
    if (driver && last_part(*driver) == kNpuDriver) add_awake(sys, path);
    return true;
  });
  has_sleeping_xe_ =
      std::ranges::any_of(asleep, [&](const std::string& address) { return !contains(i915_addresses, address); });
}

bool SleepingGpus::is_asleep(std::string_view address) const { return contains(asleep_, address); }

bool SleepingGpus::is_awake_node(std::string_view target) const {
  return target.starts_with('/') && contains(awake_nodes_, last_part(target));
}

bool SleepingGpus::is_awake_number(const DeviceNumber& number) const { return contains(awake_numbers_, number); }

void SleepingGpus::add_awake(const Directory& sys, const std::string& path) {
  awake_nodes_.emplace_back(last_part(path));
  if (const auto number = device_number(sys, path + "/dev")) awake_numbers_.push_back(*number);
}

void SleepingGpus::add_node(const Directory& sys, std::string_view name,
                            std::vector<std::string_view>& i915_addresses) {
  const bool is_node =
      (name.starts_with("card") || name.starts_with("renderD")) && name.find('-') == std::string_view::npos;
  if (!is_node) return;
  // "../../devices/pci0000:00/0000:00:02.0/drm/card1"
  const auto link = sys.read_link("class/drm/" + std::string(name));
  if (!link) return;
  const std::size_t begin = link->find("devices/");
  const std::size_t end = link->rfind("/drm/");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return;
  const std::string device = link->substr(begin, end - begin);
  const auto driver_link = sys.read_link(device + "/driver");
  const auto driver = driver_link ? intel_driver(last_part(*driver_link)) : std::nullopt;
  if (!driver) return;
  const auto sleeper = std::ranges::find(asleep_, last_part(device));
  if (sleeper == asleep_.end()) {
    add_awake(sys, "class/drm/" + std::string(name));
  } else if (driver == Driver::i915) {
    i915_addresses.push_back(*sleeper);
  }
}

}  // namespace igpu
