// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "igpu/feature.h"

// What an operator can act on, sorted by what there is to do rather than by what is missing: one missing right often
// takes away ten features on each of three GPUs.
namespace igpu::exporter {

struct Fix {
  std::string hint;                      // the command or setting; "" where nothing can be done
  std::vector<std::string> causes;       // each once
  std::vector<const Finding*> findings;  // what it brings
};

// Whether the machine lacks something that it could have: permission, or a kernel or module that brings it. What the
// hardware does not have, what the driver has in no version, what sleeps and what a flag turned off is how it should
// be.
bool is_missing(const Finding& finding);

// The findings that is_missing(), grouped by hint, in order of appearance. They point into findings.
std::vector<Fix> fixes_for(std::span<const Finding> findings);

}  // namespace igpu::exporter
