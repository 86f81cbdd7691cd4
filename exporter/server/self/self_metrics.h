// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "igpu/page.h"

namespace igpu::exporter {

// A part of the program that adds its own metrics to the page.
class SelfMetrics {
 public:
  virtual ~SelfMetrics() = default;
  virtual void add_to(SampleList& out) const = 0;  // any thread
};

}  // namespace igpu::exporter
