// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fake/simulation/simulated_parts.h"

// drivers/powercap/powercap_sys.c, drivers/hwmon/coretemp.c, and devices that the exporter must ignore.
namespace igpu::simulation {

namespace {

constexpr std::uint64_t kEnergyRange = 262'143'328'850;  // microjoules: where the counter of a client processor wraps

// parent: "" or "intel-rapl:0". power: nullptr for the control type itself.
void render_zone(Tree& sys, const std::string& type, const std::string& parent, const std::string& zone,
                 const char* name, const Course& power) {
  const std::string base = "devices/virtual/powercap/" + type;
  const Folder folder(sys, (parent.empty() ? base : base + "/" + parent) + "/" + zone);
  sys.link("class/powercap/" + zone, "../../" + folder.path());
  folder.file("name", name);
  folder.number("max_energy_range_uj", kEnergyRange);
  folder.value(
      "energy_uj", [&power](ScriptTime now) { return power.integral(now) % kEnergyRange; }, 0400);
}

void render_powercap(Tree& sys, const MachineScript& script) {
  const HostScript& host = script.host;
  for (const char* type : {"intel-rapl", "intel-rapl-mmio"}) {
    const std::string path = "devices/virtual/powercap/" + std::string(type);
    sys.link("class/powercap/" + std::string(type), "../../" + path);
    sys.directory(path);
  }
  render_zone(sys, "intel-rapl", "", "intel-rapl:0", "package-0", host.package_microwatts);
  render_zone(sys, "intel-rapl", "intel-rapl:0", "intel-rapl:0:0", "core", host.cores_microwatts);
  for (const GpuScript& gpu : script.gpus) {
    if (gpu.model.kind == GpuKind::integrated)
      render_zone(sys, "intel-rapl", "intel-rapl:0", "intel-rapl:0:1", "uncore", gpu.package_microwatts);
  }
  if (host.has_psys) render_zone(sys, "intel-rapl", "", "intel-rapl:1", "psys", host.psys_microwatts);
  // The same package again, through its memory-mapped registers.
  render_zone(sys, "intel-rapl-mmio", "", "intel-rapl-mmio:0", "package-0", host.package_microwatts);
}

void render_coretemp(Tree& sys, const HostScript& host) {
  const Folder hwmon = render_hwmon(sys, "devices/platform/coretemp.0", 1, "coretemp");
  const auto sensor = [&](unsigned index, const std::string& label, unsigned below) {
    const std::string name = "temp" + std::to_string(index);
    hwmon.file(name + "_label", label);
    hwmon.number(name + "_crit", 100'000);
    hwmon.value(name + "_input", [&host, below](ScriptTime now) {
      return std::max<std::uint64_t>(host.temperature.value(now), below) - below;
    });
  };
  sensor(1, "Package id 0", 0);
  for (unsigned core = 0; core < host.cores / 2; ++core)
    sensor(2 + core, "Core " + std::to_string(core), core % 3 * 1000);
}

void render_nvme(Tree& sys) {
  const std::string path = "devices/pci0000:00/0000:00:1d.0/0000:0b:00.0";
  render_pci_function(sys, "devices/pci0000:00/0000:00:1d.0", {0x8086, 0x7ab0, 0x060400, 0x11, 0, 0, "pcieport", -1});
  render_pci_function(sys, path, {0x144d, 0xa80a, 0x010802, 0, 0x144d, 0xa801, "nvme", -1});
  const Folder hwmon = render_hwmon(sys, path + "/nvme/nvme0", 0, "nvme");
  hwmon.file("temp1_label", "Composite");
  hwmon.number("temp1_input", 41'850);
}

// The display adapter of a server's management controller: it draws the console and is not a GPU.
void render_bmc_display(Tree& sys) {
  const std::string path = "devices/pci0000:00/0000:00:1c.4/0000:0a:00.0";
  render_pci_function(sys, path, {0x1a03, 0x2000, 0x030000, 0x52, 0x1a03, 0x2000, "ast", -1});
  sys.file(path + "/power/runtime_status", "active\n");
  const std::string card = path + "/drm/card0";
  sys.link("class/drm/card0", "../../" + card);
  sys.link("class/drm/card0-VGA-1", "../../" + card + "/card0-VGA-1");
  sys.link(card + "/device", "../..");
  sys.file(card + "/dev", "226:0\n");
  sys.file(card + "/card0-VGA-1/status", "connected\n");
}

// drivers/accel/ivpu/ivpu_sysfs.c. The clock runs only while there are jobs, and the NPU sleeps without them.
void render_npu(Tree& sys, const NpuScript& npu) {
  const std::string path = npu.pci_path();
  render_pci_function(sys, path, {0x8086, npu.device_id, 0x120000, 0x04, 0x8086, 0x7270, "intel_vpu", -1});
  sys.link("class/accel/accel0", "../../" + path + "/accel/accel0");
  sys.link(path + "/accel/accel0/device", "../..");
  const Folder device(sys, path);
  device.file("accel/accel0/dev", "261:0");
  device.file("sched_mode", "HW");
  device.value("npu_busy_time_us", [&npu](ScriptTime now) { return npu.busy.integral(now) / 1000; });
  device.value("npu_memory_utilization", [&npu](ScriptTime now) { return npu.resident_bytes.value(now); });
  device.number("npu_max_frequency_mhz", npu.max_megahertz);
  device.value("npu_current_frequency_mhz",
               [&npu](ScriptTime now) { return npu.busy.value(now) > 0 ? npu.max_megahertz : 0; });
  device.file("power/control", "auto", 0644);
  device.value("power/runtime_status",
               [&npu](ScriptTime now) { return npu.busy.value(now) > 0 ? "active" : "suspended"; });
}

}  // namespace

void render_host(Tree& sys, const MachineScript& script) {
  const HostScript& host = script.host;
  render_pci_function(sys, "devices/pci0000:00/0000:00:00.0", {0x8086, 0x4660, 0x060000, 0x02, 0x8086, 0x7270, "", -1});
  render_powercap(sys, script);
  render_coretemp(sys, host);
  render_nvme(sys);
  sys.file("class/devcoredump/disabled", "0\n");  // the class exists without a dump
  if (host.has_bmc_display) render_bmc_display(sys);
  for (const NpuScript& npu : script.npus) render_npu(sys, npu);
}

void render_device_nodes(Tree& dev, const MachineScript& script) {
  for (const GpuScript& gpu : script.gpus) {
    dev.device("dri/" + gpu.card_name(), 226, gpu.card, 0660);
    dev.device("dri/" + gpu.render_name(), 226, gpu.render_minor, 0660);
    dev.link("dri/by-path/pci-" + gpu.address + "-card", "../" + gpu.card_name());
    dev.link("dri/by-path/pci-" + gpu.address + "-render", "../" + gpu.render_name());
  }
  if (script.host.has_bmc_display) dev.device("dri/card0", 226, 0, 0660);
  if (!script.npus.empty()) dev.device("accel/accel0", 261, 0, 0660);
}

}  // namespace igpu::simulation
