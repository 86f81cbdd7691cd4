// SPDX-License-Identifier: Apache-2.0

#include "fake/simulation/renderers.h"

// drivers/gpu/drm/xe: xe_gt_freq.c, xe_gt_idle.c, xe_gt_throttle.c, xe_hwmon.c
namespace igpu::simulation {

namespace {

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

}  // namespace

void render_xe_tiles(Tree& sys, const GpuScript& gpu, const RuntimePower& power) {
  const Folder device(sys, gpu.pci_path(), &power);
  for (unsigned number = 0; number < gpu.gts.size(); ++number)
    render_xe_gt(sys, device.path() + "/tile0/gt" + std::to_string(number), gpu.gts[number], power);
  if (gpu.model.kind == GpuKind::discrete) device.number("auto_link_downgrade_status", 0, 0400);
}

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

}  // namespace igpu::simulation
