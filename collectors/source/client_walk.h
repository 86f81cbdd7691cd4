// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "igpu/reading.h"
#include "machine/machine.h"
#include "source/clients.h"

namespace igpu {

// Walks /proc once and gathers every DRM client of i915 and xe.
class ClientWalk {
 public:
  struct Limits {
    Nanoseconds time{std::chrono::seconds(2)};
  };
  ClientWalk(Machine& machine, Limits limits);
  ~ClientWalk();

  // asleep: PCI addresses of suspended GPUs. Nothing that could wake them is read (reading fdinfo of an xe client
  // resumes its device): their clients are left out.
  Reading<ClientSnapshot> walk(std::span<const std::string> asleep);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu
