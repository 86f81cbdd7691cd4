// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/hexadecimal.h"
#include "base/scan.h"
#include "fake/simulation/renderers.h"

// drivers/pci/pci-sysfs.c, drivers/base/power/sysfs.c, drivers/gpu/drm/drm_sysfs.c
namespace igpu::simulation {

namespace {

std::string hex(std::uint64_t number, std::size_t digits) { return "0x" + hexadecimal(number, digits); }

void render_runtime_pm(Tree& sys, const std::string& path, bool suspended) {
  const Folder power(sys, path + "/power");
  power.file("control", "auto", 0644);
  power.file("runtime_status", suspended ? "suspended" : "active");
  power.number("runtime_usage", suspended ? 0 : 2);
  power.number("autosuspend_delay_ms", 1000, 0644);
}

struct Link {
  std::string current_speed, max_speed;
  unsigned current_width, max_width;
};

std::string speed_text(double gigatransfers) {
  const long tenths = std::lround(gigatransfers * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GT/s PCIe";
}

// Reading the link resumes the device.
void render_link(const Folder& device, const Link& link) {
  device.file("current_link_speed", link.current_speed);
  device.file("max_link_speed", link.max_speed);
  device.number("current_link_width", link.current_width);
  device.number("max_link_width", link.max_width);
}

// drivers/pci/pcie/aer.c: the switch's upstream port and the root port count the errors of the slot, the GPU none.
// Nothing is ever corrected but a few packets that were damaged on their way through the slot.
void render_aer(Tree& sys, const std::string& path, unsigned damaged) {
  const auto file = [&](std::string_view severity, std::initializer_list<std::string_view> types,
                        std::string_view total) {
    std::string text;
    for (const std::string_view type : types)
      text += std::string(type) + " " + std::to_string(type == "BadTLP" ? damaged : 0) + "\n";
    const bool any = severity == "correctable";
    text += "TOTAL_ERR_" + std::string(total) + " " + std::to_string(any ? damaged : 0) + "\n";
    sys.file(path + "/aer_dev_" + std::string(severity), std::move(text));
  };
  file("correctable", {"RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"},
       "COR");
  for (const auto& [severity, total] :
       {std::pair<std::string_view, std::string_view>{"nonfatal", "NONFATAL"}, {"fatal", "FATAL"}})
    file(severity,
         {"Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC",
          "UnsupReq", "ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked"},
         total);
}

// Root port, upstream and downstream port of the switch on the card. Functions below the downstream port have no lanes
// and report Gen1 x1.
void render_bridges(Tree& sys, const GpuScript& gpu, const RuntimePower& power) {
  const GpuModel& model = gpu.model;
  const bool battlemage = model.driver == Driver::xe;
  const unsigned lanes = std::min(model.card_lanes, model.slot_lanes);
  const std::string speed = speed_text(model.link_gigatransfers);
  const std::string inside = speed_text(2.5);
  const std::array<std::uint16_t, 3> ids{static_cast<std::uint16_t>(0x460d),
                                         static_cast<std::uint16_t>(battlemage ? 0xe2ff : 0x4fa1),
                                         static_cast<std::uint16_t>(battlemage ? 0xe2f0 : 0x4fa4)};
  const std::array<Link, 3> links{
      {{speed, speed, lanes, model.slot_lanes}, {speed, speed, lanes, model.card_lanes}, {inside, inside, 1, 1}}};
  std::string path = "devices/pci0000:00";
  for (std::size_t i = 0; i < gpu.bridges.size() && i < ids.size(); ++i) {
    path += "/" + gpu.bridges[i];
    render_pci_function(sys, path, {0x8086, ids[i], 0x060400, 0x01, 0x0000, 0x0000, "pcieport", gpu.numa_node});
    render_runtime_pm(sys, path, gpu.suspended);
    render_link(Folder(sys, path, &power), links[i]);
    if (battlemage) render_aer(sys, path, i == 0 ? 3 : 0);
  }
  render_link(Folder(sys, gpu.pci_path(), &power), {inside, inside, 1, 1});
}

void render_drm_node(Tree& sys, const std::string& pci_path, const std::string& name, unsigned minor) {
  const std::string node = pci_path + "/drm/" + name;
  sys.link("class/drm/" + name, "../../" + node);
  sys.link(node + "/device", "../..");
  sys.file(node + "/dev", "226:" + std::to_string(minor) + "\n");
}

void render_connector(Tree& sys, const std::string& pci_path, const std::string& card, std::string_view connector,
                      unsigned id, bool connected) {
  const std::string name = card + "-" + std::string(connector);
  const std::string path = pci_path + "/drm/" + card + "/" + name;
  sys.link("class/drm/" + name, "../../" + path);
  sys.link(path + "/device", "../../" + card);
  const Folder folder(sys, path);
  folder.value(
      "status", [connected](ScriptTime now) { return connected && has_monitor(now) ? "connected" : "disconnected"; },
      0644);
  folder.number("connector_id", id);
  folder.file("enabled", connected ? "enabled" : "disabled");
  sys.file(path + "/modes", connected ? "3840x2160\n1920x1080\n" : "");
}

}  // namespace

bool has_monitor(ScriptTime now) { return hotplugs(now) % 2 == 0; }

std::uint64_t hotplugs(ScriptTime until) {
  constexpr ScriptTime kEvery = std::chrono::minutes(10), kGone = std::chrono::seconds(4);
  return static_cast<std::uint64_t>(until / kEvery + (until + kGone) / kEvery);
}

std::string output_of(const GpuScript& gpu) { return "HDMI-A-" + std::to_string(gpu.card + 1); }
unsigned output_id(const GpuScript& gpu) { return 236 + 16 * gpu.card; }

std::string up_from(std::string_view path) {
  std::string up = "..";
  for (const char c : path) {
    if (c == '/') up += "/..";
  }
  return up;
}

void render_pci_function(Tree& sys, const std::string& path, const PciIds& ids) {
  const std::string address(last_part(path));
  const Folder folder(sys, path);
  folder.file("vendor", hex(ids.vendor, 4));
  folder.file("device", hex(ids.device, 4));
  folder.file("class", hex(ids.pci_class, 6));
  folder.file("revision", hex(ids.revision, 2));
  folder.file("subsystem_vendor", hex(ids.subsystem_vendor, 4));
  folder.file("subsystem_device", hex(ids.subsystem_device, 4));
  folder.file("numa_node", std::to_string(ids.numa_node));
  folder.number("d3cold_allowed", 1);
  sys.link("bus/pci/devices/" + address, "../../../" + path);
  if (ids.driver.empty()) return;
  const std::string driver = "bus/pci/drivers/" + std::string(ids.driver);
  sys.link(path + "/driver", up_from(path) + "/" + driver);
  sys.link(driver + "/" + address, "../../../../" + path);
}

Folder render_hwmon(Tree& sys, const std::string& device_path, unsigned number, const std::string& name) {
  const std::string hwmon = "hwmon" + std::to_string(number);
  const Folder folder(sys, device_path + "/hwmon/" + hwmon);
  sys.link("class/hwmon/" + hwmon, "../../" + folder.path());
  folder.file("name", name);
  return folder;
}

void render_gpu(Tree& sys, const GpuScript& gpu, const RuntimePower& power) {
  const GpuModel& model = gpu.model;
  const std::string path = gpu.pci_path();
  render_pci_function(sys, path,
                      {0x8086, model.device_id, 0x030000, model.revision, model.subsystem_vendor,
                       model.subsystem_device, to_string(model.driver), gpu.numa_node});
  render_runtime_pm(sys, path, gpu.suspended);
  if (!gpu.bridges.empty()) render_bridges(sys, gpu, power);
  const std::string card = gpu.card_name();
  sys.file("class/drm/version", "drm 1.1.0 20060810\n");
  render_drm_node(sys, path, card, gpu.card);
  render_drm_node(sys, path, gpu.render_name(), gpu.render_minor);
  render_connector(sys, path, card, output_of(gpu), output_id(gpu), !gpu.suspended);
  render_connector(sys, path, card, "DP-" + std::to_string(gpu.card + 1), output_id(gpu) + 8, false);
  if (gpu.total_functions > 0) render_functions(sys, gpu);
  const bool is_i915 = model.driver == Driver::i915;
  (is_i915 ? render_i915_card : render_xe_tiles)(sys, gpu, power);
  if (model.kind == GpuKind::integrated) return;
  const Folder quiet = render_hwmon(sys, path, gpu.hwmon, to_string(model.driver));
  const Folder waking(sys, quiet.path(), &power);
  if (is_i915)
    render_i915_hwmon(waking, gpu);
  else
    render_xe_hwmon(quiet, waking, gpu);
}

}  // namespace igpu::simulation
