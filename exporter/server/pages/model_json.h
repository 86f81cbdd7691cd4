// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "igpu/model.h"
#include "server/pages/page_history.h"

namespace igpu::exporter {

// The model as the script of the page at "/" shows it: docs/openapi.json describes the members. The rules of the model
// are applied, so that the script has none of its own. What is not known is left out.
struct PageExtras {
  const PageHistory* history = nullptr;  // of channels, and of when users were first seen. Null: none
  bool whole_history = false;            // also the lines of the last quarter of an hour
  bool flights = false;                  // there is a flight recorder
};
std::string model_json(const HostModel& host, std::chrono::system_clock::time_point time,
                       const PageExtras& extras = {});

}  // namespace igpu::exporter
