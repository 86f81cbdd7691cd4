// SPDX-License-Identifier: Apache-2.0
#include "trace/arguments.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>

#include "cli/usage_error.h"
#include "igpu/duration.h"
#include "text/nearest.h"

namespace igpu::exporter {
namespace {

const std::vector<std::string> kActions = {"record", "report", "timeline", "export"};
const std::vector<std::string> kClasses = {"render", "copy", "video", "video_enhance", "compute", "other"};

[[noreturn]] void refuse(const std::string& text) {
  throw UsageError("trace: " + text + " (see trace --help)", kUsageStatus);
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::uint64_t whole_number(const std::string& flag, const std::string& text, std::uint64_t lowest,
                           std::uint64_t highest) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < lowest || number > highest)
    refuse(flag + ": \"" + text + "\" is not a number from " + std::to_string(lowest) + " to " +
           std::to_string(highest));
  return number;
}

// "256M", "1G", "4096"
std::uint64_t size(const std::string& flag, std::string text, std::uint64_t lowest) {
  std::uint64_t unit = 1;
  if (text.ends_with("iB")) text.resize(text.size() - 2);
  if (!text.empty()) {
    const std::size_t shift = std::string_view("KMG").find(text.back());
    if (shift != std::string_view::npos) {
      unit = std::uint64_t{1} << (10 * (shift + 1));
      text.pop_back();
    }
  }
  return unit * whole_number(flag, text, (lowest + unit - 1) / unit, (std::uint64_t{1} << 40) / unit);
}

std::int64_t nanoseconds(const std::string& flag, std::string text) {
  const bool negative = text.starts_with('-');
  if (negative) text.erase(0, 1);
  const auto duration = parse_duration(text);
  if (!duration) refuse(flag + ": \"" + text + "\" is not a duration such as 500ms, 10s or 2m");
  return (negative ? -1 : 1) * static_cast<std::int64_t>(duration->count());
}

JobClass job_class(const std::string& text) {
  const auto found = std::find(kClasses.begin(), kClasses.end(), text);
  if (found == kClasses.end()) refuse("--class: \"" + text + "\" is none of " + listed(kClasses));
  return static_cast<JobClass>(found - kClasses.begin());
}

std::string one_of(const std::string& flag, const std::string& text, const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
    refuse(flag + ": \"" + text + "\" is none of " + listed(allowed));
  return text;
}

std::uint64_t sample(const std::string& text) {
  // One job in N: "1/8".
  constexpr std::string_view kForm = "1/";
  if (!text.starts_with(kForm)) refuse("--sample: \"" + text + "\" is not of the form 1/N, such as 1/8");
  return whole_number("--sample 1/N", text.substr(kForm.size()), 1, 1'000'000);
}

struct Flag {
  std::string_view name;
  std::string_view actions;
  bool has_value;
  std::function<void(TraceArguments&, const std::string& value)> take;
};

const std::vector<Flag>& flags() {
  static const std::vector<Flag> all = {
      {"-o", "record", true, [](TraceArguments& out, const std::string& value) { out.output = value; }},
      {"--duration", "record", true,
       [](TraceArguments& out, const std::string& value) {
         out.duration = std::chrono::milliseconds(nanoseconds("--duration", value) / 1'000'000);
         if (out.duration.count() <= 0) refuse("--duration: \"" + value + "\" is too short");
       }},
      {"--device", "record", true,
       [](TraceArguments& out, const std::string& value) { out.recorder.devices = split(value); }},
      {"--engine", "record", true,
       [](TraceArguments& out, const std::string& value) { out.recorder.rings = split(value); }},
      {"--class", "record", true,
       [](TraceArguments& out, const std::string& value) {
         for (const std::string& word : split(value)) out.recorder.classes.push_back(job_class(word));
       }},
      {"--pid", "record", true,
       [](TraceArguments& out, const std::string& value) {
         for (const std::string& word : split(value))
           out.recorder.pids.push_back(static_cast<std::uint32_t>(whole_number("--pid", word, 1, 0xffffffff)));
       }},
      {"--context", "record", true,
       [](TraceArguments& out, const std::string& value) {
         for (const std::string& word : split(value))
           out.recorder.contexts.push_back(whole_number("--context", word, 0, ~std::uint64_t{0}));
       }},
      {"--events", "record", true,
       [](TraceArguments& out, const std::string& value) {
         std::vector<std::string> names;
         for (const std::string_view name : job_event_names()) names.emplace_back(name);
         for (const std::string& word : split(value)) out.recorder.events.push_back(one_of("--events", word, names));
         out.recorder.waits =
             std::find(out.recorder.events.begin(), out.recorder.events.end(), "waits") != out.recorder.events.end();
       }},
      {"--sample", "record", true,
       [](TraceArguments& out, const std::string& value) { out.recorder.sample = sample(value); }},
      {"--max-rate", "record", true,
       [](TraceArguments& out, const std::string& value) {
         out.recorder.max_rate = whole_number("--max-rate", value, 1, 100'000'000);
       }},
      {"--max-size", "record", true,
       [](TraceArguments& out, const std::string& value) { out.max_size = size("--max-size", value, 1 << 16); }},
      {"--buffer", "record", true,
       [](TraceArguments& out, const std::string& value) {
         out.recorder.ring_bytes = static_cast<std::size_t>(size("--buffer", value, 4096));
       }},
      {"--cpu", "record", false, [](TraceArguments& out, const std::string&) { out.recorder.cpu = true; }},
      {"--path.tracefs", "record", true,
       [](TraceArguments& out, const std::string& value) { out.recorder.tracefs = value; }},
      {"--jobs-csv", "report", false, [](TraceArguments& out, const std::string&) { out.jobs_csv = true; }},
      {"--top", "report", true,
       [](TraceArguments& out, const std::string& value) {
         out.top = static_cast<std::size_t>(whole_number("--top", value, 1, 1'000'000));
       }},
      {"--histogram", "report", true,
       [](TraceArguments& out, const std::string& value) {
         one_of("--histogram", value, {"queue", "run", "total"});
         using enum TraceArguments::Histogram;
         out.histogram = value == "queue" ? queue : value == "run" ? run : total;
       }},
      {"--by", "report", true,
       [](TraceArguments& out, const std::string& value) {
         out.by = one_of("--by", value, {"engine", "context", "process", "workload"});
       }},
      {"--width", "timeline", true,
       [](TraceArguments& out, const std::string& value) {
         out.width = static_cast<std::size_t>(whole_number("--width", value, 20, 1000));
       }},
      {"--from", "timeline", true,
       [](TraceArguments& out, const std::string& value) {
         out.from_seconds = static_cast<double>(nanoseconds("--from", value)) / 1e9;
       }},
      {"--to", "timeline", true,
       [](TraceArguments& out, const std::string& value) {
         out.to_seconds = static_cast<double>(nanoseconds("--to", value)) / 1e9;
       }},
      {"--format", "export", true,
       [](TraceArguments& out, const std::string& value) {
         out.format = one_of("--format", value, {"perfetto", "chrome", "csv"});
       }},
      {"--clock-offset", "export", true,
       [](TraceArguments& out, const std::string& value) {
         out.clock_offset_ns = nanoseconds("--clock-offset", value);
       }},
  };
  return all;
}

void check(const TraceArguments& arguments) {
  if (arguments.action != "record" && arguments.file.empty())
    refuse(arguments.action + ": which file of trace record?");
  if (arguments.action == "record" && arguments.duration.count() > 0 && !arguments.command.empty())
    refuse("record: --duration or a command, not both");
  if (arguments.action == "export" && arguments.format.empty())
    refuse("export: --format perfetto, chrome or csv is missing");
  if (arguments.from_seconds && arguments.to_seconds && *arguments.from_seconds >= *arguments.to_seconds)
    refuse("timeline: --from must be before --to");
}

}  // namespace

