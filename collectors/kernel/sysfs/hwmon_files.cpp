// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/hwmon_files.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/scan.h"

namespace igpu {
namespace {

struct AttributeName {
  std::string_view kind;   // "temp"
  std::string_view index;  // "2"
  std::string_view item;   // "input"
};

// "power1_rated_max" -> power, 1, rated_max
std::optional<AttributeName> parse(std::string_view name) {
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos || digits == 0) return std::nullopt;
  const std::size_t end = name.find_first_not_of("0123456789", digits);
  if (end == std::string_view::npos || name[end] != '_') return std::nullopt;
  return AttributeName{name.substr(0, digits), name.substr(digits, end - digits), name.substr(end + 1)};
}

unsigned channel_number(std::string_view name) {
  const auto parts = parse(name);
  return parts ? scan_integer<unsigned>(parts->index).value_or(0) : 0;
}

// The card's own order, as people expect it: the package before its parts, channel 2 before channel 10.
std::vector<std::string> by_channel(std::vector<std::string> names) {
  std::ranges::stable_sort(
      names, [](const std::string& a, const std::string& b) { return channel_number(a) < channel_number(b); });
  return names;
}

// Name of a temperature without a label, by its index in xe, whose files start at 2; i915 has only the first.
std::string unlabelled_temperature(std::string_view index) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames{
      {{"1", "package"}, {"2", "package"}, {"3", "vram"}, {"4", "mctrl"}, {"5", "pcie"}}};
  for (const auto& [known, name] : kNames)
    if (index == known) return std::string(name);
  return "temp" + std::string(index);
}

template <class Quantity>
Reading<Quantity> scaled(Attribute& attribute, double divisor) {
  return attribute.signed_number().map(
      [&](std::int64_t value) { return Quantity{static_cast<double>(value) / divisor}; });
}

template <class Quantity>
Reading<Quantity> scaled_unless_zero(Attribute& attribute, double divisor) {
  const auto value = scaled<Quantity>(attribute, divisor);
  if (value && value->value <= 0) return Absent{Reason::hardware};
  return value;
}

}  // namespace

std::string sensor_name(std::string_view label) {
  if (label.empty() || label == "pkg") return "package";
  return std::string(label);
}

bool has_rated_power(const Gpu& gpu) {
  if (gpu.driver == Driver::i915) return true;
  const auto within = [&](std::uint16_t first, std::uint16_t last) {
    return gpu.device_id >= first && gpu.device_id <= last;
  };
  const bool dg2 = within(0x4f80, 0x4f88) || within(0x5690, 0x56c2);
  const bool ponte_vecchio = within(0x0b69, 0x0b6e) || within(0x0bd0, 0x0bdb);
  return dg2 || ponte_vecchio;
}

std::optional<std::string> Hwmon::read_word(const Directory& sys, const std::string& path) {
  std::array<char, 128> buffer;
  const auto text = sys.read(path, buffer);
  if (text) return std::string(trim(*text));
  if (text.is_failure()) unreadable = text.failure();
  return std::nullopt;
}

void Hwmon::add_folder(const Directory& sys, const std::string& folder) {
  found = true;
  const std::vector<std::string> names = sorted_names(sys, folder);
  // Empty: it has none; nullopt: it could not be read.
  const auto label_of = [&](std::string_view kind, std::string_view index) -> std::optional<std::string> {
    const std::string file = std::string(kind) + std::string(index) + "_label";
    if (!std::ranges::binary_search(names, file)) return std::string();
    return read_word(sys, folder + "/" + file);
  };
  const auto add = [](std::vector<Channel>& channels, Channel channel) {
    const auto same = [&](const Channel& known) { return known.name == channel.name; };
    if (std::ranges::none_of(channels, same)) channels.push_back(std::move(channel));
  };
  const auto add_limit = [](std::vector<Limit>& limits, Channel channel, std::string_view item,
                            std::initializer_list<std::string_view> known_limits) {
    const auto limit = std::ranges::find(known_limits, item);
    if (limit == known_limits.end()) return;
    const auto same = [&](const Limit& known) { return known.limit == *limit && known.channel.name == channel.name; };
    if (std::ranges::none_of(limits, same)) limits.push_back({std::move(channel), *limit});
  };
  for (const std::string& name : by_channel(names)) {
    const auto parts = parse(name);
    if (!parts) continue;
    std::optional<std::string> label = label_of(parts->kind, parts->index);
    // Where only some kinds of channels are labelled, an index means the same part of the card in all of them; voltages
    // alone are counted from 0.
    const unsigned part = channel_number(name) + (parts->kind == "in" ? 1 : 0);
    for (const std::string_view kind : {"energy", "power", "curr", "in"}) {
      if (!label || !label->empty() || parts->kind == "fan" || parts->kind == "temp" || part == 0) continue;
      label = label_of(kind, std::to_string(part - (kind == "in" ? 1 : 0)));
    }
    if (!label) continue;
    Channel channel{sensor_name(*label), std::string(parts->index), Attribute(sys, folder + "/" + name)};
    const bool input = parts->item == "input";
    if (parts->kind == "temp") {
      if (label->empty()) channel.name = unlabelled_temperature(parts->index);
      if (input) {
        add(temperatures, std::move(channel));
      } else {
        add_limit(temperature_limits, std::move(channel), parts->item, {"crit", "emergency"});
      }
    } else if (input && parts->kind == "fan") {
      channel.name = channel.index;
      add(fans, std::move(channel));
    } else if (input && parts->kind == "in") {
      add(voltages, std::move(channel));
    } else if (input && parts->kind == "energy") {
      add(energies, std::move(channel));
    } else if (parts->kind == "curr" && parts->item == "crit") {
      add(current_limits, std::move(channel));
    } else if (parts->kind == "power") {
      add_limit(power_limits, std::move(channel), parts->item, {"max", "cap", "rated_max", "crit"});
    }
  }
}

