// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel/clients/client_finder.h"
#include "kernel/windows/wddm.h"

namespace igpu {

// Processes that use a GPU under Windows: those with engine time, or with memory committed to the GPU. Each process is
// one client. The time of engines without a class in Linux is left out.
class WddmClients final : public ClientFinder {
 public:
  explicit WddmClients(Machine& machine) : machine_(machine) {}
  Reading<ClientSnapshot> find(std::span<const std::string> asleep) override;

 private:
  struct Device {
    std::string address;
    GpuKind kind;
    std::shared_ptr<GpuAdapter> adapter;
    std::vector<WddmEngine> engines;
    std::vector<WddmSegment> segments;
    std::uint64_t binding = 0;
  };
  Reading<Unit> find_devices();

  Machine& machine_;
  std::vector<Device> devices_;
};

}  // namespace igpu
