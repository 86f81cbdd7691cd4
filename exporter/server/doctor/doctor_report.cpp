// SPDX-License-Identifier: Apache-2.0
#include "server/doctor/doctor_report.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/options.h"
#include "cli/output.h"
#include "igpu/model.h"
#include "igpu/monitor.h"
#include "platform/own_process.h"
#include "platform/regular_file.h"
#include "server/sandbox_plan.h"
#include "server/web_config/web_config_file.h"
#include "text/text.h"
#include "view/capture_file/capture_file.h"
#include "view/chosen_gpus.h"
#include "view/report/gpu_summary.h"
#include "view/workloads/rules_file.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kFindingIndent = 11;  // after "  MISSING  "

void add_line(std::string& out, std::string_view mark, const std::string& text) {
  out += "  " + padded(mark, kFindingIndent - 2);
  append_wrapped(out, clean_text(text), kFindingIndent);
  out += '\n';
}

void add_title(std::string& out, const std::string& text, const std::string& device = {}) {
  if (!out.empty()) out += '\n';
  if (!device.empty()) out += device + "  ";
  append_wrapped(out, clean_text(text), 2);
  out += '\n';
}

struct StateLine {
  std::string_view mark;         // first column
  std::string_view explanation;  // before the names
  bool (*includes)(const Finding&);
};

bool lacks(const Finding& finding, Reason reason) {
  return !finding.available && finding.absent.reason == reason && !is_optional_fix(finding);
}

constexpr std::string_view kNotInHardware = "this hardware does not have it: ";

// One line each, by interest: what works, what is missing, what is absent by design.
constexpr StateLine kStates[] = {
    {"ok", "", [](const Finding& finding) { return finding.available; }},
    {"MISSING", "not permitted: ", [](const Finding& finding) { return lacks(finding, Reason::permission); }},
    {"MISSING", "this kernel does not offer it: ",
     [](const Finding& finding) { return lacks(finding, Reason::kernel) && is_missing(finding); }},
    {"-", "the GPU is asleep and is not woken for it: ",
     [](const Finding& finding) { return lacks(finding, Reason::suspended); }},
    {"-", "turned off or not set up: ", [](const Finding& finding) { return lacks(finding, Reason::disabled); }},
    {"-", "no version of this driver has it: ",
     [](const Finding& finding) { return lacks(finding, Reason::kernel) && !is_missing(finding); }},
    {"-", "optional: ", is_optional_fix},
    {"-", kNotInHardware, [](const Finding& finding) { return lacks(finding, Reason::hardware); }}};

void add_states(std::string& out, std::span<const Finding> findings, const std::string& device, bool of_function) {
  for (const StateLine& state : kStates) {
    const std::string_view explanation = of_function && state.explanation == kNotInHardware
                                             ? "a virtual function does not have it; it is read on the host: "
                                             : state.explanation;
    std::string text;
    for (const Finding& finding : findings) {
      if (finding.device != device || finding.feature == nullptr || !state.includes(finding)) continue;
      text += (text.empty() ? std::string(explanation) : ", ") + std::string(finding.feature->name);
    }
    if (!text.empty()) add_line(out, state.mark, text);
  }
  const auto pins_modules = [&](const Finding& finding) {
    return finding.device == device && finding.feature != nullptr && finding.available &&
           finding.feature->need == Need::job_events;
  };
  if (std::ranges::any_of(findings, pins_modules))
    add_line(out, "-", "while jobs are counted, i915, or gpu_sched and xe, cannot be unloaded");
}

// Not wrapped where it is a line to copy.
void add_advice(std::string& out, std::span<const Advice> all, const std::string& device) {
  for (const Advice& advice : all) {
    if (advice.device != device) continue;
    add_line(out, advice.wrong ? "CHECK" : "-", advice.text);
    if (!advice.command.empty()) out += std::string(kFindingIndent, ' ') + clean_text(advice.command) + '\n';
  }
}

