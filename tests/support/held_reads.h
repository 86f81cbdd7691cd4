// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "machine/machine.h"
#include "support/gated_directory.h"

namespace igpu::test {

// A /sys of which files whose path ends so let their readers wait while the gate is closed, as drivers do with files
// that they still write.
class HeldReads final : public ForwardingDirectory {
 public:
  HeldReads(const Directory& real, std::string ending) : ForwardingDirectory(real), ending_(std::move(ending)) {}
  Gate gate;

  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    if (path.ends_with(ending_)) gate_.pass();
    return inner().read_start(path, buffer);
  }
  // The machine with this in the place of its /sys.
  Machine in(const Machine& machine) {
    Machine held{*this,       machine.proc,  machine.dev,        machine.perf,
                 machine.drm, machine.clock, machine.privileges, machine.names};
    held.uevents = machine.uevents;
    held.output_uevents = machine.output_uevents;
    held.kernel_log = machine.kernel_log;
    return held;
  }

 private:
  const std::string ending_;
  Gate& gate_ = gate;
};

}  // namespace igpu::test
