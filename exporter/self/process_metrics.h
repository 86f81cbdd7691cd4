// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "igpu/page.h"

// The standard process_* set for the exporter's own process: what every Prometheus client library gives.
namespace igpu::exporter {

std::span<const MetricDescriptor* const> process_metrics();

// Sources: /proc/self/stat, /proc/self/fd, /proc/stat, getrlimit, getrusage. What cannot be read is left out.
void add_process_metrics(SampleList& out);

}  // namespace igpu::exporter
