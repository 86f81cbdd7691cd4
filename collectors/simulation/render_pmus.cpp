// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "simulation/renderers.h"

// kernel/events/core.c (pmu_dev_attrs), drivers/gpu/drm/i915/i915_pmu.c, drivers/gpu/drm/xe/xe_pmu.c,
// arch/x86/events/rapl.c, arch/x86/events/intel/uncore_snb.c
namespace igpu::simulation {

namespace {

constexpr const char* kRaplScale = "2.3283064365386962890625e-10";
constexpr const char* kImcScale = "6.103515625e-5";

class PmuDirectory {
 public:
  PmuDirectory(Tree& sys, const Pmu& pmu) : sys_(sys), path_("devices/" + pmu.name) {
    sys_.link("bus/event_source/devices/" + pmu.name, "../../../" + path_);
    file("type", std::to_string(pmu.type));
  }
  void file(const std::string& name, std::string text) { sys_.file(path_ + "/" + name, std::move(text) + "\n"); }
  void format(const std::string& name, std::string bits) { file("format/" + name, std::move(bits)); }
  void event(const std::string& name, std::string terms, const std::string& unit = "", const std::string& scale = "") {
    file("events/" + name, std::move(terms));
    if (!unit.empty()) sys_.file(path_ + "/events/" + name + ".unit", unit + "\n");
    if (!scale.empty()) sys_.file(path_ + "/events/" + name + ".scale", scale + "\n");
  }

 private:
  Tree& sys_;
  std::string path_;
};

std::string config_text(std::uint64_t config) {
  std::array<char, 32> buffer;
  TextWriter out(buffer);
  out << "config=0x";
  out.hex(config);
  return std::string(out.text());
}

void render_i915(PmuDirectory& pmu, const GpuScript& gpu) {
  using namespace i915_pmu;
  pmu.file("cpumask", "0");
  pmu.format("i915_eventid", "config:0-20");
  for (const EngineScript& engine : gpu.engines) {
    pmu.event(engine.name + "-busy", config_text(engine_config(engine.model, kBusy)), "ns");
    pmu.event(engine.name + "-sema", config_text(engine_config(engine.model, kSema)), "ns");
    pmu.event(engine.name + "-wait", config_text(engine_config(engine.model, kWait)), "ns");
  }
  pmu.event("interrupts", config_text(other_config(kInterrupts, 0)));
  for (unsigned gt = 0; gt < gpu.gts.size(); ++gt) {
    const std::string suffix = gpu.gts.size() > 1 ? "-gt" + std::to_string(gt) : "";
    pmu.event("actual-frequency" + suffix, config_text(other_config(kActual, gt)), "M");
    pmu.event("requested-frequency" + suffix, config_text(other_config(kRequested, gt)), "M");
    pmu.event("rc6-residency" + suffix, config_text(other_config(kRc6, gt)), "ns");
    pmu.event("software-gt-awake-time" + suffix, config_text(other_config(kAwake, gt)), "ns");
  }
}

void render_xe(PmuDirectory& pmu) {
  pmu.file("cpumask", "0");
  pmu.format("event", "config:0-11");
  pmu.format("engine_instance", "config:12-19");
  pmu.format("engine_class", "config:20-27");
  pmu.format("function", "config:44-59");
  pmu.format("gt", "config:60-63");
  pmu.event("gt-c6-residency", "event=0x01", "ms");
  pmu.event("engine-active-ticks", "event=0x02");
  pmu.event("engine-total-ticks", "event=0x03");
  pmu.event("gt-actual-frequency", "event=0x04", "MHz");
  pmu.event("gt-requested-frequency", "event=0x05", "MHz");
}

void render_power(PmuDirectory& pmu, const MachineScript& script) {
  pmu.file("cpumask", "0");
  pmu.format("event", "config:0-7");
  pmu.event("energy-cores", "event=0x01", "Joules", kRaplScale);
  pmu.event("energy-pkg", "event=0x02", "Joules", kRaplScale);
  for (const GpuScript& gpu : script.gpus) {
    if (gpu.model.kind == GpuKind::integrated) pmu.event("energy-gpu", "event=0x04", "Joules", kRaplScale);
  }
  if (script.host.has_psys) pmu.event("energy-psys", "event=0x05", "Joules", kRaplScale);
}

void render_free_running(PmuDirectory& pmu) {
  pmu.file("cpumask", "0");
  pmu.format("event", "config:0-7");
  pmu.format("umask", "config:8-15");
  pmu.event("data_total", "event=0xff,umask=0x10", "MiB", kImcScale);
  pmu.event("data_read", "event=0xff,umask=0x20", "MiB", kImcScale);
  pmu.event("data_write", "event=0xff,umask=0x30", "MiB", kImcScale);
}

}  // namespace

void render_pmus(Tree& sys, const MachineScript& script, const std::vector<Pmu>& pmus) {
  for (const Pmu& pmu : pmus) {
    PmuDirectory directory(sys, pmu);
    switch (pmu.kind) {
      case Pmu::Kind::i915:
        render_i915(directory, script.gpus[pmu.gpu]);
        break;
      case Pmu::Kind::xe:
        render_xe(directory);
        break;
      case Pmu::Kind::power:
        render_power(directory, script);
        break;
      case Pmu::Kind::imc_free_running:
        render_free_running(directory);
        break;
      case Pmu::Kind::other:
        break;
    }
  }
}

}  // namespace igpu::simulation
