// SPDX-License-Identifier: Apache-2.0
// The System Resource Tracker's CSV with any lines below its header: each is a row or counted, and whatever the rows
// say, both reports can be written.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "level_zero/report.h"

using namespace igpu::exporter;

namespace {

constexpr std::string_view kHeader =
    "CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,Delta_VmSize_KB,Delta_VmRSS_KB,"
    "Delta_VmData_KB,Contexts,CommandQueues,Modules,Kernels,EventPools,CommandLists,Events,Fences,Images,Samplers,"
    "TotalMemory_Bytes\n";

}  // namespace

FUZZ_TARGET(level_zero_csv) {
  const std::string_view lines(reinterpret_cast<const char*>(data), size);
  if (!lines.starts_with("CallNumber,")) FUZZ_CHECK(!read_csv(lines));
  ReportInput input;
  auto rows = read_csv(std::string(kHeader) + std::string(lines));
  FUZZ_CHECK(rows);
  input.rows = std::move(*rows);
  const auto ends = static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  FUZZ_CHECK(input.rows.rows.size() <= ends);
  FUZZ_CHECK(input.rows.rows.size() + input.rows.unreadable == ends + (lines.empty() || lines.ends_with('\n') ? 0 : 1));
  for (const Row& row : input.rows.rows) {
    FUZZ_CHECK(std::isfinite(row.milliseconds));
    FUZZ_CHECK(row.function < input.rows.functions.size());
  }
  Symbols symbols;
  FUZZ_CHECK(!report_text(input, symbols).empty());
  const std::string html = report_html(input, symbols);
  FUZZ_CHECK(html.find("<script") == std::string::npos);
  FUZZ_CHECK(html.find("='nan") == std::string::npos && html.find("='inf") == std::string::npos);
  return 0;
}
