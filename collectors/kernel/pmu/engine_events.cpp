// SPDX-License-Identifier: Apache-2.0
#include "kernel/pmu/engine_events.h"

#include <cerrno>

#include "base/scan.h"
#include "kernel/pmu/pmu_files.h"
#include "kernel/sysfs/gt_sysfs.h"

namespace igpu {
namespace {

// The class of "vcs1"; nothing if it is not an engine.
std::optional<EngineClass> class_of_events(std::string_view name) {
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos || !scan_integer<unsigned>(name.substr(digits))) return std::nullopt;
  return engine_class_of_short_name(name.substr(0, digits));
}

bool is_media(EngineClass engine_class) {
  return engine_class == EngineClass::video || engine_class == EngineClass::video_enhance;
}

// The most engines of a class that any part has on one GT; for probing.
constexpr std::array<std::uint16_t, kEngineClasses> kMostInstances{1, 9, 8, 4, 4};

// The events accept any engine of the GPU; no file lists them. Without access to the render node the PMU is probed: it
// rejects engines that do not exist.
Reading<std::vector<EngineInstance>> probe_engines(Machine& machine, const Gpu& gpu, bool all_or_none) {
  std::vector<GtFolder> gts = xe_gt_folders(machine.sys, gpu.pci_path);
  if (gts.empty()) gts.push_back({});
  CounterMemory scratch;
  PmuSession probe(machine, scratch,
                   gpu_pmu_name(machine.sys, to_string(gpu.driver), gpu.address, stands_for_package(gpu)));
  std::vector<std::pair<EngineInstance, PmuSession::Handle>> candidates;
  for (const GtFolder& gt : gts) {
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      for (std::uint16_t instance = 0; instance < kMostInstances[i]; ++instance) {
        const EngineInstance engine{static_cast<EngineClass>(i), instance, static_cast<std::uint16_t>(gt.number)};
        candidates.emplace_back(engine, probe.want(kXeActiveTicks, xe_engine_terms(engine)));
      }
    }
  }
  if (const auto opened = probe.refresh(1); !opened) return opened.propagate<std::vector<EngineInstance>>();
  std::vector<EngineInstance> engines;
  for (const auto& [engine, handle] : candidates) {
    const auto count = probe.count(handle);
    if (count) engines.push_back(engine);
    // Its GT or class has no description. There may be such engines, and only their clients show them.
    const bool hidden = engine.instance == 0 && count.is_absent() && count.absent() == kNotDescribed;
    if (hidden && all_or_none) return kNotDescribed;
  }
  return engines;
}

}  // namespace

std::vector<I915EngineEvent> i915_engine_events(std::span<const std::string> events) {
  constexpr std::string_view kKinds[] = {"busy", "wait", "sema"};
  std::vector<I915EngineEvent> found;
  bool has_media_gt = false;
  for (const std::string& event : events) {
    has_media_gt = has_media_gt || event.ends_with("-gt1");
    const std::size_t dash = event.find('-');
    if (dash == std::string::npos) continue;
    const auto engine_class = class_of_events(std::string_view(event).substr(0, dash));
    const auto kind = std::ranges::find(kKinds, std::string_view(event).substr(dash + 1));
    if (engine_class && kind != std::end(kKinds))
      found.push_back({event, event.substr(0, dash), "0", *kind, *engine_class});
  }
  // i915 does not report the GT of an engine. The only parts with two GTs (the Meteor Lake family) have a separate GT
  // for all of media and nothing else.
  if (has_media_gt)
    for (I915EngineEvent& event : found)
      if (is_media(event.engine_class)) event.gt = "1";
  return found;
}

std::array<PmuSession::Term, 4> xe_engine_terms(const EngineInstance& engine, std::uint32_t function) {
  return {{{"gt", engine.gt},
           {"engine_class", static_cast<std::uint64_t>(engine.engine_class)},
           {"engine_instance", engine.instance},
           {"function", function}}};
}

std::uint64_t ticks_of_engine(std::uint64_t total, Nanoseconds elapsed, std::optional<double> hertz) {
  constexpr double kWhole = 0.9;  // less of the time than this is a share
  if (!hertz) return total;
  const double whole = to_seconds(elapsed).value * *hertz;
  return static_cast<double>(total) < whole * kWhole ? static_cast<std::uint64_t>(whole) : total;
}

std::string xe_engine_name(const EngineInstance& engine) {
  return std::string(names_of(engine.engine_class).short_name) + std::to_string(engine.instance);
}

Reading<std::vector<EngineInstance>> xe_pmu_engines(Machine& machine, const Gpu& gpu, const PmuSession& pmu,
                                                    bool all_or_none) {
  using Engines = std::vector<EngineInstance>;
  const auto events = pmu.events();
  if (!events) return events.propagate<Engines>();
  // Firmware too old for them: the driver does not list them.
  for (const std::string_view event : {kXeActiveTicks, kXeTotalTicks})
    if (std::ranges::find(*events, event) == events->end()) return Absent{Reason::kernel, EOPNOTSUPP};

  Reading<Engines> engines = Absent{Reason::hardware, ENODEV};
  if (const auto node = machine.drm.open(gpu.render_node)) engines = xe_engines(**node);
  if (!engines || engines->empty()) engines = probe_engines(machine, gpu, all_or_none);
  return engines;
}

}  // namespace igpu
