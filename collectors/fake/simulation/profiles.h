// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake/simulation/simulation_script.h"
#include "igpu/monitor.h"

// A profile as written in profiles.cpp: the GPUs, the processes, and the load of each. script_builder.cpp derives the
// rest of the MachineScript from it (clocks, power, residency, memory traffic).
namespace igpu::simulation {

struct EngineLoad {
  std::string_view engine;  // "vcs0"
  Wave share;               // of that engine, 0..1
};

struct ClientData {
  std::size_t gpu;
  std::vector<EngineLoad> loads;
  Wave vram_mib{};
  Wave system_mib{};
  double video_jobs = 0;  // per second; 0: no video channel, so its jobs are derived from its engine time
  std::vector<std::uint32_t> descriptors{9};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> passed_on{};
  bool on_card_node = false;
};

struct ProcessData {
  std::uint32_t pid;
  std::string comm;
  std::uint32_t uid;
  const PlaceScript* place;
  unsigned started;  // seconds after boot
  Wave cpu_cores;    // cores kept busy
  double resident_mib;
  double virtual_mib;
  std::vector<ClientData> clients{};
  std::uint32_t parent = 1;
  bool kernel_thread = false;
  unsigned lives = 0;  // seconds of every period; 0: it never ends
  bool restarts_container = false;
  Wave read_mib{}, written_mib{};  // per second
};

struct FunctionData {
  FunctionScript script;
  std::vector<EngineLoad> loads{};
};

struct GpuData {
  GpuScript script;  // without the derived members
  std::vector<FunctionData> functions{};
};

struct ProfileData {
  std::vector<GpuData> gpus;
  std::vector<NpuScript> npus{};
  std::vector<ProcessData> processes;
  std::vector<HangScript> hangs{};
  HostScript host{};  // without the derived members
  bool privileged = true;
};

MachineScript build_script(const ProfileData& data);

struct Profile {
  SimulationProfile about;
  ProfileData (*data)();
};
std::span<const Profile> profiles();

}  // namespace igpu::simulation
