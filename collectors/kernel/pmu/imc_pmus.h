// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "machine/filesystem.h"

// The PMUs of the memory controllers of a processor (arch/x86/events/intel/uncore_snb.c, uncore_snbep.c):
//
//   uncore_imc                    data_reads, data_writes              clients up to Ice Lake
//   uncore_imc_free_running_<N>   data_read, data_write                clients from Tiger Lake on
//   uncore_imc_<N>                cas_count_read[_sch<M>], ..._write   servers
//
// All of them count cache lines, with a .scale to MiB.
namespace igpu {

struct ImcPmu {
  std::string name;
  std::vector<std::string> reads, writes;  // events to be added up
};

// All PMUs of one of these families; empty if the machine has none. Families are not added up: each counts the same
// traffic.
std::vector<ImcPmu> imc_pmus(const Directory& sys);

}  // namespace igpu
