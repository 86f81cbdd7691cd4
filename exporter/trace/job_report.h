// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "trace/trace_arguments.h"
#include "trace/trace_file.h"

// The output of `trace report`, `timeline` and `export`. Pure functions.
namespace igpu::exporter {

// Counts of events and jobs, and of losses by cause.
std::string trace_summary(const TraceFile& file);
std::string trace_overview(const TraceFile& file);  // also of a flight
std::string jobs_csv(const TraceFile& file);
std::string top_jobs(const TraceFile& file, std::size_t count);
std::string job_histogram(const TraceFile& file, TraceArguments::Histogram which);
std::string jobs_by(const TraceFile& file, std::string_view what);
std::string timeline(const TraceFile& file, const TraceArguments& arguments);

// "0000:03:00.0 rcs0"; if the kernel named no ring, the source.
std::string ring_of(const Job& job);
// What delayed the job most: "long queue", "slow run", ...
std::string_view blocker(const Job& job);

}  // namespace igpu::exporter
