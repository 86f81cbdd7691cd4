// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "igpu/capture.h"
#include "monitor/machine_parts.h"

namespace igpu {

// The machine that a capture describes. Throws CaptureError.
std::shared_ptr<MachineParts> capture_parts(const CaptureFiles& files);

// Like take_capture(), for any machine. wait: called between two passes, to let time pass.
CaptureOutcome capture_of(std::shared_ptr<MachineParts> machine, const MonitorOptions& options,
                          const CaptureRequest& request, const std::function<void()>& wait, Log& log);

}  // namespace igpu
