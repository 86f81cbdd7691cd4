// SPDX-License-Identifier: Apache-2.0

#include "fake/simulation/renderers.h"

// drivers/gpu/drm/i915: gt/intel_gt_sysfs_pm.c, i915_sysfs.c, i915_hwmon.c
namespace igpu::simulation {

namespace {

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

}  // namespace

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

}  // namespace igpu::simulation
