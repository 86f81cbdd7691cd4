// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/feature.h"
#include "igpu/options.h"
#include "server/sandbox/sandbox.h"
#include "view/report/fixes.h"

namespace igpu::exporter {

// Where the program runs, because a missing permission is granted differently in each place.

enum class PlaceKind { bare_metal, systemd_unit, docker, podman, kubernetes, lxc, wsl, container };

struct Place {
  PlaceKind kind = PlaceKind::bare_metal;
  std::string unit;            // of systemd_unit: "intel-gpu-exporter.service"
  Rights held = Rights::none;  // capabilities that this program has; the host's processes, render nodes
  bool own_users = false;      // a user namespace of its own: capabilities that it grants do not count on the host
  std::optional<unsigned> render_group = {};  // owner of the render node, if that is here
  std::string host_name = {};                 // plain characters only
};

std::string_view to_string(PlaceKind kind);  // "systemd unit"
std::string title(const Place& place);       // "systemd unit intel-gpu-exporter.service"

// Files and variables from which the place is detected; tests pass fakes.
struct PlaceEvidence {
  std::function<std::optional<std::string>(const char* path)> read;  // nullopt: not there, or not readable
  std::function<std::optional<std::string>(const char* path)> link;  // where it leads; nullopt likewise
  std::function<bool(const char* path)> exists;
  std::function<std::optional<unsigned>(const char* path)> group;  // that owns it
  std::function<std::optional<std::string>(const char* name)> environment;
};

Place detect_place(const PlaceEvidence& evidence);
// The place to advise for: a simulated machine is not in this one's container or unit, but bare metal.
Place place_of(const MonitorOptions& options);
// Files for advice. Of a simulated machine there are none: those that could be read are this one's.
ReadSysfs read_sysfs_of(const MonitorOptions& options);

std::string program_path(const MonitorOptions& options);  // for setcap

// How what is missing is granted here, in few steps: the rights of all findings together, and commands that are the
// same everywhere. optional: also what is optional.
std::vector<GrantStep> how_to_grant(std::span<const Finding> findings, const Place& place, const std::string& program,
                                    bool optional = false);
PlaceOfGrants place_of_grants(std::span<const Finding> findings, const Place& place, const std::string& program);

// The findings of `doctor` and their presentation.

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
