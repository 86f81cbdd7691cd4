// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/chosen_gpus.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/stats_table.h"
#include "format/json_lines.h"
#include "igpu/monitor.h"
#include "report/fixes.h"
#include "self/build_info.h"

namespace igpu::exporter {

namespace {

// Printed once, with the first table.
std::string note_on_missing(std::span<const Finding> findings) {
  const auto missing = std::count_if(findings.begin(), findings.end(), is_missing);
  if (missing == 0) return {};
  const std::string what = missing == 1 ? "1 feature is" : std::to_string(missing) + " features are";
  return "\n" + what + " missing: `" + std::string(kProgramName) + " doctor` shows how to fix this.\n";
}

}  // namespace

int stats(const Options& options) {
  require_chosen_gpus(options);
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  Monitor monitor(options.monitor, log);
  auto next = std::chrono::steady_clock::now();
  for (std::uint64_t number = 0; !options.count || number < *options.count; ++number) {
    if (number > 0) {
      next = std::max(next + options.interval, std::chrono::steady_clock::now());
      std::this_thread::sleep_until(next);
    }
    const std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
    if (number == 0) next = std::chrono::steady_clock::now();  // the first scrape waited for min_window
    const PageView page(result->lists());
    std::string out;
    if (options.json) {
      write_json_line(page, std::chrono::system_clock::now(), out);
    } else {
      const std::vector<Gpu> gpus = monitor.gpus();
      if (number > 0) out += '\n';
      out += gpus.empty() ? "No Intel GPU bound to i915 or xe.\n" : stats_table(page, gpus);
      if (number == 0) out += note_on_missing(result->findings());
    }
    if (print(out) != EXIT_SUCCESS) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace igpu::exporter
