// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "igpu/feature.h"

namespace igpu {

// Whether a feature is absent for a reason that can be fixed: a permission, or a kernel or module that provides it. Not
// missing: what the hardware or every version of the driver lacks, what sleeps, what a flag disables and what is
// optional. `doctor`, the page at `/`, the log and intel_gpu_exporter_feature_missing, which the dashboards query, list
// exactly these.
inline bool is_missing(const Finding& finding) {
  if (finding.available || finding.feature == nullptr || finding.feature->optional) return false;
  return finding.absent.reason == Reason::permission ||
         (finding.absent.reason == Reason::kernel && !finding.hint.empty());
}

// In words, what permission a feature needs: "CAP_PERFMON". "": everybody may read it.
std::string right_for(const FeatureDescriptor& feature);

}  // namespace igpu
