// SPDX-License-Identifier: Apache-2.0
// A file of trace record with any content: what is read can be reported, drawn and exported.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "support/perfetto_copy.h"
#include "trace/trace_file.h"

using namespace igpu::exporter;

FUZZ_TARGET(trace_file) {
  const auto file = read_trace({reinterpret_cast<const char*>(data), size});
  if (!file) return 0;
  FUZZ_CHECK(!file->cut_off_at || *file->cut_off_at < size);
  FUZZ_CHECK(!file->damaged_at || *file->damaged_at < size);
  FUZZ_CHECK(file->first_ns <= file->last_ns);
  if (file->jobs.size() > 100) return 0;
  for (const std::string& text : {trace_overview(*file), jobs_csv(*file), top_jobs(*file, 3), timeline(*file, {}),
                                  job_histogram(*file, TraceArguments::Histogram::total)})
    FUZZ_CHECK(text.find('\x1b') == std::string::npos);
  const auto again = read_trace(igpu::test::perfetto_copy(*file));
  FUZZ_CHECK(again);
  FUZZ_CHECK(again->whole());
  FUZZ_CHECK(again->jobs.size() == file->jobs.size());
  return 0;
}
