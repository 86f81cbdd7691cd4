// SPDX-License-Identifier: Apache-2.0
// What sysfs has of a GPU. drivers/pci/pci-sysfs.c, drivers/base/power/sysfs.c, drivers/gpu/drm/drm_sysfs.c
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/scan.h"
#include "fake/simulation/simulated_parts.h"

namespace igpu::simulation {
namespace {

std::string hex(std::uint64_t number, std::size_t digits) { return "0x" + hexadecimal(number, digits); }

// "../" as often as path has components, without the last slash.
std::string up_from(std::string_view path) {
  std::string up = "..";
  for (const char c : path) {
    if (c == '/') up += "/..";
  }
  return up;
}

}  // namespace

std::uint64_t hotplugs(ScriptTime until) {
  constexpr ScriptTime kEvery = std::chrono::minutes(10), kGone = std::chrono::seconds(4);
  return static_cast<std::uint64_t>(until / kEvery + (until + kGone) / kEvery);
}

unsigned output_id(const GpuScript& gpu) { return 236 + 16 * gpu.card; }

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

namespace {

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
      "status",
      [connected](ScriptTime now) { return connected && hotplugs(now) % 2 == 0 ? "connected" : "disconnected"; }, 0644);
  folder.number("connector_id", id);
  folder.file("enabled", connected ? "enabled" : "disabled");
  sys.file(path + "/modes", connected ? "3840x2160\n1920x1080\n" : "");
}

// ---- SR-IOV: drivers/pci/iov.c, drivers/vfio/vfio_main.c, drivers/gpu/drm/xe: xe_sriov_pf_sysfs.c,
// xe_gt_sriov_pf_monitor.c ----

// Time slice and preemption timeout of each function, the physical function included.
constexpr unsigned kFunctionMilliseconds = 20;

// All functions that could be enabled have a folder; those that are, a link as well.
void render_profiles(Tree& sys, const GpuScript& gpu) {
  const std::string admin = gpu.pci_path() + "/sriov_admin/";
  const auto profile = [&](const std::string& function, std::uint64_t vram_quota) {
    const std::string path = admin + function + "/profile/";
    sys.file(path + "exec_quantum_ms", std::to_string(kFunctionMilliseconds) + "\n", 0644);
    sys.file(path + "preempt_timeout_us", std::to_string(kFunctionMilliseconds * 1000) + "\n", 0644);
    if (function != "pf") sys.file(path + "vram_quota", std::to_string(vram_quota) + "\n", 0644);
  };
  profile("pf", 0);
  for (unsigned number = 1; number <= gpu.total_functions; ++number) {
    const bool enabled = number <= gpu.functions.size();
    profile("vf" + std::to_string(number), enabled ? gpu.functions[number - 1].vram_quota : 0);
  }
  for (const FunctionScript& function : gpu.functions)
    sys.link(admin + "vf" + std::to_string(function.number) + "/device", "../../../" + gpu.address_of(function));
}

void render_adverse_events(Tree& sys, const GpuScript& gpu) {
  sys.directory("kernel/debug").permissions = 0700;
  for (unsigned gt = 0; gt < gpu.gts.size(); ++gt) {
    const std::string path =
        "kernel/debug/dri/" + gpu.address + "/sriov/pf/tile0/gt" + std::to_string(gt) + "/adverse_events";
    sys.file(path, [&gpu, gt](Text& out, ScriptTime now) {
      for (const FunctionScript& function : gpu.functions) {
        const std::uint64_t resets = gt == 0 ? function.resets(now) : 0;
        if (resets == 0) continue;
        out << "VF" << function.number << ":\tcat_error_count:0 engine_reset_count:" << resets
            << " page_fault_count:0 guc_time_us:0 irq_time_us:0 doorbell_time_us:0\n";
      }
    });
  }
}

