// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/log.h"
#include "igpu/monitor.h"
#include "igpu/options.h"
#include "igpu/units.h"

// What the collectors read on one machine, as files that another machine serves again: each pass of the collectors with
// every answer that they got, errors included. Names of users, processes, containers and units are masked, the same
// name always in the same way; what belongs to processes that do not use a GPU is left out.
namespace igpu {

// By path: "1/sys/class/drm/card0/gt_act_freq_mhz" is the content of that file in the first pass.
using CaptureFiles = std::map<std::string, std::string, std::less<>>;

// The files are not a capture, or are one in a format that this version does not support. what() is one line.
class CaptureError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Relative, in its shortest form, and without control characters and backslashes.
bool is_plain_path(std::string_view path);

struct CaptureRequest {
  std::size_t passes = 3;                           // at least 2
  Nanoseconds interval = std::chrono::seconds(1);   // between the starts of two passes
  std::size_t most_bytes = std::size_t{192} << 20;  // of all files
  std::string about;                                // lines of "name value" for the file `capture`
  // Also what the maintainers of i915 and xe ask for, below bug/, which nothing reads when the capture is served again:
  // kernel log, error state or core dump, firmware, parameters, PCI devices.
  bool kernel_bug = false;
};

struct CaptureOutcome {
  CaptureFiles files;
  std::vector<std::string> left_out;  // what was left out or masked; lines
  // Metrics that differ when the files are replayed, apart from names; empty if none does.
  std::vector<std::string> differences;
  std::size_t samples = 0;  // of the last pass
  std::shared_ptr<const ScrapeResult> last;
  std::vector<Gpu> gpus;
};

// Runs the collectors that are enabled by default, unless options turn them off. Takes passes times interval. Throws
// OptionError, and CaptureError when the capture would be larger than most_bytes.
CaptureOutcome take_capture(const MonitorOptions& options, const CaptureRequest& request, Log& log);

// Throws CaptureError unless --simulate can serve these files.
void check_capture(const CaptureFiles& files);

}  // namespace igpu
