// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "igpu/capture.h"
#include "monitor/machine_parts.h"

namespace igpu {

// The machine of a capture. Throws CaptureError.
std::shared_ptr<MachineParts> capture_parts(const CaptureFiles& files);

// take_capture() of any machine. wait: lets its time pass between two passes.
CaptureOutcome capture_of(std::shared_ptr<MachineParts> machine, const MonitorOptions& options,
                          const CaptureRequest& request, const std::function<void()>& wait, Log& log);

}  // namespace igpu
