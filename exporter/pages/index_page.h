// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/page.h"

namespace igpu::exporter {

// The page at "/", for people: first what an operator can act on, then the current values of each GPU, then what is
// missing. page and findings are from the same scrape.
std::string index_page(std::string_view telemetry_path, std::span<const Gpu> gpus, std::span<const Finding> findings,
                       const PageView& page, Seconds now);

}  // namespace igpu::exporter
