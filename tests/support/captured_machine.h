// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/machine_parts.h"
#include "support/locked_directory.h"
#include "support/test_machine.h"

namespace igpu::test {

// What the files of a captured machine do not show: how its render nodes answer. From machine.json in its archive.
struct CapturedGpu {
  std::string render_node;  // "": none
  Driver driver;
  std::uint64_t vram_bytes = 0;
  bool media_gt = false;  // xe: video engines are on GT 1
  unsigned video_engines = 1;
};

struct Capture {
  std::string name;
  std::vector<std::string> trees;  // archives of tests/machines, laid over each other in this order
  std::vector<CapturedGpu> gpus;   // sorted by PCI address
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::string> pci_names;
};

// Every archive of tests/machines, sorted by name. Those without a GPU are laid over one that has one.
const std::vector<Capture>& captures();

// A captured machine that does something: kMotion names what every counter advances by in a second.
class CapturedMachine final : public MachineParts {
 public:
  explicit CapturedMachine(const Capture& capture);
  Machine& machine() override { return machine_; }
  // To add to it, before the monitor is made.
  MachineTree& tree() { return m_.tree; }

  // Time passes and nothing happens.
  void stand(Nanoseconds time) { m_.clock.advance(time); }
  // Time passes and the engines work; nothing else moves.
  void work_engines(unsigned seconds);
  // Time passes and every counter of the machine moves: perf events, RC6, energy, the clients' own. A count that stands
  // at 0 on the captured machine stays there: some do.
  void work(unsigned seconds);
  // As a user without capabilities, outside group render, for whom mode 0400 is closed. Before the monitor is made.
  void lock();
  // All its GPUs sleep.
  void suspend();

 private:
  struct Pmu {
    std::uint32_t type;
    std::string path;
  };

  void add_clients();
  void write_client(std::uint64_t seconds);
  void move_i915(const Pmu& pmu, std::uint64_t seconds);
  void move_xe(const Pmu& pmu, std::uint64_t seconds);
  void move_files(std::uint64_t seconds);

  const Capture& capture_;
  TestMachine m_;
  std::vector<Pmu> pmus_;
  std::vector<std::string> addresses_;  // of the GPUs, in the order of capture_.gpus
  std::uint64_t seconds_ = 0;
  bool locked_ = false;
  LockedDirectory sys_, proc_;
  Machine machine_;
};

}  // namespace igpu::test
