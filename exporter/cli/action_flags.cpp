// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>

#include "cli/flags.h"
#include "cli/options.h"

namespace igpu::exporter {
namespace {

using namespace std::chrono_literals;

double seconds(const Setting& given) { return std::chrono::duration<double>(given.duration(0ns)).count(); }

// One job in N: "1/8".
std::uint64_t sample(const Setting& given) {
  constexpr std::string_view kForm = "1/";
  if (!given.text().starts_with(kForm)) given.refuse("is not of the form 1/N, such as 1/8");
  return Setting{{given.text().substr(kForm.size())}, given.origin}.number(1, 1'000'000);
}

JobClass job_class(const Setting& word) {
  using enum JobClass;
  return word.choice<JobClass>({{"render", render},
                                {"copy", copy},
                                {"video", video},
                                {"video_enhance", video_enhance},
                                {"compute", compute},
                                {"other", other}});
}

void take_events(Options& to, const Setting& given) {
  for (const Setting& word : given.each()) {
    (void)word.one_of(job_event_names());
    to.trace.recorder.events.push_back(word.text());
  }
  const std::vector<std::string>& events = to.trace.recorder.events;
  to.trace.recorder.waits = std::ranges::find(events, "waits") != events.end();
}

}  // namespace

void add_action_flags(std::vector<CommandFlag>& flags) {
  using To = Options&;
  using Given = const Setting&;
  AddFlag add{flags};

  add.commands = {"trace record"};
  add("o", "FILE", "gpu.pftrace", "the trace, for ui.perfetto.dev",
      [](To to, Given given) { to.trace.output = given.file(); });
  add("duration", "TIME", "", "such as 10s or 2m", [](To to, Given given) {
    to.trace.duration = std::chrono::duration_cast<std::chrono::milliseconds>(given.duration(1ms));
  });
  add("device", "LIST", "", "only these devices: PCI addresses, card0 (i915)",
      [](To to, Given given) { to.trace.recorder.devices = given.words(); });
  add("engine", "LIST", "", "only these rings: rcs0, vcs1 (i915), gfx_0.0.0",
      [](To to, Given given) { to.trace.recorder.rings = given.words(); });
  add("class", "LIST", "", "only these classes: render, copy, video, video_enhance, compute, other",
      [](To to, Given given) {
        for (const Setting& word : given.each()) to.trace.recorder.classes.push_back(job_class(word));
      });
  add("pid", "LIST", "", "only jobs that these processes submitted", [](To to, Given given) {
    for (const Setting& word : given.each())
      to.trace.recorder.pids.push_back(static_cast<std::uint32_t>(word.number(1, 0xffffffff)));
  });
  add("events", "LIST", "",
      "only these events: drm_sched, drm_sched_old, xe, i915, i915_low_level, amdgpu, virtio_gpu, waits", take_events);
  add("sample", "1/N", "", "one job in N", [](To to, Given given) { to.trace.recorder.sample = sample(given); });
  add("max-rate", "N", "", "at most N jobs per second",
      [](To to, Given given) { to.trace.recorder.max_rate = given.number(1, 100'000'000); });
  add("max-size", "SIZE", "256M", "end when the file is this large",
      [](To to, Given given) { to.trace.max_size = given.size(1 << 16); });
  add("buffer", "SIZE", "4M", "ring of each CPU",
      [](To to, Given given) { to.trace.recorder.ring_bytes = static_cast<std::size_t>(given.size(4096)); });
  add("cpu", "", "", "also context switches, and ioctls of submitting threads",
      [](To to, Given given) { to.trace.recorder.cpu = given.on(); });
  add("path.tracefs", "DIR", "", "where tracefs is mounted",
      [](To to, Given given) { to.trace.recorder.tracefs = given.file(); });

  add.commands = {"trace report"};
  add("top", "N", "", "the N jobs that took longest, and why",
      [](To to, Given given) { to.trace.top = static_cast<std::size_t>(given.number(1, 1'000'000)); });
  add("histogram", "WHICH", "", "queue, run or total", [](To to, Given given) {
    using enum TraceArguments::Histogram;
    to.trace.histogram = given.choice<TraceArguments::Histogram>({{"queue", queue}, {"run", run}, {"total", total}});
  });
  add("by", "WHAT", "", "engine, context, process or workload", [](To to, Given given) {
    constexpr std::array<std::string_view, 4> kWords{"engine", "context", "process", "workload"};
    to.trace.by = kWords[given.one_of(kWords)];
  });

  add.commands = {"trace timeline"};
  add("width", "N", "100", "columns of the terminal",
      [](To to, Given given) { to.trace.width = static_cast<std::size_t>(given.number(40, 1000)); });
  add("from", "TIME", "", "from here, since the first event",
      [](To to, Given given) { to.trace.from_seconds = seconds(given); });
  add("to", "TIME", "", "to here, since the first event",
      [](To to, Given given) { to.trace.to_seconds = seconds(given); });

  add.commands = {"level-zero run"};
  add("csv", "FILE", "", "one line for each call: process 42 writes run_pid42.csv if FILE is run.csv",
      [](To to, Given given) { to.level_zero.csv = given.file(); });
  add("log", "FILE", "", "the same, compact: run_pid42.log",
      [](To to, Given given) { to.level_zero.log = given.file(); });
  add("report", "FILE", "", "a report; HTML if the name ends in .html",
      [](To to, Given given) { to.level_zero.report = given.file(); });
  add("stacks", "N", "1", "frames of each call site, 1 to 16",
      [](To to, Given given) { to.level_zero.stacks = static_cast<std::uint32_t>(given.number(1, 16)); });
  add("fail-on-leak", "", "", "exit with 1 if the program succeeds but leaks",
      [](To to, Given given) { to.level_zero.fail_on_leak = given.on(); });
  add.commands = {"level-zero report"};
  add("html", "FILE", "", "the same as HTML", [](To to, Given given) { to.level_zero.html = given.file(); });
  add("calls", "", "", "first one line for each call of a log",
      [](To to, Given given) { to.level_zero.calls = given.on(); });
  add.commands = {"level-zero run", "level-zero list", "level-zero clean"};
  add("path.level-zero", "DIR", "", "where pages are",
      [](To to, Given given) { to.monitor.collector_options["path.level-zero"] = {given.file()}; });
}

}  // namespace igpu::exporter