TraceArguments parse_trace_arguments(const std::vector<std::string>& arguments) {
  TraceArguments out;
  if (arguments.empty()) return out;
  out.action = arguments.front();
  if (out.action == "--help" || out.action == "-h" || out.action == "help") return {};
  if (std::find(kActions.begin(), kActions.end(), out.action) == kActions.end()) {
    const std::string meant = nearest(out.action, kActions);
    refuse("unknown action " + out.action + (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    if (word == "--" && out.action == "record") {
      out.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at) + 1, arguments.end());
      if (out.command.empty()) refuse("record: no command after --");
      break;
    }
    if (word == "--help" || word == "-h") return {};
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string name = word.substr(0, equals);
    const auto flag = std::find_if(flags().begin(), flags().end(), [&](const Flag& f) { return f.name == name; });
    if (flag == flags().end()) {
      if (word.size() > 1 && word.front() == '-') refuse("unknown flag " + word);
      if (out.action == "record") refuse("record: unexpected argument " + word + "; a command stands after --");
      if (!out.file.empty()) refuse("unexpected argument " + word);
      out.file = word;
      continue;
    }
    if (flag->actions != out.action) refuse(name + " is a flag of trace " + std::string(flag->actions));
    std::string value;
    if (equals != std::string::npos) {
      if (!flag->has_value) refuse(name + " takes no value");
      value = word.substr(equals + 1);
    } else if (flag->has_value) {
      if (at + 1 >= arguments.size()) refuse(name + ": a value is missing");
      value = arguments[++at];
    }
    if (flag->has_value && value.empty()) refuse(name + ": a value is missing");
    flag->take(out, value);
  }
  check(out);
  return out;
}

