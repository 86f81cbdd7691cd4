// SPDX-License-Identifier: Apache-2.0
#include "support/perfetto_copy.h"

#include <string_view>

#include "trace/trace_file.h"

namespace igpu::test {

std::string perfetto_copy(const exporter::TraceFile& file) {
  std::string text;
  const std::uint64_t zero = file.first_ns == 0 ? 1 : file.first_ns;
  exporter::PerfettoWriter writer([&](std::string_view bytes) { text += bytes; }, {zero, zero, zero});
  for (const auto& [pid, workload] : file.workloads) writer.add(JobProcess{file.first_ns, pid, workload});
  for (const auto& job : file.jobs) writer.add(job);
  for (const auto& wait : file.waits) writer.add(wait);
  for (const auto& call : file.calls) writer.add(call);
  for (const auto& cpu_switch : file.switches) writer.add(cpu_switch);
  writer.add_counts(file.counts, file.last_ns, file.ended);
  writer.flush();
  return text;
}

}  // namespace igpu::test
