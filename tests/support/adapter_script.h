// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/gpu_adapters.h"
#include "machine/windows_status.h"

// What Windows' graphics kernel answers, as a text, for the tests' own gdi32 (tests/windows/fake_gdi32.cpp) and for
// FakeGpuAdapters. One line is one fact; # begins a comment; numbers are decimal unless said otherwise:
//
//   adapter LUID VENDOR DEVICE BUS SLOT FUNCTION NAME    the first three in hex; what follows is about this one
//   seen FIRST LAST                                      it is in the lists of these scrapes only, counted from 0
//   node TYPE PERMILLE NAME                              an engine, and how busy it is
//   clock NODE HERTZ MAX
//   running NODE VALUE                                   what it says instead of the time, in 100 ns
//   segment local|shared LIMIT RESIDENT
//   sizes DEDICATED SHARED
//   sensors FAN POWER DECICELSIUS                        without this line there are none
//   counts NODES SEGMENTS                                what it says instead of their number
//   process NAME NODE PERMILLE SEGMENT BYTES             of processes whose file has this name
//   counter PID NODE PERMILLE                            a performance counter of a process, and how busy it says
//   instance VALUE NAME                                  one that says this value, in 100 ns, under this name
//   array BYTES ITEMS                                    what is said of their size instead of the truth
//   fail QUERY STATUS                                    QUERY: a name of AdapterQuery; STATUS in hex
//   empty QUERY                                          it succeeds, and fills nothing
namespace igpu::test {

enum class AdapterQuery { counts, node, running, segment, memory, clock, sensors, process_node, process_segment, pdh };
inline constexpr std::string_view kAdapterQueries[] = {"counts", "node",    "running",      "segment",         "memory",
                                                       "clock",  "sensors", "process_node", "process_segment", "pdh"};

struct ScriptNode {
  std::uint32_t type = 0, permille = 0;
  std::string name;
  std::optional<std::int64_t> running;
  NodeClock clock;
};
struct ScriptUse {
  std::string process;
  std::uint32_t node = 0, permille = 0, segment = 0;
  std::uint64_t bytes = 0;
};
struct ScriptCounter {
  std::uint32_t pid = 0, node = 0, permille = 0;
};
struct ScriptArray {
  std::uint32_t bytes = 0, items = 0;
};
struct ScriptAdapter {
  AdapterFacts facts;
  std::uint64_t first = 0, last = UINT64_MAX;
  std::vector<ScriptNode> nodes;
  std::vector<AdapterSegment> segments;
  AdapterMemory memory;
  std::optional<AdapterSensors> sensors;
  std::optional<AdapterCounts> counts;
  std::vector<ScriptUse> uses;
  std::vector<ScriptCounter> counters;
  std::vector<EngineCounter> instances;
  std::optional<ScriptArray> array;
  std::map<AdapterQuery, NtStatus> fails;
  std::vector<AdapterQuery> empty;

  // How this query ends; another one than success has no result.
  NtStatus status(AdapterQuery query, std::size_t number, std::size_t of) const;
  bool fills(AdapterQuery query) const;
  AdapterCounts told_counts() const;
  std::int64_t running(std::size_t node, std::uint64_t milliseconds) const;  // 100 ns
  std::int64_t running(std::string_view process, std::size_t node, std::uint64_t milliseconds) const;
  std::uint64_t committed(std::string_view process, std::size_t segment) const;
  std::vector<EngineCounter> engine_counters(std::uint64_t milliseconds) const;
};

// Lines that say nothing are skipped.
std::vector<ScriptAdapter> read_adapter_script(std::string_view text);

}  // namespace igpu::test
