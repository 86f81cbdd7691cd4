// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/page.h"

// The Prometheus text format 0.0.4.
namespace igpu::exporter {

inline constexpr std::string_view kPrometheusTextContentType = "text/plain; version=0.0.4; charset=utf-8";

// Appends the page to out. Keep the string between scrapes: then nothing is allocated per sample. An info metric is a
// gauge here.
void write_prometheus_text(const PageView& page, std::string& out);

}  // namespace igpu::exporter
