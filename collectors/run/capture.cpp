// SPDX-License-Identifier: Apache-2.0
#include "igpu/capture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

#include "collector/shared/shared_options.h"
#include "fake/capture/answers.h"
#include "fake/capture/bug_files.h"
#include "fake/capture/masks.h"
#include "fake/capture/passes.h"
#include "run/machine_parts.h"
#include "run/registry.h"

namespace igpu {
namespace {

class RecordingParts final : public MachineParts {
 public:
  explicit RecordingParts(std::shared_ptr<MachineParts> inner)
      : inner_(std::move(inner)), recorder_(inner_->machine().clock), asked_(recorder_, &inner_->machine()) {}
  Machine& machine() override { return asked_.machine(); }
  Machine& recorded_machine() { return inner_->machine(); }
  void scrape_begins() override {
    inner_->scrape_begins();
    recorder_.begin_pass();
  }
  capture::Recorder& recorder() { return recorder_; }

 private:
  std::shared_ptr<MachineParts> inner_;
  capture::Recorder recorder_;
  capture::AskedMachine asked_;
};

// A collector that is skipped has nothing in the capture: longer than the longest scan of all processes.
constexpr Nanoseconds kLeastTimeout = capture::kClientScanLimit + std::chrono::seconds(5);

// What is off by default reads other files, such as those of container engines, which may hold secrets.
MonitorOptions recorded_options(const MonitorOptions& options) {
  MonitorOptions recorded = options;
  recorded.min_window = std::chrono::milliseconds(1);
  recorded.workload_rules.reset();
  recorded.flights.reset();
  recorded.collector_timeout = std::max(recorded.collector_timeout, kLeastTimeout);
  for (const CollectorDescription& collector : describe_collectors()) {
    if (!collector.enabled_by_default && !collector.always_on)
      recorded.collectors[std::string(collector.name)] = collector.for_commands;
  }
  return recorded;
}

// How long our own threads took, and how long ago they scanned: no property of the machine.
bool measures_ourselves(std::string_view metric) {
  return metric.ends_with("_duration_seconds") || metric == kClientScanAge.name;
}

// A capture has neither debugfs nor the files of virtual machines: no events of a virtual function, nor who holds it.
bool is_in_no_capture(bool of_function, std::string_view label, std::string_view value) {
  return (of_function && label == "kind") ||
         (label == "feature" && (value == "vf_adverse_events" || value == "vf_workload"));
}

// A page as lines that can be compared: names masked, without what measures ourselves.
std::multiset<std::string> lines_of(const ScrapeResult& page, capture::Masks* masks) {
  std::multiset<std::string> lines;
  for (const SampleList* const list : page.lists()) {
    for (const SampleList::Sample& sample : list->samples()) {
      const MetricDescriptor& metric = *sample.metric;
      if (measures_ourselves(metric.name)) continue;
      std::string line(metric.name);
      bool left_out = false, of_function = false;
      for (std::size_t i = 0; i < metric.label_names.size() && !metric.label_names[i].empty(); ++i) {
        const std::string_view name = metric.label_names[i];
        std::string value(list->label_value(sample, i));
        of_function = of_function || name == "vf";
        left_out = left_out || is_in_no_capture(of_function, name, value);
        if (of_function && name == "workload") value.clear();
        if (masks && name == "comm") value = masks->process(value);
        if (masks && name == "user") value = masks->user(value);
        if (masks && (name == "cgroup" || name == "container_id" || name == "pod_uid" || name == "systemd_unit"))
          value = masks->cgroup(value);
        ((line += ' ') += name) += '=' + value;
      }
      if (left_out) continue;
      std::array<char, 32> number;
      const auto end = std::to_chars(number.data(), number.data() + number.size(), sample.value).ptr;
      lines.insert((line += ' ').append(number.data(), end));
    }
  }
  return lines;
}

std::string metric_of(const std::string& line) { return line.substr(0, line.find(' ')); }

std::vector<std::string> compare(const std::multiset<std::string>& original,
                                 const std::multiset<std::string>& replayed) {
  std::vector<std::string> lines;
  std::set_symmetric_difference(original.begin(), original.end(), replayed.begin(), replayed.end(),
                                std::back_inserter(lines));
  std::set<std::string> metrics;
  for (const std::string& line : lines) metrics.insert(metric_of(line));
  return {metrics.begin(), metrics.end()};
}

}  // namespace

CaptureOutcome capture_of(std::shared_ptr<MachineParts> machine, const MonitorOptions& options,
                          const CaptureRequest& request, const std::function<void()>& wait, Log& log) {
  const auto parts = std::make_shared<RecordingParts>(std::move(machine));
  const MonitorOptions recorded = recorded_options(options);
  CaptureOutcome outcome;
  std::vector<std::shared_ptr<const ScrapeResult>> pages;
  {
    const auto monitor = make_monitor(parts, recorded, log);
    for (std::size_t pass = 1; pass < std::max<std::size_t>(request.passes, 2); ++pass) {
      wait();
      pages.push_back(monitor->scrape({}));
      if (parts->recorder().bytes() > request.most_bytes)
        throw CaptureError("the capture would be larger than " + std::to_string(request.most_bytes >> 20U) +
                           " MiB; --gpu chooses a GPU, --no-collector.fdinfo leaves the processes out");
    }
    outcome.gpus = monitor->gpus();
    outcome.last = pages.back();
  }
  std::vector<capture::Pass> passes = parts->recorder().take_passes();
  passes.resize(std::min(passes.size(), pages.size() + 1));
  capture::Masks masks;
  outcome.left_out = capture::clean(passes, masks);
  outcome.files = capture::files_of(passes);

  // The proof: the files alone give the same pages.
  MonitorOptions replayed = recorded;
  replayed.simulate = "capture:";
  const auto monitor = make_monitor(capture_parts(outcome.files), replayed, log);
  std::set<std::string> differences;
  for (const auto& page : pages) {
    const auto original = lines_of(*page, &masks);
    outcome.samples = original.size();
    for (std::string& metric : compare(original, lines_of(*monitor->scrape({}), nullptr)))
      differences.insert(std::move(metric));
  }
  outcome.differences = {differences.begin(), differences.end()};
  outcome.files["capture"] += request.about;
  if (request.kernel_bug) add_bug_files(parts->recorded_machine(), outcome.gpus, masks, outcome);
  std::string& left_out = outcome.files["left-out"];
  for (const std::string& line : outcome.left_out) left_out += line + '\n';
  return outcome;
}

CaptureOutcome take_capture(const MonitorOptions& options, const CaptureRequest& request, Log& log) {
  const auto wait = [&] { std::this_thread::sleep_for(request.interval); };
  MonitorOptions walking = options;
  walking.collector_options[std::string(kFinder.flag())] = {"walk"};  // only what a walk reads can be recorded
  const std::shared_ptr<EarlyAccess> early = open_early(walking);
  if (request.kernel_bug) add_kernel_log(walking, *early);
  return capture_of(make_machine_parts(walking, early), options, request, wait, log);
}

void check_capture(const CaptureFiles& files) { (void)capture::passes_of(files); }

}  // namespace igpu
