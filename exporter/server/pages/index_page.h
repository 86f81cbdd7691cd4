// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/page.h"
#include "view/report/diagnosis_json.h"

namespace igpu::exporter {

// The page at "/": first problems that an operator can fix, then the current values of each GPU, then missing features.
// page and findings are from the same scrape. It is complete without scripts; server/pages/assets/page.js replaces its
// tables with live ones. machine: its name, for the title; "" if it is not known.
std::string index_page(std::string_view telemetry_path, std::span<const Gpu> gpus, std::span<const Finding> findings,
                       const PageView& page, Seconds now, const PlaceOfGrants& place = {},
                       std::string_view machine = {});

}  // namespace igpu::exporter
