// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/model.h"
#include "view/format/json_writer.h"
#include "view/report/fixes.h"

// Shared by `doctor --json` and the API.
namespace igpu::exporter {

// Of a program that keeps running: what is missing changes, the place does not. May be empty.
using FindGrants = std::function<PlaceOfGrants(std::span<const Finding>)>;

struct DiagnosedMachine {
  std::vector<Gpu> gpus;
  std::vector<snapshot::Npu> npus;
  std::vector<snapshot::Unbound> unbound;
  // Both of the scrape, which must outlive this.
  std::span<const Finding> findings;
  std::span<const std::string_view> failed_collectors;  // the log says what failed
  PlaceOfGrants place;
  std::optional<std::vector<Advice>> advice = std::nullopt;  // what no missing feature tells; nullopt: not looked for

  std::size_t missing() const;  // features, failed collectors, and drivers of GPUs
  bool complete() const { return missing() == 0 && !(gpus.empty() && npus.empty()); }
  bool asleep() const;  // some features are unknown because a GPU sleeps
};

// Members of an open object: complete, missing, asleep, gpus, npus, unbound, machine, fixes, place, failed_collectors.
void write_diagnosis(JsonWriter& json, const DiagnosedMachine& machine);

}  // namespace igpu::exporter