// Lines are not wrapped: they are copied.
void add_steps(std::string& out, std::span<const GrantStep> steps) {
  for (const GrantStep& step : steps) {
    out += '\n';
    if (!step.text.empty()) {
      out += "  ";
      append_wrapped(out, clean_text(step.text), 2);
      out += '\n';
    }
    for (std::string_view rest : step.lines)
      while (!rest.empty()) {
        const std::string line = clean_text(std::string(take_until(rest, '\n')));
        out += "  " + line + '\n';
      }
  }
}

void add_fixes(std::string& out, const std::vector<Fix>& fixes, const std::string& title) {
  if (fixes.empty()) return;
  add_title(out, title);
  std::size_t number = 0;
  for (const Fix& fix : fixes) {
    const std::string mark = std::to_string(++number) + ".";
    add_line(out, mark, fix.hint.empty() ? "nothing can be done here" : fix.hint);
    for (const std::string& cause : fix.causes) {
      if (!cause.empty()) add_line(out, "", "why: " + cause);
    }
    for (const std::string& gain : gains_of(fix)) {
      out.append(kFindingIndent, ' ');
      out += "* ";
      append_wrapped(out, clean_text(gain), kFindingIndent + 2);
      out += '\n';
    }
  }
}

void add_sandbox(std::string& out, const SandboxOutcomes& sandbox, bool simulated) {
  add_title(out, std::string("Sandbox of `serve` on this machine") + (simulated ? ", not on the simulated one" : ""));
  for (const Layer layer : kLayers) {
    const LayerOutcome& outcome = sandbox[static_cast<std::size_t>(layer)];
    const std::string detail = outcome.detail.empty() ? "" : ": " + outcome.detail;
    add_line(out, outcome.on ? "ok" : "-", std::string(to_string(layer)) + detail);
    if (!outcome.hint.empty()) add_line(out, "", "fix: " + outcome.hint);
  }
}

void add_web_config(std::string& out, const Diagnosis& diagnosis) {
  if (diagnosis.web_config_file.empty()) return;
  add_title(out, "Web configuration");
  const bool good = diagnosis.web_config_error.empty();
  add_line(out, good ? "ok" : "FAILED", diagnosis.web_config_file);
  if (good) return;
  // Not wrapped: it contains a path to copy.
  out += std::string(kFindingIndent, ' ') + "why: " + clean_text(diagnosis.web_config_error) + '\n';
  add_line(out, "",
           "fix: correct it; until then the exporter does not start, and a running one keeps its configuration");
}

void add_no_gpu(std::string& out, const std::string& sysfs_root) {
  const NoGpuAdvice advice = no_gpu_advice(sysfs_root);
  add_title(out, std::string(kNoGpu) + '.');
  add_line(out, "", "why: " + advice.why);
  add_line(out, "", "fix: search for the device with");
  out += std::string(kFindingIndent + 2, ' ') + std::string(advice.look) + '\n';
  add_line(out, "", std::string(advice.then));
}

// Those that a guest has, or those that something can be done about.
void add_unbound(std::string& out, std::span<const snapshot::Unbound> unbound, bool guests) {
  for (const snapshot::Unbound& gpu : unbound) {
    if (is_guests(gpu) != guests) continue;
    add_title(out, name_of(gpu), gpu.address);
    add_line(out, guests ? "-" : "MISSING", why_unbound(gpu));
    const UnboundHelp help = help_for(gpu);
    for (const std::string& line : {help.command, help.hint})  // not wrapped: both have something to copy
      if (!line.empty()) out += std::string(kFindingIndent, ' ') + clean_text(line) + '\n';
  }
}

std::string verdict(const Diagnosis& diagnosis) {
  if (diagnosis.complete() && diagnosis.asleep())
    return "Nothing is missing, as far as known without waking a GPU that is asleep.";
  if (diagnosis.complete()) return "Nothing is missing.";
  if (diagnosis.gpus.empty() && diagnosis.npus.empty()) return "No GPU to monitor.";
  return std::to_string(diagnosis.missing()) + " missing; what to do is at the top.";
}

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

