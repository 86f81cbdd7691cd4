// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/page.h"

// OpenMetrics text 1.0. Sample lines are identical to those of the Prometheus text format; only the metadata differs.
namespace igpu::exporter {

inline constexpr std::string_view kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
// For requests that name an escaping scheme (Prometheus 3): these names need no escaping.
inline constexpr std::string_view kOpenMetricsEscapingContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores";

// Appends the page and its end mark to out. Reuse the string between scrapes to avoid an allocation per sample.
void write_openmetrics(const PageView& page, std::string& out);

std::string_view openmetrics_type(Kind kind);

}  // namespace igpu::exporter
