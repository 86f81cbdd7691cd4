// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "igpu/device.h"
#include "igpu/feature.h"

namespace igpu::exporter {

// The page at "/", for people: what this is, which GPUs it found, what is missing and what cures it.
std::string index_page(std::string_view telemetry_path, std::span<const Gpu> gpus, std::span<const Finding> findings);

// For text and for attribute values in double quotes.
std::string html_escaped(std::string_view text);

}  // namespace igpu::exporter