std::string doctor_text(const Diagnosis& diagnosis) {
  std::string out;
  if (!diagnosis.simulated.empty())
    add_title(out, "Simulated: " + diagnosis.simulated + ". What follows is about that machine, not about this one.");
  if (diagnosis.gpus.empty() && diagnosis.npus.empty() && diagnosis.unbound.empty())
    add_no_gpu(out, diagnosis.place.sysfs_root);
  add_unbound(out, diagnosis.unbound, false);
  if (diagnosis.complete()) add_title(out, verdict(diagnosis));
  if (!diagnosis.place.title.empty()) add_title(out, diagnosis.place.title);
  add_steps(out, diagnosis.place.steps);
  add_fixes(out, fixes_for(diagnosis.findings), "What each brings");
  for (const Gpu& gpu : diagnosis.gpus) {
    const std::string name = gpu.name.empty() ? "(unknown name)" : gpu.name;
    const std::string function = gpu.virtual_function ? ", virtual function" : "";
    add_title(out, name + " (" + to_string(gpu.kind) + ", " + to_string(gpu.driver) + function + ")", gpu.address);
    add_states(out, diagnosis.findings, gpu.address, gpu.virtual_function);
    if (diagnosis.advice) add_advice(out, *diagnosis.advice, gpu.address);
  }
  for (const snapshot::Npu& npu : diagnosis.npus)
    add_title(out, name_of(npu) + " (NPU, intel_vpu); its features are listed below", npu.address);
  add_unbound(out, diagnosis.unbound, true);
  std::string machine;
  add_states(machine, diagnosis.findings, "", false);
  if (!machine.empty()) {
    add_title(out, "This machine");
    out += machine;
  }
  if (!diagnosis.failed_collectors.empty()) add_title(out, "Collectors");
  for (const std::string_view collector : diagnosis.failed_collectors) {
    add_line(out, "FAILED", "collector " + std::string(collector) + ": see the log above");
  }
  add_web_config(out, diagnosis);
  add_sandbox(out, diagnosis.sandbox, !diagnosis.simulated.empty());
  add_fixes(out, fixes_for(diagnosis.findings, true), "Optional");
  if (!diagnosis.optional.empty()) add_title(out, "With what is optional, instead of the lines at the top:");
  add_steps(out, diagnosis.optional);
  if (!diagnosis.complete()) add_title(out, verdict(diagnosis));
  return out;
}

void write_sandbox(JsonWriter& json, const SandboxOutcomes& outcomes) {
  json.name("sandbox").begin_array();
  for (const Layer layer : kLayers) {
    const LayerOutcome& outcome = outcomes[static_cast<std::size_t>(layer)];
    json.begin_object().member("layer", to_string(layer)).member("on", outcome.on);
    if (!outcome.detail.empty()) json.member("detail", outcome.detail);
    if (!outcome.hint.empty()) json.member("hint", outcome.hint);
    json.end_object();
  }
  json.end_array();
}

std::string doctor_json(const Diagnosis& diagnosis) {
  const BuildInfo build = build_info();
  JsonWriter json;
  json.begin_object().member("version", build.version).member("revision", build.revision);
  json.member("bpf", build.has_bpf);
  if (!diagnosis.simulated.empty()) json.member("simulated", diagnosis.simulated);
  write_diagnosis(json, diagnosis);
  if (!diagnosis.web_config_file.empty()) {
    json.name("web_config").begin_object().member("file", diagnosis.web_config_file);
    json.member("valid", diagnosis.web_config_error.empty());
    if (!diagnosis.web_config_error.empty()) json.member("error", diagnosis.web_config_error);
    json.end_object();
  }
  write_sandbox(json, diagnosis.sandbox);
  json.end_object();
  return json.take() + '\n';
}

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
