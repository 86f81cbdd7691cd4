// SPDX-License-Identifier: Apache-2.0
#include "monitor/capture_parts.h"

#include "capture/replay.h"

namespace igpu {
namespace {

class CaptureParts final : public MachineParts {
 public:
  explicit CaptureParts(const CaptureFiles& files) : replay_(capture::passes_of(files)) {}
  Machine& machine() override { return replay_.machine(); }
  void scrape_begins() override { replay_.begin_pass(); }

 private:
  capture::Replay replay_;
};

}  // namespace

std::shared_ptr<MachineParts> capture_parts(const CaptureFiles& files) { return std::make_shared<CaptureParts>(files); }

}  // namespace igpu
