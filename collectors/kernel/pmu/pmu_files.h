// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"
#include "machine/filesystem.h"

// The texts with which a perf PMU describes itself below /sys/bus/event_source/devices/<pmu>
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events).
namespace igpu {

// The outcome for an event whose description lacks a field or cannot be parsed. The kernel rejects events with other
// errors.
inline constexpr Absent kNotDescribed{Reason::kernel, EBADMSG};

// The words of perf_event_attr that a format file may name: config, config1, config2, config3.
using PmuConfig = std::array<std::uint64_t, 4>;

// One file of format/: which bits of which word a term fills.
struct PmuField {
  struct Range {
    unsigned first = 0;  // inclusive
    unsigned last = 0;
    bool operator==(const Range&) const = default;
  };
  std::string name;
  std::size_t word = 0;       // index into PmuConfig
  std::vector<Range> ranges;  // the value's lowest bits go to the first one

  // Puts the value into the field's bits. False: it does not fit, and config is unchanged.
  bool place(std::uint64_t value, PmuConfig& config) const;
};

// "config:0-20", "config:0-7,21", "config1:3".
std::optional<PmuField> parse_pmu_field(std::string_view name, std::string_view text);

// One term of an event's text; a term without "=" has the value 1.
struct PmuTerm {
  std::string_view name;
  std::uint64_t value = 1;
};
// Removes the first term from text: "event=0xff,umask=0x20", "config=0x2000". nullopt for an invalid term (no name, no
// number, "event=?").
std::optional<PmuTerm> take_pmu_term(std::string_view& text);

// Parses the whole text into config words. Terms are the fields of format/, and config, config1, config2 and config3
// for whole words. nullopt if a term is unknown or does not fit.
std::optional<PmuConfig> parse_pmu_event(std::string_view text, const std::vector<PmuField>& fields);
// Adds one term to config; false as parse_pmu_event().
bool place_pmu_term(std::string_view name, std::uint64_t value, const std::vector<PmuField>& fields, PmuConfig& config);

// Parses a list of CPUs: "0", "0-3", "0,8". cpumask names the one CPU of every package (or of the machine) on which the
// PMU is to be opened. Empty for other text.
std::vector<int> parse_cpu_list(std::string_view text);

// The PMUs that collectors read, of all that a kernel has: those of GPUs, of RAPL and of memory controllers. Never a
// PMU of probes, tracepoints, breakpoints or software events: these read or change what belongs to other processes.
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
