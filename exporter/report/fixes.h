// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "igpu/missing.h"

// Missing features, grouped by what fixes them: one missing permission often disables ten features on each of three
// GPUs.
namespace igpu::exporter {

struct Fix {
  std::string hint;                      // the command or setting; "" if nothing can be done
  std::vector<std::string> causes;       // without duplicates
  std::vector<const Finding*> findings;  // the features it enables
};

// The findings that are missing, grouped by hint, in order of appearance. They point into findings.
std::vector<Fix> fixes_for(std::span<const Finding> findings);

// Hangs are what the fewest look for, but identity, which reports them, is the first collector.
std::vector<Finding> most_useful_first(std::span<const Finding> findings);

}  // namespace igpu::exporter
