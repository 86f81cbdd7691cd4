// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>

#include "igpu/feature.h"
#include "text/text.h"
#include "view/report/fixes.h"
#include "view/report/gpu_summary.h"

namespace igpu::exporter {
namespace {

void write_known(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.member(name, text);
}

int whole(Count count) { return static_cast<int>(count.value); }

void write_advice(JsonWriter& json, std::span<const Advice> all, std::string_view address) {
  json.name("advice").begin_array();
  for (const Advice& advice : all) {
    if (advice.device != address) continue;
    json.begin_object().member("wrong", advice.wrong).member("text", advice.text);
    if (!advice.command.empty()) json.member("command", advice.command);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_gpu(JsonWriter& json, const Gpu& gpu) {
  json.member("device", gpu.address);
  write_known(json, "name", gpu.name);
  json.member("driver", to_string(gpu.driver)).member("kind", to_string(gpu.kind));
  write_known(json, "card", gpu.card);
  write_known(json, "render_node", gpu.render_node);
  if (gpu.device_id != 0) json.member("device_id", formatted("0x%04x", unsigned{gpu.device_id}));
  if (gpu.revision) json.member("revision", formatted("0x%02x", unsigned{*gpu.revision}));
  if (gpu.numa_node >= 0) json.member("numa_node", gpu.numa_node);
  json.member("virtual_function", gpu.virtual_function);
}

void write_functions(JsonWriter& json, const GpuModel& gpu) {
  if (!gpu.functions_enabled) return;
  json.name("vfs").begin_object().member("enabled", whole(*gpu.functions_enabled));
  if (gpu.functions_total) json.member("total", whole(*gpu.functions_total));
  json.name("functions").begin_array();
  for (const snapshot::VirtualFunction& function : gpu.functions) {
    json.begin_object().member("vf", static_cast<int>(function.number)).member("vf_address", function.address);
    json.member("driver", function.driver);
    write_known(json, "workload", function.workload);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_npus(JsonWriter& json, std::span<const snapshot::Npu> npus) {
  json.name("npus").begin_array();
  for (const snapshot::Npu& npu : npus) {
    json.begin_object().member("device", npu.address);
    write_known(json, "name", npu.name);
    write_known(json, "accel", npu.accel);
    write_known(json, "device_id", npu.device_id);
    json.end_object();
  }
  json.end_array();
}

void write_unbound(JsonWriter& json, std::span<const snapshot::Unbound> gpus) {
  if (gpus.empty()) return;
  json.name("unbound").begin_array();
  for (const snapshot::Unbound& gpu : gpus) {
    json.begin_object().member("device", gpu.address).member("reason", gpu.reason);
    write_known(json, "name", gpu.name);
    write_known(json, "device_id", gpu.device_id);
    json.member("why", why_unbound(gpu));
    const UnboundHelp help = help_for(gpu);
    write_known(json, "hint", help.hint);
    write_known(json, "command", help.command);
    json.end_object();
  }
  json.end_array();
}

void write_no_gpu(JsonWriter& json, const std::string& sysfs_root) {
  const NoGpuAdvice advice = no_gpu_advice(sysfs_root);
  json.name("no_gpu").begin_object().member("cause", advice.why).member("command", advice.look);
  json.member("hint", advice.then).end_object();
}

void write_features(JsonWriter& json, std::span<const Finding> findings, std::string_view device) {
  json.name("features").begin_array();
  for (const Finding& finding : findings) {
    if (finding.device != device || finding.feature == nullptr) continue;
    json.begin_object().member("feature", finding.feature->name).member("collector", finding.collector);
    json.member("available", finding.available);
    if (!finding.available) {
      json.member("reason", to_string(finding.absent.reason)).member("meaning", finding.feature->meaning);
      write_known(json, "cause", finding.cause);
      write_known(json, "hint", finding.hint);
    }
    json.end_object();
  }
  json.end_array();
}

std::size_t DiagnosedMachine::missing() const {
  const auto features = std::ranges::count_if(findings, is_missing);
  const auto unbound_gpus = std::ranges::count_if(unbound, std::not_fn(is_guests));
  return static_cast<std::size_t>(features + unbound_gpus) + failed_collectors.size();
}

bool DiagnosedMachine::asleep() const {
  return std::ranges::any_of(findings, [](const Finding& finding) {
    return !finding.available && finding.absent.reason == Reason::suspended;
  });
}

void write_diagnosis(JsonWriter& json, const DiagnosedMachine& machine) {
  json.member("complete", machine.complete()).member("missing", std::uint64_t{machine.missing()});
  json.member("asleep", machine.asleep());
  json.name("gpus").begin_array();
  for (const Gpu& gpu : machine.gpus) {
    json.begin_object();
    write_gpu(json, gpu);
    write_features(json, machine.findings, gpu.address);
    if (machine.advice) write_advice(json, *machine.advice, gpu.address);
    json.end_object();
  }
  json.end_array();
  write_npus(json, machine.npus);
  write_unbound(json, machine.unbound);
  if (machine.gpus.empty() && machine.npus.empty() && machine.unbound.empty())
    write_no_gpu(json, machine.place.sysfs_root);
  json.name("machine").begin_object();
  write_features(json, machine.findings, "");
  json.end_object().name("fixes").begin_array();
  for (const Fix& fix : fixes_for(machine.findings)) {
    json.begin_object().member("hint", fix.hint).name("causes").array(fix.causes).name("brings").begin_array();
    for (const auto& findings : {fix.findings, fix.optional}) {
      for (const Finding* finding : findings) {
        json.begin_object().member("feature", finding->feature->name);
        if (!finding->device.empty()) json.member("device", finding->device);
        if (finding->feature->optional) json.member("optional", true);
        json.end_object();
      }
    }
    json.end_array().end_object();
  }
  json.end_array().name("place").begin_object().member("kind", machine.place.kind);
  if (!machine.place.unit.empty()) json.member("unit", machine.place.unit);
  if (!machine.place.title.empty()) json.member("title", machine.place.title);
  json.name("steps").begin_array();
  for (const GrantStep& step : machine.place.steps) {
    json.begin_object();
    if (!step.text.empty()) json.member("text", step.text);
    json.name("lines").array(step.lines).end_object();
  }
  json.end_array().end_object().name("failed_collectors").array(machine.failed_collectors);
}

}  // namespace igpu::exporter
