// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "server/sandbox/sandbox.h"
#include "view/report/diagnosis_json.h"

// The findings of `doctor` and their presentation.
namespace igpu::exporter {

struct Diagnosis : DiagnosedMachine {
  std::string web_config_file;   // "" if there is none
  std::string web_config_error;  // "" if it is valid
  SandboxOutcomes sandbox;
  std::string simulated;            // the profile; "" for this machine
  std::vector<GrantStep> optional;  // grant also what is optional; empty if that needs nothing more

  // A bad web configuration counts, too.
  std::size_t missing() const { return DiagnosedMachine::missing() + (web_config_error.empty() ? 0 : 1); }
  bool complete() const { return DiagnosedMachine::complete() && web_config_error.empty(); }
};

// For people: the commands, each once, what they bring, and the features of each GPU.
std::string doctor_text(const Diagnosis& diagnosis);
// The member "sandbox" of an open object.
void write_sandbox(JsonWriter& json, const SandboxOutcomes& outcomes);
// For programs and bug reports; one line.
std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace igpu::exporter
