// SPDX-License-Identifier: Apache-2.0

#include "simulation/renderers.h"

// drivers/gpu/drm/i915: gt/intel_gt_sysfs_pm.c, i915_sysfs.c, i915_hwmon.c
namespace igpu::simulation {

namespace {

std::uint64_t actual_mhz(const GtScript& gt, ScriptTime now) {
  return gt.parked(now) ? 0 : gt.actual_khz.value(now) / 1000;
}

std::uint64_t residency_ms(const GtScript& gt, ScriptTime now) {
  return static_cast<std::uint32_t>(gt.asleep.integral(now) / 1'000'000);  // a u32 in the kernel
}

void render_frequencies(Tree& sys, const std::string& prefix, const GtScript& gt, bool suspended) {
  const GtModel& model = gt.model;
  number_file(sys, prefix + "act_freq_mhz",
              [&gt, suspended](ScriptTime now) { return suspended ? 0 : actual_mhz(gt, now); });
  number_file(sys, prefix + "cur_freq_mhz",
              [&gt, suspended](ScriptTime now) { return suspended ? 0 : gt.requested_khz.value(now) / 1000; });
  const auto fixed = [&](std::string_view name, unsigned mhz, std::uint32_t permissions) {
    sys.file(prefix + std::string(name) + "_freq_mhz", std::to_string(mhz) + "\n", permissions);
  };
  fixed("min", model.rpn, 0644);
  fixed("max", model.rp0, 0644);
  fixed("boost", model.rp0, 0644);
  fixed("RP0", model.rp0, 0444);
  fixed("RP1", model.rp1, 0444);
  fixed("RPn", model.rpn, 0444);
}

void render_throttle(Tree& sys, const std::string& gt_path, const GtScript& gt, RuntimePower& power) {
  for (const char* reason : {"status", "pl1"}) {
    number_file(sys, gt_path + "throttle_reason_" + reason, [&gt](ScriptTime now) {
      return gt.pl1_throttled.value(now);
    }).wakes = &power;
  }
  for (const char* reason : {"pl2", "pl4", "thermal", "prochot", "ratl", "vr_thermalert", "vr_tdc"})
    sys.file(gt_path + "throttle_reason_" + reason, "0\n").wakes = &power;
}

void render_gt(Tree& sys, const std::string& gt_path, unsigned number, const GpuScript& gpu, RuntimePower& power) {
  const GtScript& gt = gpu.gts[number];
  render_frequencies(sys, gt_path + "rps_", gt, power.suspended());
  number_file(sys, gt_path + "rc6_residency_ms", [&gt](ScriptTime now) { return residency_ms(gt, now); }).wakes =
      &power;
  render_throttle(sys, gt_path, gt, power);
}

}  // namespace

void render_i915_card(Tree& sys, const GpuScript& gpu, RuntimePower& power) {
  const std::string card = gpu.pci_path() + "/drm/" + gpu.card_name();
  sys.file(card + "/error", "No error state collected\n", 0600);
  for (unsigned number = 0; number < gpu.gts.size(); ++number)
    render_gt(sys, card + "/gt/gt" + std::to_string(number) + "/", number, gpu, power);
}

void render_i915_hwmon(Tree& sys, const GpuScript& gpu, RuntimePower& power) {
  const std::string device = gpu.pci_path();
  render_hwmon_links(sys, device, gpu.hwmon, "i915");
  const std::string path = device + "/hwmon/hwmon" + std::to_string(gpu.hwmon) + "/";
  const auto limit = static_cast<std::uint64_t>(gpu.model.power_limit_watts) * 1'000'000;
  number_file(sys, path + "energy1_input", [&gpu](ScriptTime now) {
    return gpu.package_microwatts.integral(now);
  }).wakes = &power;
  sys.file(path + "power1_max", std::to_string(limit) + "\n", 0664).wakes = &power;
  sys.file(path + "power1_rated_max", std::to_string(limit / 190 * 225) + "\n").wakes = &power;
  sys.file(path + "power1_crit", std::to_string(limit * 2) + "\n", 0644).wakes = &power;
  number_file(sys, path + "in0_input", [&gpu](ScriptTime now) {
    return 600 + gpu.gts.front().actual_khz.value(now) / 5000;
  }).wakes = &power;
  number_file(sys, path + "fan1_input", [&gpu](ScriptTime now) {
    return 620 + gpu.temperature.value(now) / 50;
  }).wakes = &power;
  number_file(sys, path + "temp1_input", [&gpu](ScriptTime now) { return gpu.temperature.value(now); }).wakes = &power;
}

}  // namespace igpu::simulation
