// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/feature.h"

// Where the program runs, because a missing permission is granted differently in each place.
namespace igpu::exporter {

enum class PlaceKind { bare_metal, systemd_unit, docker, podman, kubernetes, lxc, wsl, container };

struct Place {
  PlaceKind kind = PlaceKind::bare_metal;
  std::string unit;        // of systemd_unit: "intel-gpu-exporter.service"
  bool own_users = false;  // a user namespace of its own: capabilities that it grants do not count on the host
};

std::string_view to_string(PlaceKind kind);  // "systemd unit"
std::string title(const Place& place);       // "systemd unit intel-gpu-exporter.service"

// What a place is recognised by; a fake in tests.
struct PlaceEvidence {
  std::function<std::optional<std::string>(const char* path)> read;  // nullopt: not there, or not readable
  std::function<std::optional<std::string>(const char* path)> link;  // where it leads; nullopt likewise
  std::function<bool(const char* path)> exists;
  std::function<std::optional<std::string>(const char* name)> environment;
};
PlaceEvidence real_evidence();

Place detect_place(const PlaceEvidence& evidence);

// The level of kernel.perf_event_paranoid; nullopt: unknown.
std::optional<int> perf_event_paranoid(const PlaceEvidence& evidence, const std::string& procfs_root);
std::string program_path();  // of this program, for setcap

// What is to be granted, from the findings that a permission would fix.
struct Grants {
  std::set<std::string> capabilities;  // "PERFMON"
  bool render_node = false;
  bool host_processes = false;
  bool paranoid_level = false;  // kernel.perf_event_paranoid is above 2
  bool none() const { return capabilities.empty() && !render_node && !host_processes; }
};
Grants missing_grants(std::span<const Finding> findings, std::optional<int> perf_event_paranoid);

// How to grant them here: lines to copy. "# ..." are remarks. Empty if nothing is missing.
std::vector<std::string> how_to_grant(const Grants& grants, const Place& place, const std::string& program);

}  // namespace igpu::exporter
