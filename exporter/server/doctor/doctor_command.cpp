// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/commands.h"
#include "cli/output.h"
#include "igpu/model.h"
#include "igpu/monitor.h"
#include "platform/build_info.h"
#include "platform/watched_files.h"
#include "server/doctor/doctor_report.h"
#include "server/sandbox_plan.h"
#include "server/web_config/web_config_file.h"
#include "view/capture_file/capture_file.h"
#include "view/chosen_gpus.h"
#include "view/report/fixes.h"
#include "view/workloads/rules_file.h"

namespace igpu::exporter {
namespace {

std::string web_config_error(const std::string& file, Log& log) {
  if (file.empty()) return {};
  try {
    const WebConfigFile loaded(file, log);
    return {};
  } catch (const FlagFileError& error) {
    return error.reason();
  } catch (const std::exception& error) {
    return error.what();
  }
}

// The report without what is private in it: the home folder of the program's path, and names of programs.
std::string report_for_others(Diagnosis diagnosis, const std::string& program) {
  diagnosis.web_config_file.clear();
  diagnosis.web_config_error.clear();
  std::erase_if(*diagnosis.advice, [](const Advice& advice) { return advice.names_programs; });
  std::string text = doctor_text(diagnosis);
  for (std::size_t at = 0; (at = text.find(program, at)) != std::string::npos; at += kProgramName.size())
    text.replace(at, program.size(), kProgramName);
  return text;
}

}  // namespace

int doctor(const Options& options) {
  if (options.bug_file) check_capture_destination("doctor --bug", *options.bug_file);
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  MonitorOptions monitor_options = with_workload_rules(options.monitor, log);
  const SandboxPlan plan = sandbox_plan(options);
  Diagnosis diagnosis;
  diagnosis.sandbox = try_sandbox(plan);  // before any other thread exists
  require_chosen_gpus(options);
  monitor_options.min_window = std::chrono::milliseconds(1);  // no rates are printed
  Monitor monitor(monitor_options, log);
  diagnosis.gpus = monitor.gpus();
  const std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
  const std::vector<Finding> findings = most_useful_first(result->findings());
  diagnosis.findings = findings;
  diagnosis.failed_collectors = result->failed_collectors();
  diagnosis.web_config_file = options.web_config_file;
  diagnosis.web_config_error = web_config_error(options.web_config_file, log);
  diagnosis.simulated = options.monitor.simulate;
  const Place place = place_of(options.monitor);
  const std::string program = program_path(options.monitor);
  diagnosis.place = place_of_grants(findings, place, program);
  const bool optional = std::ranges::any_of(
      findings, [](const Finding& finding) { return is_optional_fix(finding) && finding.rights != Rights::none; });
  if (optional) diagnosis.optional = how_to_grant(findings, place, program, true);
  diagnosis.place.sysfs_root = options.monitor.sysfs_root;
  HostModel model = model_of(PageView(result->lists()));
  if (std::ranges::any_of(model.gpus, [](const GpuModel& gpu) { return snapshot::busy_but_slow(gpu).has_value(); })) {
    // The time since the start is short: look twice.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    model = model_of(PageView(monitor.scrape({})->lists()));
  }
  diagnosis.npus = model.npus;
  diagnosis.unbound = model.unbound;
  diagnosis.advice = advice_for(model.gpus, diagnosis.gpus, read_sysfs_of(options.monitor));
  if (options.bug_file)
    return write_capture(options, *options.bug_file, true, {{"bug/doctor", report_for_others(diagnosis, program)}});
  const int printed = print(options.json ? doctor_json(diagnosis) : doctor_text(diagnosis));
  return diagnosis.complete() ? printed : EXIT_FAILURE;
}

}  // namespace igpu::exporter
