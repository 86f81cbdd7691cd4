// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "igpu/page.h"

namespace igpu::exporter {

// One scrape in InfluxDB's line protocol, a line for each series, with the time in nanoseconds:
//
//   intel_gpu_engine_busy_ratio,device=0000:03:00.0,gt=0,engine=rcs0,class=render,source=pmu gauge=0.25
//   1754000000123456789
//
// The measurement is the metric's name, tags are its labels, and the field is "gauge" or "counter": the layout that
// Telegraf's Prometheus input writes, so dashboards for either work with both. Control characters in a tag become
// spaces and a backslash at its end is dropped, because the protocol cannot express them.
void write_influx_lines(const PageView& page, std::chrono::system_clock::time_point time, std::string& out);

}  // namespace igpu::exporter
