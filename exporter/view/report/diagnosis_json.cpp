// SPDX-License-Identifier: Apache-2.0
#include "view/report/diagnosis_json.h"

#include <algorithm>
#include <cstdint>

#include "igpu/missing.h"
#include "view/report/gpu_json.h"
#include "view/report/gpu_summary.h"
#include "view/report/no_gpu.h"

namespace igpu::exporter {
namespace {

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