std::string_view trace_actions() {
  return "Actions:\n"
         "  record [FLAGS] [-- COMMAND]  record jobs until ^C or until the command ends\n"
         "    -o FILE             the trace (default: gpu.pftrace), for ui.perfetto.dev\n"
         "    --duration TIME     such as 10s or 2m\n"
         "    --device LIST       only these devices: PCI addresses, card0 (i915)\n"
         "    --engine LIST       only these rings: rcs0, vcs1 (i915), gfx_0.0.0\n"
         "    --class LIST        only these classes: render, copy, video,\n"
         "                        video_enhance, compute, other\n"
         "    --pid LIST          only jobs that these processes submitted\n"
         "    --context LIST      only these contexts, as report --jobs-csv numbers them\n"
         "    --events LIST       only these events: drm_sched, drm_sched_old, xe,\n"
         "                        i915, i915_low_level, amdgpu, virtio_gpu, waits\n"
         "    --sample 1/N        one job in N\n"
         "    --max-rate N        at most N jobs per second\n"
         "    --max-size SIZE     end when the file is this large (default: 256M)\n"
         "    --buffer SIZE       ring of each CPU (default: 4M)\n"
         "    --cpu               also context switches, and ioctls of submitting threads\n"
         "    --path.tracefs DIR  where tracefs is mounted\n"
         "  report FILE           losses, times and outcomes; or\n"
         "    --jobs-csv          every job\n"
         "    --top N             the N jobs that took longest, and why\n"
         "    --histogram WHICH   queue, run or total\n"
         "    --by WHAT           engine, context, process or workload\n"
         "  timeline FILE         lanes of text: what ran, what waited\n"
         "    --width N           columns (default: 100)\n"
         "    --from TIME, --to TIME  since the first event\n"
         "  export FILE --format perfetto|chrome|csv\n"
         "    --clock-offset TIME  add this to every time\n";
}

std::string trace_help() { return "Usage: intel-gpu-exporter trace ACTION\n\n" + std::string(trace_actions()); }

}  // namespace igpu::exporter
