// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "sandbox/sandbox.h"

// What `doctor` found, and how it is shown.
namespace igpu::exporter {

struct Diagnosis {
  std::vector<Gpu> gpus;
  // Both of the scrape, which must outlive this.
  std::span<const Finding> findings;
  std::span<const std::string_view> failed_collectors;  // the log says what failed
  std::string web_config_file;                          // "" without
  std::string web_config_error;                         // "" if it is good
  SandboxOutcomes sandbox;
  std::string sysfs_root;  // where GPUs were looked for

  std::size_t missing() const;  // features, failed collectors, a bad web configuration
  bool complete() const { return missing() == 0 && !gpus.empty(); }
  bool asleep() const;  // something is not known because a GPU sleeps
};

// For people: by GPU what is there, then what to do, each fix once.
std::string doctor_text(const Diagnosis& diagnosis);
// For programs and bug reports; one line.
std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace igpu::exporter
