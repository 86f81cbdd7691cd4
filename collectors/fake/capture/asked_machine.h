// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fake/capture/answers.h"
#include "machine/gpu_adapters.h"
#include "machine/machine.h"

namespace igpu::capture {

// Where the answers of an AskedMachine come from. Any thread.
class AnswerSource {
 public:
  virtual ~AnswerSource() = default;
  // nullopt: the question was not asked.
  virtual std::optional<Answer> find(const std::string& key) = 0;
  // machine: gets the answer from the recorded machine; never called on replay.
  virtual Answer ask(const std::string& key, const std::function<Answer()>& machine) = 0;
  // Records an answer of the machine and returns the answer that counts in this pass. Never called on replay.
  virtual Answer keep(const std::string& key, Answer answer) = 0;
  virtual Nanoseconds now() = 0;
};

// A machine that answers from an AnswerSource: it records the answers of another machine, or replays them without one.
// Either way, a question that is repeated within a pass gets the same answer. The host's file system, the pages of the
// Level Zero tracker and the kernel's messages are not recorded: the first two are not available, and there are no
// messages.
class AskedMachine {
 public:
  // recorded: null on replay. Both must outlive it.
  AskedMachine(AnswerSource& source, Machine* recorded);
  ~AskedMachine();
  AskedMachine(const AskedMachine&) = delete;
  AskedMachine& operator=(const AskedMachine&) = delete;

  Machine& machine();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Windows' graphics adapters as questions and answers. A LUID is in hex, all other numbers are decimal:
//
//   adapter.list -                            LUIDs
//   adapter.facts LUID                        name; vendor, device, revision, bus, slot, function
//   adapter.open LUID
//   adapter.counts LUID                       nodes, segments
//   adapter.node LUID/NODE                    name; type
//   adapter.running LUID/NODE                 100 ns
//   adapter.segment LUID/SEGMENT              limit, resident, aperture
//   adapter.memory LUID                       dedicated, shared
//   adapter.clock LUID/NODE                   hertz, most
//   adapter.sensors LUID                      fan, power, deci-Celsius
//   counters.running -                        of each instance of the performance counter: 100 ns, a blank, its name
//   process.list -                            time, PID of the exporter, PIDs
//   process.facts PID                         name; may be opened, started, is CPU time known, CPU time in ns,
//                                             is resident memory known, resident memory in bytes
//   process.running PID/LUID/NODE             100 ns
//   process.committed PID/LUID/SEGMENT        bytes

inline constexpr std::string_view kAdapterList = "adapter.list ", kEngineCounters = "counters.running ";

std::string text_of(const EngineCounter& counter);
EngineCounter engine_counter_of(std::string_view text);

// recorded: null on replay; it and the source must outlive the result. Null: the machine is not Windows.
//
// The handle of a process that is replayed is its PID.
std::unique_ptr<GpuAdapters> asked_adapters(AnswerSource& source, GpuAdapters* recorded);

}  // namespace igpu::capture
