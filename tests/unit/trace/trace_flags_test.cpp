// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "trace/trace_file.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

CommandLine parse(std::vector<std::string> words) {
  words.insert(words.begin(), "trace");
  return parse_command_line(words);
}

TraceArguments trace_arguments(const std::vector<std::string>& words) {
  CommandLine line = parse(words);
  return options_from(line).trace;
}

std::string refused(const std::vector<std::string>& words) {
  try {
    (void)trace_arguments(words);
  } catch (const UsageError& error) {
    CHECK(error.status() == 2);
    return error.what();
  }
  return "accepted";
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("trace flags");

TEST_CASE("flags of record") {
  const TraceArguments arguments =
      trace_arguments({"record", "-o",         "x",          "--class",    "video,render", "--pid=4,5", "--sample",
                       "1/8",    "--max-rate", "100",        "--max-size", "1G",           "--buffer",  "64K",
                       "--cpu",  "--events",   "i915,waits", "--",         "ffmpeg",       "-i"});
  CHECK(arguments.output == "x");
  CHECK(arguments.recorder.classes == std::vector<JobClass>{JobClass::video, JobClass::render});
  CHECK(arguments.recorder.pids == std::vector<std::uint32_t>{4, 5});
  CHECK(arguments.recorder.sample == 8);
  CHECK(arguments.recorder.max_rate == 100);
  CHECK(arguments.max_size == std::uint64_t{1} << 30);
  CHECK(arguments.recorder.ring_bytes == 65536);
  CHECK(arguments.recorder.cpu);
  CHECK(arguments.recorder.waits);
  CHECK(arguments.command == std::vector<std::string>{"ffmpeg", "-i"});
  CHECK_FALSE(trace_arguments({"record", "--events", "i915"}).recorder.waits);
}

TEST_CASE("flags of report, timeline and export") {
  CHECK(trace_arguments({"report", "f", "--top", "5"}).top == 5);
  CHECK(trace_arguments({"report", "--histogram", "run", "f"}).histogram == TraceArguments::Histogram::run);
  CHECK(trace_arguments({"timeline", "f", "--from", "10ms"}).from_seconds == 0.01);
  CHECK(trace_arguments({"export", "f"}).file == "f");
  CHECK(parse({}).action == nullptr);
  CHECK(parse({"record", "--help"}).help);
}

TEST_CASE("invalid arguments are refused with what is allowed") {
  CHECK(mentions(refused({"record", "--class", "media"}), "none of render, copy, video, video_enhance, compute"));
  CHECK(mentions(refused({"record", "--sample", "0"}), "1/N"));
  CHECK(mentions(refused({"record", "--sample", "1/0"}), "not a number from 1"));
  CHECK(mentions(refused({"record", "--events", "drm"}), "none of drm_sched, drm_sched_old"));
  CHECK(mentions(refused({"record", "--duration", "10"}), "not a duration"));
  CHECK(mentions(refused({"record", "--max-size", "1K"}), "is not a size from 65536 bytes"));
  CHECK(mentions(refused({"record", "--buffer", "2048G"}), "is not a size"));
  CHECK(mentions(refused({"record", "--duration", "1s", "--", "x"}), "not both"));
  CHECK(mentions(refused({"record", "x"}), "after --"));
  CHECK(mentions(refused({"record", "--"}), "no command"));
  CHECK(mentions(refused({"report"}), "which file"));
  CHECK(mentions(refused({"report", "a", "b"}), "unexpected argument b"));
  CHECK(mentions(refused({"report", "a", "--cpu"}), "--cpu is a flag of trace record"));
  CHECK(mentions(refused({"report", "a", "--by", "colour"}), "engine, context, process"));
  CHECK(mentions(refused({"record", "--cpu=2"}), "neither true nor false"));
  CHECK(mentions(refused({"timeline", "a", "--from", "2s", "--to", "1s"}), "before"));
  CHECK(mentions(refused({"reprot"}), "did you mean report?"));
  CHECK(mentions(refused({"record", "--bogus"}), "unknown flag --bogus"));
  CHECK(mentions(refused({"record", "-o"}), "a value is missing"));
}

TEST_CASE("a recorder that does not open says what is missing") {
  const auto text = [](JobRecorderError::Kind kind) { return explained(JobRecorderError{kind, 13, "call"}, {}); };
  CHECK(mentions(text(JobRecorderError::Kind::no_events), "no driver here reports jobs"));
  CHECK(mentions(text(JobRecorderError::Kind::no_events), "/sys/kernel/tracing"));
  CHECK(mentions(text(JobRecorderError::Kind::tracefs_denied), "CAP_DAC_READ_SEARCH"));
  CHECK(mentions(text(JobRecorderError::Kind::perf_denied), "perf_event_open was refused"));
  CHECK(mentions(text(JobRecorderError::Kind::failed), "call: Permission denied"));
}
