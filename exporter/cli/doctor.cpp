// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cli/chosen_gpus.h"
#include "cli/commands.h"
#include "cli/doctor_report.h"
#include "cli/output.h"
#include "cli/sandbox_plan.h"
#include "igpu/monitor.h"
#include "web_config/web_config_file.h"

namespace igpu::exporter {
namespace {

std::string web_config_error(const std::string& file, Log& log) {
  if (file.empty()) return {};
  try {
    const WebConfigFile loaded(file, log);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

int doctor(const Options& options) {
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  MonitorOptions monitor_options = options.monitor;
  const SandboxPlan plan = sandbox_plan(options);
  Diagnosis diagnosis;
  diagnosis.sandbox = try_sandbox(plan);  // before any other thread exists
  require_chosen_gpus(options);
  monitor_options.min_window = std::chrono::milliseconds(1);  // no rates are printed
  Monitor monitor(monitor_options, log);
  diagnosis.gpus = monitor.gpus();
  const std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
  diagnosis.findings = result->findings();
  diagnosis.failed_collectors = result->failed_collectors();
  diagnosis.web_config_file = options.web_config_file;
  diagnosis.web_config_error = web_config_error(options.web_config_file, log);
  diagnosis.sysfs_root = options.monitor.sysfs_root;
  const int printed = print(options.json ? doctor_json(diagnosis) : doctor_text(diagnosis));
  return diagnosis.complete() ? printed : EXIT_FAILURE;
}

}  // namespace igpu::exporter
