// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "igpu/feature.h"

// Missing features, grouped by what fixes them: one missing permission often disables ten features on each of three
// GPUs.
namespace igpu::exporter {

struct Fix {
  std::string hint;                      // the command or setting; "" if nothing can be done
  std::vector<std::string> causes;       // without duplicates
  std::vector<const Finding*> findings;  // the features it enables
};

// Whether a feature is absent for a reason that can be fixed: a permission, or a kernel or module that provides it. Not
// missing: what the hardware or every version of the driver lacks, what sleeps, what a flag disables and what is
// optional.
bool is_missing(const Finding& finding);

// The findings that are missing, grouped by hint, in order of appearance. They point into findings.
std::vector<Fix> fixes_for(std::span<const Finding> findings);

}  // namespace igpu::exporter