// The virtual functions of a GPU, and the driver's files about them.
void render_functions(Tree& sys, const GpuScript& gpu) {
  const GpuModel& model = gpu.model;
  const std::string path = gpu.pci_path();
  sys.file(path + "/sriov_totalvfs", std::to_string(gpu.total_functions) + "\n");
  sys.file(path + "/sriov_numvfs", std::to_string(gpu.functions.size()) + "\n", 0644);
  sys.file(path + "/sriov_drivers_autoprobe", "0\n", 0644);
  for (const FunctionScript& function : gpu.functions) {
    const std::string below = gpu.path_of(function);
    render_pci_function(sys, below,
                        {0x8086, model.device_id, 0x030000, model.revision, model.subsystem_vendor,
                         model.subsystem_device, function.driver, gpu.numa_node});
    sys.link(below + "/physfn", "../" + gpu.address);
    sys.link(path + "/virtfn" + std::to_string(function.number - 1), "../" + gpu.address_of(function));
    const std::string group = "kernel/iommu_groups/" + std::to_string(gpu.group_of(function));
    sys.link(below + "/iommu_group", up_from(below) + "/" + group);
    sys.link(group + "/devices/" + gpu.address_of(function), "../../../../" + below);
    if (!function.driver.empty()) sys.directory(below + "/vfio-dev/vfio" + std::to_string(function.number - 1));
  }
  render_profiles(sys, gpu);
  render_adverse_events(sys, gpu);
}

// ---- drivers/gpu/drm/i915: gt/intel_gt_sysfs_pm.c, i915_sysfs.c, i915_hwmon.c ----

void render_i915_gt(Tree& sys, const std::string& path, const GtScript& gt, bool suspended, const RuntimePower& power) {
  const Folder quiet(sys, path), waking(sys, path, &power);
  quiet.value("rps_act_freq_mhz", [&gt, suspended](ScriptTime now) { return suspended ? 0 : gt.actual_mhz(now); });
  quiet.value("rps_cur_freq_mhz",
              [&gt, suspended](ScriptTime now) { return suspended ? 0 : gt.requested_khz.value(now) / 1000; });
  for (const char* setting : {"max", "boost"})
    quiet.number("rps_" + std::string(setting) + "_freq_mhz", gt.model.rp0, 0644);
  quiet.number("rps_min_freq_mhz", gt.model.rpn, 0644);
  quiet.number("rps_RP0_freq_mhz", gt.model.rp0);
  quiet.number("rps_RP1_freq_mhz", gt.model.rp1);
  quiet.number("rps_RPn_freq_mhz", gt.model.rpn);
  waking.value("rc6_residency_ms", [&gt](ScriptTime now) {
    return static_cast<std::uint32_t>(gt.asleep.integral(now) / 1'000'000);  // a u32 in the kernel
  });
  for (const char* reason : {"status", "pl1"})
    waking.value("throttle_reason_" + std::string(reason),
                 [&gt](ScriptTime now) { return gt.pl1_throttled.value(now); });
  for (const char* reason : {"pl2", "pl4", "thermal", "prochot", "ratl", "vr_thermalert", "vr_tdc"})
    waking.number("throttle_reason_" + std::string(reason), 0);
}

void render_i915_card(Tree& sys, const GpuScript& gpu, const RuntimePower& power) {
  const std::string card = gpu.pci_path() + "/drm/" + gpu.card_name();
  sys.file(card + "/error", "No error state collected\n", 0600);
  for (unsigned number = 0; number < gpu.gts.size(); ++number)
    render_i915_gt(sys, card + "/gt/gt" + std::to_string(number), gpu.gts[number], gpu.suspended, power);
}

void render_i915_hwmon(const Folder& hwmon, const GpuScript& gpu) {
  const auto limit = static_cast<std::uint64_t>(gpu.model.power_limit_watts) * 1'000'000;
  hwmon.value("energy1_input", [&gpu](ScriptTime now) { return gpu.package_microwatts.integral(now); });
  hwmon.number("power1_max", limit, 0664);
  hwmon.number("power1_rated_max", limit / 190 * 225);
  hwmon.number("power1_crit", limit * 2, 0644);
  hwmon.value("in0_input", [&gpu](ScriptTime now) { return 600 + gpu.gts.front().actual_khz.value(now) / 5000; });
  hwmon.value("fan1_input", [&gpu](ScriptTime now) { return 620 + gpu.temperature.value(now) / 50; });
  hwmon.value("temp1_input", [&gpu](ScriptTime now) { return gpu.temperature.value(now); });
}

// ---- drivers/gpu/drm/xe: xe_gt_freq.c, xe_gt_idle.c, xe_gt_throttle.c, xe_hwmon.c ----

