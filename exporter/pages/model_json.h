// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "igpu/model.h"

namespace igpu::exporter {

// The model as the script of the page at "/" shows it: docs/openapi.json describes the members. The rules of the model
// are applied, so that the script has none of its own. What is not known is left out.
std::string model_json(const HostModel& host, std::chrono::system_clock::time_point time);

}  // namespace igpu::exporter
