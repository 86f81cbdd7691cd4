// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/model.h"
#include "view/format/json_writer.h"
#include "view/report/fixes.h"

namespace igpu::exporter {

// Shared by `list --json` and `doctor --json`. Names are those of /metrics: the labels of
// intel_gpu_info, and feature and reason of intel_gpu_exporter_feature_available.

// Members of an open object: device, name, driver, kind, card, render_node, device_id, revision, numa_node,
// virtual_function. Unknown ones are omitted.
void write_gpu(JsonWriter& json, const Gpu& gpu);

// "vfs" of a GPU with SR-IOV: enabled, total, and for each virtual function the labels of intel_gpu_vf_info.
void write_functions(JsonWriter& json, const GpuModel& gpu);

// "unbound": GPUs that no driver has, with what doctor says; nothing without one.
void write_unbound(JsonWriter& json, std::span<const snapshot::Unbound> gpus);
// "npus": one object for each, with the labels of intel_npu_info. Their features are the machine's.
void write_npus(JsonWriter& json, std::span<const snapshot::Npu> npus);

// "features": one object for each finding of the device ("": of the machine).
void write_features(JsonWriter& json, std::span<const Finding> findings, std::string_view device);

// Shared by `doctor --json` and the API.

// Of a program that keeps running: what is missing changes, the place does not. May be empty.
using FindGrants = std::function<PlaceOfGrants(std::span<const Finding>)>;

struct DiagnosedMachine {
  std::vector<Gpu> gpus;
  std::vector<snapshot::Npu> npus;
  std::vector<snapshot::Unbound> unbound;
  // Both of the scrape, which must outlive this.
  std::span<const Finding> findings;
  std::span<const std::string_view> failed_collectors;  // the log says what failed
  PlaceOfGrants place;
  std::optional<std::vector<Advice>> advice = std::nullopt;  // what no missing feature tells; nullopt: not looked for

  std::size_t missing() const;  // features, failed collectors, and drivers of GPUs
  bool complete() const { return missing() == 0 && !(gpus.empty() && npus.empty()); }
  bool asleep() const;  // some features are unknown because a GPU sleeps
};

// Members of an open object: complete, missing, asleep, gpus, npus, unbound, machine, fixes, place, failed_collectors.
void write_diagnosis(JsonWriter& json, const DiagnosedMachine& machine);

}  // namespace igpu::exporter
