// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
inline constexpr std::array kPageWaitBounds{1.6e-05, 0.0001, 1.0, 1e6};
inline constexpr HistogramMetric<Seconds, 2, 4> kPageWait{
    "test_wait_seconds", "Time in the queue.", {"device", "class"}, kPageWaitBounds};
inline constexpr std::array kPageSizeBounds{2.5};
inline constexpr HistogramMetric<Bytes, 1, 1> kPageSize{
    "test_size_bytes", "Size of a batch.", {"device"}, kPageSizeBounds};
inline constexpr Metric<Count, 0> kPageDevices{"test_devices", Kind::gauge, "Number of GPUs."};

void add_sample(SampleList& list, const MetricDescriptor& metric, std::initializer_list<std::string_view> labels,
                double value);

void add_histogram(SampleList& list, const MetricDescriptor& metric, std::initializer_list<std::string_view> labels,
                   std::initializer_list<std::uint64_t> counts, double sum);

// Sample lines of the text formats: a histogram has one for each bucket, the sum and the count.
std::size_t sample_lines(const SampleList& list);

// A little of everything: every kind, absent labels, escapes, hostile process names, awkward numbers.
void fill_varied_page(SampleList& list);

// So many series with the labels of real ones: engines (5 labels, seconds and ratios) and process memory (6 labels,
// bytes).
void fill_large_page(SampleList& list, std::size_t series);

}  // namespace igpu::test
