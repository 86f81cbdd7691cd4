// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "igpu/metric.h"
#include "igpu/page.h"

// Pages to write, for tests and benchmarks of the formats.
namespace igpu::test {

inline constexpr Metric<Seconds, 5> kPageBusy{"test_engine_busy_seconds_total",
                                              Kind::counter,
                                              "Time the engine was busy.",
                                              {"device", "gt", "engine", "class", "source"}};
inline constexpr Metric<Ratio, 4> kPageRatio{
    "test_engine_busy_ratio", Kind::gauge, "Share of the window.", {"device", "gt", "engine", "class"}};
inline constexpr Metric<Bytes, 6> kPageMemory{"test_process_memory_bytes",
                                              Kind::gauge,
                                              "Memory of a process.",
                                              {"device", "pid", "comm", "memory_region", "state", "user"}};
inline constexpr Metric<Count, 3> kPageInfo{
    "test_gpu_info", Kind::info, "What a \"GPU\" is \\ was.", {"device", "name", "numa_node"}};
inline constexpr Metric<Count, 0> kPageDevices{"test_devices", Kind::gauge, "Number of GPUs."};

void add_sample(SampleList& list, const MetricDescriptor& metric, std::initializer_list<std::string_view> labels,
                double value);

// A little of everything: every kind, absent labels, escapes, hostile process names, awkward numbers.
void fill_varied_page(SampleList& list);

// So many series with the labels of real ones: engines (5 labels, seconds and ratios) and process memory (6 labels,
// bytes).
void fill_large_page(SampleList& list, std::size_t series);

}  // namespace igpu::test
