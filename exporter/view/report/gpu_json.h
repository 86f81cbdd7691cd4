// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/model.h"
#include "view/format/json_writer.h"

// Shared by `list --json` and `doctor --json`. Names are those of /metrics: the labels of
// intel_gpu_info, and feature and reason of intel_gpu_exporter_feature_available.
namespace igpu::exporter {

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

}  // namespace igpu::exporter
