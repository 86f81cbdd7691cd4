// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "machine/filesystem.h"

// The PMUs that collectors read, of all that a kernel has: those of GPUs, of RAPL and of memory controllers. Never a
// PMU of probes, tracepoints, breakpoints or software events: these read or change what belongs to other processes.
namespace igpu {

bool is_collected_pmu(std::string_view name);

// Whether a PMU that collectors read has this number now. The kernel assigns numbers when a driver is bound, so they
// are read from sysfs at each call.
bool is_type_of_collected_pmu(const Directory& sys, std::uint32_t type);

// The PMUs of the memory controllers of a processor (arch/x86/events/intel/uncore_snb.c, uncore_snbep.c):
//
//   uncore_imc                    data_reads, data_writes              clients up to Ice Lake
//   uncore_imc_free_running_<N>   data_read, data_write                clients from Tiger Lake on
//   uncore_imc_<N>                cas_count_read[_sch<M>], ..._write   servers
//
// All of them count cache lines, with a .scale to MiB.

struct ImcPmu {
  std::string name;
  std::vector<std::string> reads, writes;  // events to be added up
};

// All PMUs of one of these families; empty if the machine has none. Families are not added up: each counts the same
// traffic.
std::vector<ImcPmu> imc_pmus(const Directory& sys);

}  // namespace igpu
