// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/displays.h"
#include "machine/filesystem.h"
#include "machine/gpu_adapters.h"
#include "machine/machine.h"

namespace igpu {

// The Intel GPUs among Windows' adapters, sorted by PCI address; the LUID is the binding. Software adapters, adapters
// of other vendors and adapters without a valid address are left out, and all but the first of those with the same
// address.
Reading<std::vector<Gpu>> adapter_gpus(GpuAdapters& adapters);

// Finds the Intel GPUs of a machine: vendor 0x8086, bound to i915 or xe. A GPU that xe holds in survivability mode has
// neither card nor render node. Cheap enough for every scrape: a known GPU costs one readlink per DRM node and one
// stat; if all GPUs are selected by address and known, one stat each. On Windows GPUs are graphics adapters
// (adapter_gpus()).
// Sources: /sys/class/drm (links into the PCI tree; card and render numbers are unrelated), /sys/bus/pci.
class Discovery {
 public:
  // selection: PCI addresses, card or render node names; empty selects all.
  Discovery(Machine& machine, std::vector<std::string> selection);

  // Sorted by PCI address. A GPU that was rebound since the last call has another Gpu::binding. If discovery failed,
  // it is the last list, and failure() says what went wrong.
  const std::vector<Gpu>& discover();
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  const std::vector<Gpu>& discover_adapters();
  bool all_selected_unchanged() const;
  void add_without_node(std::vector<Gpu>& found);
  template <class T>
  void note(const Reading<T>& reading) {
    if (reading.is_failure()) failure_ = reading.failure();
  }
  bool describe(Gpu& gpu) const;
  bool selected(const Gpu& gpu) const;

  Machine& machine_;
  std::vector<std::string> selection_;
  std::vector<Gpu> gpus_;
  std::optional<Failure> failure_;
};

// Whether a GPU is a discrete card: it is behind a bridge, or (passed through to a virtual machine, where it may be
// anywhere) its device id exists only on cards.
GpuKind gpu_kind(std::string_view pci_path, std::uint16_t device_id);

// An Intel GPU on the PCI bus that i915 or xe do not drive: there is no DRM node of theirs.
struct UnboundGpu {
  std::string address, device_id, name;  // "0000:03:00.0", "0xe20b", "Battlemage G21 [Arc B580]" or ""
  std::string driver;                    // that has it; "": none. i915 or xe: their probe has not ended
  bool is_guests() const;  // its driver gives devices to virtual machines: vfio-pci and its variants, Xen's
  bool operator==(const UnboundGpu&) const = default;
};
// Reads a file or two of every PCI device: not for every scrape. Without virtual functions, which their physical
// function reports (inside a guest they have none, and may be any function of a slot), and without the second display
// function of chips before Sandy Bridge, a placeholder that i915 never binds. Sorted.
Reading<std::vector<UnboundGpu>> find_unbound_gpus(const Machine& machine);
bool is_still_unbound(const Directory& sys, const UnboundGpu& gpu);  // as it was found: one readlink

std::vector<DisplayDevice> display_devices(const Directory& sys);

// How people choose a GPU.

// Whether `name` is the GPU's PCI address, card or render node.
bool is_named(const Gpu& gpu, std::string_view name);
// "0000:00:02.0 (card0, renderD128), 0000:03:00.0 (card1, renderD129)".
std::string list_of(const std::vector<Gpu>& gpus);

// "Battlemage G21 [Arc B580]": code name and marketing name, if any, in the style of pci.ids. For systems whose pci.ids
// is older than the GPU (Debian 12's is from 2023). Returns "" for an id that is not in the table.
//
// Covers every id of include/drm/intel/pciids.h (Linux 7.0) from Ice Lake on, and older ones from Broadwell on that
// Debian 12's pci.ids lacks. Marketing names: Mesa's include/pci_ids/iris_pci_ids.h, those of cards also pci.ids. A GPU
// without one has its code name alone.
std::string_view intel_gpu_name(std::uint16_t device_id);

}  // namespace igpu
