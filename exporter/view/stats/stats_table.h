// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "igpu/device.h"
#include "igpu/page.h"

namespace igpu::exporter {

// One scrape as a table: each GPU with its engines, frequency, power, temperature, memory and busiest processes.
// Unknown values are omitted.
std::string stats_table(const PageView& page, std::span<const Gpu> gpus);

}  // namespace igpu::exporter
