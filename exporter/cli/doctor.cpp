// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/sandbox_plan.h"
#include "igpu/monitor.h"
#include "web_config/web_config_file.h"

namespace igpu::exporter {
namespace {

// What nobody can or needs to give: how this machine is, not what it lacks. A driver that has it in no version is one.
bool is_normal(const Finding& finding) {
  const Reason reason = finding.absent.reason;
  return reason == Reason::hardware || reason == Reason::suspended || reason == Reason::disabled ||
         (reason == Reason::kernel && finding.cure.empty());
}

std::string_view explained(Reason reason) {
  switch (reason) {
    case Reason::permission:
      return "not permitted";
    case Reason::kernel:
      return "the kernel does not offer it";
    case Reason::hardware:
      return "this hardware does not have it";
    case Reason::suspended:
      return "the GPU is asleep and is not woken for it";
    case Reason::disabled:
      return "turned off by a flag";
  }
  return "";
}

class Report {
 public:
  void title(const std::string& text) { out_ += (out_.empty() ? "" : "\n") + text + '\n'; }

  void finding(const Finding& finding) {
    const std::string name(finding.feature->name);
    if (finding.available) {
      out_ += "  ok       " + name + '\n';
      return;
    }
    const bool normal = is_normal(finding);
    if (!normal) ++missing_;
    asleep_ = asleep_ || finding.absent.reason == Reason::suspended;
    out_ +=
        (normal ? "  -        " : "  MISSING  ") + name + ": " + std::string(explained(finding.absent.reason)) + '\n';
    if (!normal) line("", std::string(finding.feature->meaning));
    if (!finding.cause.empty() && finding.absent.reason != Reason::hardware) line("cause: ", finding.cause);
    if (!finding.cure.empty()) line("cure:  ", finding.cure);
  }

  // Nothing of it is data: what is not there is told and not counted.
  void layer(Layer layer, const LayerOutcome& outcome) {
    const std::string name(to_string(layer));
    out_ += (outcome.on ? "  ok       " : "  -        ") + name + (outcome.detail.empty() ? "" : ": " + outcome.detail) + '\n';
    if (!outcome.cure.empty()) line("cure:  ", outcome.cure);
  }

  void failed(const std::string& device, std::string_view collector) {
    ++missing_;
    out_ += "  FAILED   collector " + std::string(collector) + (device.empty() ? "" : " of " + device) +
            ", see the log above\n";
  }

  void web_config(const std::string& file, const std::string& error) {
    out_ += (error.empty() ? "  ok       " : "  FAILED   ") + terminal_safe(file) + '\n';
    if (error.empty()) return;
    ++missing_;
    line("cause: ", error);
    line("cure:  ", "correct it; until then the exporter does not start, and one that runs keeps an earlier state");
  }

  int missing() const { return missing_; }
  bool asleep() const { return asleep_; }
  std::string take() { return std::move(out_); }

 private:
  void line(const char* what, const std::string& text) { out_ += "           " + (what + terminal_safe(text)) + '\n'; }

  std::string out_;
  int missing_ = 0;
  bool asleep_ = false;
};

bool any_for(std::span<const Finding> findings, const std::string& device) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return f.device == device && f.feature != nullptr; });
}

void add_findings(Report& report, std::span<const Finding> findings, const std::string& device) {
  for (const Finding& finding : findings) {
    if (finding.device == device && finding.feature != nullptr) report.finding(finding);
  }
}

void add_failures(Report& report, const ScrapeResult& result) {
  const PageView page(result.lists());
  bool any = false;
  for (const PageView::Family& family : page.families()) {
    if (family.metric->name != "intel_gpu_scrape_collector_success") continue;
    for (const PageView::Entry& entry : family.entries) {
      if (entry.sample->value != 0) continue;
      if (!any) report.title("Collectors");
      any = true;
      report.failed("", entry.list->label_value(*entry.sample, 0));
    }
  }
}

void add_web_config(Report& report, const std::string& file, Log& log) {
  if (file.empty()) return;
  report.title("Web configuration");
  try {
    const WebConfigFile loaded(file, log);
    report.web_config(file, "");
  } catch (const std::exception& error) {
    report.web_config(file, error.what());
  }
}

}  // namespace

int doctor(const Options& options) {
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  MonitorOptions monitor_options = options.monitor;
  const SandboxPlan plan = sandbox_plan(options);
  const SandboxOutcomes sandbox = try_sandbox(plan);  // before there are threads
  monitor_options.min_window = std::chrono::milliseconds(1);  // nothing here is measured over time
  Monitor monitor(monitor_options, log);
  const std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
  const std::vector<Gpu> gpus = monitor.gpus();
  Report report;
  for (const Gpu& gpu : gpus) {
    report.title(gpu.address + "  " + terminal_safe(gpu.name) + " (" + to_string(gpu.driver) + ")");
    add_findings(report, result->findings(), gpu.address);
  }
  if (any_for(result->findings(), "")) {
    report.title("This machine");
    add_findings(report, result->findings(), "");
  }
  add_failures(report, *result);
  add_web_config(report, options.web_config_file, log);
  report.title("The sandbox that `serve` gets here");
  for (const Layer layer : kLayers) report.layer(layer, sandbox[static_cast<std::size_t>(layer)]);
  if (gpus.empty()) {
    report.title(
        "No Intel GPU is bound to i915 or xe.\n"
        "  cause: no PCI device of vendor 0x8086 below " +
        options.monitor.sysfs_root +
        "/class/drm has one of these drivers\n"
        "  cure:  look for the device with `lspci -nnk -d 8086::0300` and `lspci -nnk -d 8086::0380`; if it is there\n"
        "         without a driver: `modprobe i915` or `modprobe xe`; in a container: mount /sys of the host");
  }
  const bool complete = report.missing() == 0 && !gpus.empty();
  report.title(complete && report.asleep() ? "Nothing is missing as far as can be told without waking a GPU that sleeps."
               : complete     ? "Everything is there."
               : gpus.empty() ? "Nothing to watch."
                              : std::to_string(report.missing()) + " missing.");
  const int printed = print(report.take());
  return complete ? printed : EXIT_FAILURE;
}

}  // namespace igpu::exporter
