// SPDX-License-Identifier: Apache-2.0

#include "simulation/renderers.h"

// drivers/gpu/drm/xe: xe_gt_freq.c, xe_gt_idle.c, xe_gt_throttle.c, xe_hwmon.c
namespace igpu::simulation {

namespace {

void render_frequencies(Tree& sys, const std::string& freq, const GtScript& gt, RuntimePower& power) {
  number_file(sys, freq + "act_freq", [&gt](ScriptTime now) {
    return gt.parked(now) ? 0 : gt.actual_khz.value(now) / 1000;
  }).wakes = &power;
  number_file(sys, freq + "cur_freq", [&gt](ScriptTime now) { return gt.requested_khz.value(now) / 1000; }).wakes =
      &power;
  const auto fixed = [&](std::string_view name, unsigned mhz, std::uint32_t permissions) -> Node& {
    return sys.file(freq + std::string(name), std::to_string(mhz) + "\n", permissions);
  };
  fixed("min_freq", gt.model.rpn, 0644).wakes = &power;
  fixed("max_freq", gt.model.rp0, 0644).wakes = &power;
  fixed("rpe_freq", gt.model.rp1, 0444).wakes = &power;
  fixed("rpa_freq", gt.model.rp0, 0444).wakes = &power;
  fixed("rp0_freq", gt.model.rp0, 0444);
  fixed("rpn_freq", gt.model.rpn, 0444);
}

void render_throttle(Tree& sys, const std::string& throttle, const GtScript& gt, RuntimePower& power) {
  for (const char* name : {"status", "reason_pl1"}) {
    number_file(sys, throttle + name, [&gt](ScriptTime now) { return gt.pl1_throttled.value(now); }).wakes = &power;
  }
  for (const char* reason : {"pl2", "pl4", "thermal", "prochot", "ratl", "vr_thermalert", "vr_tdc"})
    sys.file(throttle + "reason_" + reason, "0\n").wakes = &power;
  sys.file(throttle + "reasons",
           [&gt](TextWriter& out, ScriptTime now) { out << (gt.pl1_throttled.value(now) != 0 ? "pl1\n" : "none\n"); })
      .wakes = &power;
}

}  // namespace

void render_xe_tiles(Tree& sys, const GpuScript& gpu, RuntimePower& power) {
  const std::string device = gpu.pci_path();
  for (unsigned number = 0; number < gpu.gts.size(); ++number) {
    const GtScript& gt = gpu.gts[number];
    const std::string path = device + "/tile0/gt" + std::to_string(number) + "/";
    render_frequencies(sys, path + "freq0/", gt, power);
    render_throttle(sys, path + "freq0/throttle/", gt, power);
    number_file(sys, path + "gtidle/idle_residency_ms", [&gt](ScriptTime now) {
      return gt.asleep.integral(now) / 1'000'000;
    }).wakes = &power;
  }
  if (gpu.model.kind == GpuKind::integrated) return;
  sys.file(device + "/auto_link_downgrade_status", "0\n", 0400).wakes = &power;
}

void render_xe_hwmon(Tree& sys, const GpuScript& gpu, RuntimePower& power) {
  const std::string device = gpu.pci_path();
  render_hwmon_links(sys, device, gpu.hwmon, "xe");
  const std::string path = device + "/hwmon/hwmon" + std::to_string(gpu.hwmon) + "/";
  const auto energy = [&](const char* index, const char* label, const Course& microwatts) {
    const std::string name = path + "energy" + index;
    sys.file(name + "_label", std::string(label) + "\n");
    number_file(sys, name + "_input", [&microwatts](ScriptTime now) { return microwatts.integral(now); }).wakes =
        &power;
  };
  energy("1", "card", gpu.card_microwatts);
  energy("2", "pkg", gpu.package_microwatts);

  const auto limit = static_cast<std::uint64_t>(gpu.model.power_limit_watts) * 1'000'000;
  sys.file(path + "power1_label", "card\n");
  sys.file(path + "power1_cap", std::to_string(limit) + "\n", 0664).wakes = &power;
  sys.file(path + "power1_crit", std::to_string(limit * 2) + "\n", 0644).wakes = &power;

  const auto temperature = [&](unsigned index, const std::string& label, unsigned above, unsigned crit,
                               unsigned emergency) {
    const std::string name = path + "temp" + std::to_string(index);
    sys.file(name + "_label", label + "\n");
    sys.file(name + "_crit", std::to_string(crit) + "\n").wakes = &power;
    sys.file(name + "_emergency", std::to_string(emergency) + "\n").wakes = &power;
    number_file(sys, name + "_input", [&gpu, above](ScriptTime now) {
      return gpu.temperature.value(now) + above;
    }).wakes = &power;
  };
  temperature(2, "pkg", 0, 100'000, 125'000);
  temperature(3, "vram", 4'000, 105'000, 120'000);
  temperature(4, "mctrl", 1'000, 100'000, 125'000);
  temperature(5, "pcie", 5'000, 100'000, 125'000);
  for (unsigned channel = 0; channel < 12; ++channel)
    temperature(6 + channel, "vram_ch_" + std::to_string(channel), 1'000 + channel % 3 * 1'000, 105'000, 120'000);

  number_file(sys, path + "fan1_input", [&gpu](ScriptTime now) {
    return 640 + gpu.temperature.value(now) / 60;
  }).wakes = &power;
  number_file(sys, path + "fan2_input", [&gpu](ScriptTime now) {
    return 610 + gpu.temperature.value(now) / 60;
  }).wakes = &power;
  sys.file(path + "fan3_input", "0\n").wakes = &power;  // no third fan on this card
}

}  // namespace igpu::simulation