void render_xe_gt(Tree& sys, const std::string& path, const GtScript& gt, const RuntimePower& power) {
  const Folder quiet(sys, path + "/freq0"), freq(sys, path + "/freq0", &power);
  freq.value("act_freq", [&gt](ScriptTime now) { return gt.actual_mhz(now); });
  freq.value("cur_freq", [&gt](ScriptTime now) { return gt.requested_khz.value(now) / 1000; });
  freq.number("min_freq", gt.model.rpn, 0644);
  freq.number("max_freq", gt.model.rp0, 0644);
  freq.number("rpe_freq", gt.model.rp1);
  freq.number("rpa_freq", gt.model.rp0);
  quiet.number("rp0_freq", gt.model.rp0);
  quiet.number("rpn_freq", gt.model.rpn);
  for (const char* name : {"throttle/status", "throttle/reason_pl1"})
    freq.value(name, [&gt](ScriptTime now) { return gt.pl1_throttled.value(now); });
  for (const char* reason : {"pl2", "pl4", "thermal", "prochot", "ratl", "vr_thermalert", "vr_tdc"})
    freq.number("throttle/reason_" + std::string(reason), 0);
  freq.value("throttle/reasons", [&gt](ScriptTime now) { return gt.pl1_throttled.value(now) != 0 ? "pl1" : "none"; });
  const Folder idle(sys, path + "/gtidle", &power);
  idle.value("idle_residency_ms", [&gt](ScriptTime now) { return gt.asleep.integral(now) / 1'000'000; });
}

void render_xe_tiles(Tree& sys, const GpuScript& gpu, const RuntimePower& power) {
  const Folder device(sys, gpu.pci_path(), &power);
  for (unsigned number = 0; number < gpu.gts.size(); ++number)
    render_xe_gt(sys, device.path() + "/tile0/gt" + std::to_string(number), gpu.gts[number], power);
  if (gpu.model.kind == GpuKind::discrete) device.number("auto_link_downgrade_status", 0, 0400);
}

// quiet: the same folder, for the files whose reading does not resume the GPU.
void render_xe_hwmon(const Folder& quiet, const Folder& hwmon, const GpuScript& gpu) {
  const auto energy = [&](const std::string& name, const char* label, const Course& microwatts) {
    quiet.file(name + "_label", label);
    hwmon.value(name + "_input", [&microwatts](ScriptTime now) { return microwatts.integral(now); });
  };
  energy("energy1", "card", gpu.card_microwatts);
  energy("energy2", "pkg", gpu.package_microwatts);

  const auto limit = static_cast<std::uint64_t>(gpu.model.power_limit_watts) * 1'000'000;
  quiet.file("power1_label", "card");
  hwmon.number("power1_cap", limit, 0664);
  hwmon.number("power1_crit", limit * 2, 0644);

  const auto temperature = [&](unsigned index, const std::string& label, unsigned above, unsigned crit,
                               unsigned emergency) {
    const std::string name = "temp" + std::to_string(index);
    quiet.file(name + "_label", label);
    hwmon.number(name + "_crit", crit);
    hwmon.number(name + "_emergency", emergency);
    hwmon.value(name + "_input", [&gpu, above](ScriptTime now) { return gpu.temperature.value(now) + above; });
  };
  temperature(2, "pkg", 0, 100'000, 125'000);
  temperature(3, "vram", 4'000, 105'000, 120'000);
  temperature(4, "mctrl", 1'000, 100'000, 125'000);
  temperature(5, "pcie", 5'000, 100'000, 125'000);
  for (unsigned channel = 0; channel < 12; ++channel)
    temperature(6 + channel, "vram_ch_" + std::to_string(channel), 1'000 + channel % 3 * 1'000, 105'000, 120'000);

  hwmon.value("fan1_input", [&gpu](ScriptTime now) { return 640 + gpu.temperature.value(now) / 60; });
  hwmon.value("fan2_input", [&gpu](ScriptTime now) { return 610 + gpu.temperature.value(now) / 60; });
  hwmon.number("fan3_input", 0);  // no third fan on this card
}

}  // namespace

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
  const std::string number = std::to_string(gpu.card + 1);
  render_connector(sys, path, card, "HDMI-A-" + number, output_id(gpu), !gpu.suspended);
  render_connector(sys, path, card, "DP-" + number, output_id(gpu) + 8, false);
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