Hwmon Hwmon::of_gpu(const Directory& sys, const Gpu& gpu) {
  Hwmon hwmon;
  const std::string base = gpu.pci_path + "/hwmon";
  for (const std::string& name : sorted_names(sys, base)) {
    const std::string folder = base + "/" + name;
    // Per-GT devices (i915_gt0) repeat the card's energy in parts.
    if (hwmon.read_word(sys, folder + "/name") == to_string(gpu.driver)) hwmon.add_folder(sys, folder);
  }
  if (!has_rated_power(gpu))
    std::erase_if(hwmon.power_limits, [](const Limit& limit) { return limit.limit == "rated_max"; });
  return hwmon;
}

Hwmon Hwmon::of_cpu_package(const Directory& sys) {
  Hwmon hwmon;
  for (const std::string& name : sorted_names(sys, "class/hwmon")) {
    const std::string folder = "class/hwmon/" + name;
    if (hwmon.read_word(sys, folder + "/name") != "coretemp") continue;
    Hwmon all;
    all.add_folder(sys, folder);
    hwmon.found = true;
    hwmon.unreadable = std::move(all.unreadable);  // the names of other devices do not matter now
    for (Channel& channel : all.temperatures) {
      if (!channel.name.starts_with("Package id")) continue;
      // The first package: the one that has an integrated GPU.
      for (Limit& limit : all.temperature_limits) {
        if (limit.channel.name != channel.name) continue;
        limit.channel.name = "package";
        hwmon.temperature_limits.push_back(std::move(limit));
      }
      channel.name = "package";
      hwmon.temperatures.push_back(std::move(channel));
      return hwmon;
    }
  }
  return hwmon;
}

Watts Hwmon::highest_power() {
  constexpr double kMoreThanAnyCard = 1000;
  constexpr double kUnbelievable = 2000;
  // A limit may be lowered and be raised again between two scrapes.
  constexpr double kLeast = 300;
  double highest = 0;
  for (Limit& limit : power_limits)
    if (const auto stated = watts(limit.channel.attribute); stated && stated->value < kUnbelievable)
      highest = std::max(highest, stated->value);
  return Watts{highest > 0 ? std::max(highest, kLeast) : kMoreThanAnyCard};
}

Nanoseconds Hwmon::energy_lap(Watts power) {
  constexpr double kJoules = 262144;  // 2^32 / 2^14
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(kJoules / power.value));
}

Reading<Celsius> Hwmon::celsius(Attribute& attribute) {
  constexpr double kColdest = -100, kHottest = 200;
  const auto value = scaled<Celsius>(attribute, 1e3);
  if (value && (value->value < kColdest || value->value > kHottest)) return Absent{Reason::hardware};
  return value;
}
Reading<Celsius> Hwmon::celsius_limit(Attribute& attribute) {
  const auto value = celsius(attribute);
  if (value && value->value <= 0) return Absent{Reason::hardware};
  return value;
}
Reading<Volts> Hwmon::volts(Attribute& attribute) {
  const auto value = scaled<Volts>(attribute, 1e3);
  if (value && value->value < 0) return Absent{Reason::hardware};
  return value;
}
Reading<Watts> Hwmon::watts(Attribute& attribute) { return scaled_unless_zero<Watts>(attribute, 1e6); }
Reading<Amperes> Hwmon::amperes(Attribute& attribute) { return scaled_unless_zero<Amperes>(attribute, 1e3); }

Reading<std::optional<Rpm>> Hwmon::rpm(Attribute& attribute) {
  const auto value = scaled<Rpm>(attribute, 1);
  if (value.is_failure() && value.failure().code == std::errc::resource_unavailable_try_again)
    return std::optional<Rpm>();
  if (!value) return value.propagate<std::optional<Rpm>>();
  if (value->value < 0) return Absent{Reason::hardware};
  return std::optional<Rpm>(*value);
}

}  // namespace igpu
