// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "fake/simulation/simulation_script.h"
#include "fake/simulation/tree.h"

// Renders a script as the files of the simulated kernel, with the drivers' file names, formats and units. All arguments
// must outlive the tree.
namespace igpu::simulation {

// sys: PCI functions, bridges, runtime PM, DRM nodes, connectors; then the files of the GPU's driver.
void render_gpu(Tree& sys, const GpuScript& gpu, const RuntimePower& power);
// sys: RAPL zones, coretemp, CPUs, devices that are not Intel GPUs.
void render_host(Tree& sys, const MachineScript& script);
void render_processes(Tree& proc, const World& world);
// The files of container runtimes on the host.
void render_root(Tree& root, const MachineScript& script);
// dev/dri
void render_device_nodes(Tree& dev, const MachineScript& script);

// ---- shared helpers ----

struct PciIds {
  std::uint16_t vendor, device;
  std::uint32_t pci_class;
  std::uint8_t revision;
  std::uint16_t subsystem_vendor, subsystem_device;
  std::string_view driver;
  int numa_node;
};
// Number of times that the monitors were plugged in or unplugged until then. Every ten minutes they are unplugged for
// four seconds.
std::uint64_t hotplugs(ScriptTime until);
// The id of the output with a monitor, of type HDMI-A.
unsigned output_id(const GpuScript& gpu);

// The directory of a PCI function and its links from bus/pci.
void render_pci_function(Tree& sys, const std::string& path, const PciIds& ids);
Folder render_hwmon(Tree& sys, const std::string& device_path, unsigned number, const std::string& name);

}  // namespace igpu::simulation
