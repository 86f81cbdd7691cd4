// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "igpu/page.h"
#include "view/format/json_writer.h"

// One scrape as one line of JSON, for `stats --format json`:
//
//   {"version":1,
//    "time":1754000000.123,
//    "gpus":[{"device":"0000:03:00.0",
//             "metrics":{"intel_gpu_engine_busy_ratio":[{"gt":"0","engine":"rcs0","class":"render","source":"pmu","value":0.25}],
//                        "intel_gpu_runtime_suspended":[{"value":0}]}}],
//    "metrics":{"intel_gpu_exporter_devices":[{"value":1}]}}
//
// Names, labels and units are those of /metrics. A series with a device label is listed under its GPU, without that
// label; all others under the outer "metrics". Each name holds a list, even of one series. GPUs are sorted by address.
// Unknown values are omitted; a value that JSON cannot express (NaN, infinity) is null. docs/stats.schema.json is the
// schema of the line.
namespace igpu::exporter {

// The members of the line's object, which is open.
void write_reading(JsonWriter& json, const PageView& page, std::chrono::system_clock::time_point time);

// Appends the line and its newline to out.
void write_json_line(const PageView& page, std::chrono::system_clock::time_point time, std::string& out);

}  // namespace igpu::exporter
