// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/page.h"

// OpenMetrics text 1.0. The samples are those of the Prometheus text format, byte by byte; only the metadata differs.
namespace igpu::exporter {

inline constexpr std::string_view kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
// For a request that named an escaping scheme (Prometheus 3): our names need none.
inline constexpr std::string_view kOpenMetricsEscapingContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores";

// Appends the page and its end mark to out. Keep the string between scrapes: then nothing is allocated per
// sample.
void write_openmetrics(const PageView& page, std::string& out);

std::string_view openmetrics_type(Kind kind);

// The name in the metadata: without _total (counter) or _info (info).
std::string_view openmetrics_family_name(const MetricDescriptor& metric);

}  // namespace igpu::exporter
