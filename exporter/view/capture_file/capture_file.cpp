// SPDX-License-Identifier: Apache-2.0
#include "view/capture_file/capture_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/output.h"
#include "platform/own_process.h"
#include "platform/regular_file.h"
#include "text/text.h"
#include "view/chosen_gpus.h"
#include "view/report/fixes.h"
#include "view/report/gpu_summary.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

std::string about() {
  std::string text = "exporter " + std::string(build_info().version) + " " + std::string(build_info().revision) + '\n';
  const std::string system = system_release();
  return system.empty() ? text : text + system + '\n';
}

void add_paragraph(std::string& out, const std::string& text, std::size_t indent = 2) {
  out.append(indent, ' ');
  append_wrapped(out, clean_text(text), indent);
  out += '\n';
}

// What this user has no permission to read or this kernel does not offer, with the hints of doctor.
std::string unreadable(const CaptureOutcome& outcome) {
  std::string text;
  for (const Fix& fix : fixes_for(outcome.last->findings())) {
    std::string line = names_of(fix);
    if (!fix.hint.empty()) line += ": " + fix.hint;
    add_paragraph(text, line);
  }
  return text;
}

std::string page_report(const CaptureOutcome& outcome) {
  if (outcome.differences.empty())
    return "Served again, it gives the same page: " + std::to_string(outcome.samples) + " samples.";
  std::string text = "Served again, its page differs from this machine's in";
  for (const std::string& metric : outcome.differences)
    text += (metric == outcome.differences.front() ? " " : ", ") + metric;
  return text + ". Please say so when you send it.";
}

}  // namespace

std::shared_ptr<const CaptureFiles> load_capture(const std::string& path) {
  return with_path(path, [&] {
    auto files = std::make_shared<const CaptureFiles>(files_of(read_regular_file(path, kMostBytes)));
    check_capture(*files);
    return files;
  });
}

void check_destination(const std::string& path) {
  with_path(path, [&] { check_new_file(path); });
}

void save_capture(const std::string& path, const CaptureFiles& files) {
  with_path(path, [&] { NewFile(path, 0600).finish(bytes_of(files), NewFile::Existing::stays); });
}

void check_capture_destination(const std::string& command, const std::string& path) {
  if (path != "-") return check_destination(path);
  if (::isatty(STDOUT_FILENO) == 1)
    throw UsageError(command + " -: standard output is a terminal; send it to a file: " + command + " - >FILE" +
                     std::string(kCaptureSuffix));
}

int write_capture(const Options& options, const std::string& path, bool kernel_bug, const CaptureFiles& added) {
  const bool to_output = path == "-";
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  CaptureRequest request;
  request.about = about();
  request.kernel_bug = kernel_bug;
  CaptureOutcome outcome = take_capture(options.monitor, request, log);
  outcome.files.insert(added.begin(), added.end());
  std::string missing = unreadable(outcome);
  if (!missing.empty()) missing = "Not readable here, and so not in it:\n" + missing;
  outcome.files["left-out"] += missing;
  if (!to_output) save_capture(path, outcome.files);
  if (to_output && print(bytes_of(outcome.files)) != EXIT_SUCCESS) return EXIT_FAILURE;

  std::string out = (to_output ? "standard output" : clean_text(path)) + ": " + std::to_string(outcome.gpus.size()) +
                    (outcome.gpus.size() == 1 ? " GPU, " : " GPUs, ") + std::to_string(request.passes) + " passes, " +
                    std::to_string(outcome.files.size()) + " files.\n";
  if (outcome.gpus.empty() && model_of(PageView(outcome.last->lists())).npus.empty())
    add_paragraph(out, std::string(kNoGpu) + " here: see doctor.");
  for (const std::string& line : outcome.left_out) add_paragraph(out, line);
  add_paragraph(out, page_report(outcome));
  if (!missing.empty()) out += '\n' + missing;
  out += "\nRead it before you send it: " + how_to_read(to_output ? "FILE" : path);
  if (!to_output) return print(out);
  std::fputs(out.c_str(), stderr);
  return EXIT_SUCCESS;
}

int capture(const Options& options) {
  const std::string& path = options.operands.front();
  check_capture_destination("capture", path);
  require_chosen_gpus(options);
  return write_capture(options, path, false, {});
}

}  // namespace igpu::exporter
