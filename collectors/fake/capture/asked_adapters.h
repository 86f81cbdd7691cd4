// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fake/capture/asked_machine.h"
#include "machine/gpu_adapters.h"

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
namespace igpu::capture {

inline constexpr std::string_view kAdapterList = "adapter.list ", kEngineCounters = "counters.running ";

std::string text_of(const EngineCounter& counter);
EngineCounter engine_counter_of(std::string_view text);

// recorded: null on replay; it and the source must outlive the result. Null: the machine is not Windows.
//
// The handle of a process that is replayed is its PID.
std::unique_ptr<GpuAdapters> asked_adapters(AnswerSource& source, GpuAdapters* recorded);

}  // namespace igpu::capture
