// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/model.h"
#include "report/diagnosis_json.h"
#include "sandbox/sandbox.h"

// The findings of `doctor` and their presentation.
namespace igpu::exporter {

struct Diagnosis {
  std::vector<Gpu> gpus;
  std::vector<snapshot::Npu> npus;
  std::vector<snapshot::Unbound> unbound;
  // Both of the scrape, which must outlive this.
  std::span<const Finding> findings;
  std::span<const std::string_view> failed_collectors;  // the log says what failed
  std::string web_config_file;                          // "" if there is none
  std::string web_config_error;                         // "" if it is valid
  SandboxOutcomes sandbox;
  std::string simulated;  // the profile; "" for this machine
  PlaceOfGrants place;
  std::vector<GrantStep> optional;  // grant also what is optional; empty if that needs nothing more
  std::vector<Advice> advice;       // what no missing feature tells

  std::size_t missing() const;  // features, failed collectors, drivers, a bad web configuration
  bool complete() const { return missing() == 0 && !(gpus.empty() && npus.empty()); }
  bool asleep() const;               // some features are unknown because a GPU sleeps
  DiagnosedMachine machine() const;  // refers to this
};

// For people: the commands, each once, what they bring, and the features of each GPU.
std::string doctor_text(const Diagnosis& diagnosis);
// The member "sandbox" of an open object.
void write_sandbox(JsonWriter& json, const SandboxOutcomes& outcomes);
// For programs and bug reports; one line.
std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace igpu::exporter
