// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/page.h"

// The Prometheus text format 0.0.4.
namespace igpu::exporter {

inline constexpr std::string_view kPrometheusTextContentType = "text/plain; version=0.0.4; charset=utf-8";

// Appends the page to out. Reuse the string between scrapes to avoid an allocation per sample. An info metric becomes a
// gauge.
void write_prometheus_text(const PageView& page, std::string& out);

}  // namespace igpu::exporter
