// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "igpu/model.h"

// What a GPU wastes although no feature is missing: it may never sleep, its link is slower than card and slot, it is
// busy at a low clock.
namespace igpu::exporter {

struct Advice {
  std::string device;   // PCI address
  bool wrong = true;    // otherwise it is as intended, and worth knowing
  std::string text;     // a sentence without full stop
  std::string command;  // to copy; "" if there is none
  bool names_programs = false;
};

// A file below the root of sysfs; nullopt: not there, or not readable. Only files whose reading wakes nothing are asked
// for.
using ReadSysfs = std::function<std::optional<std::string>(const std::string& path)>;

// gpus: the same as models, for what no page tells.
std::vector<Advice> advice_for(std::span<const GpuModel> models, std::span<const Gpu> gpus, const ReadSysfs& read);

}  // namespace igpu::exporter
