// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "platform/sandbox_layers.h"

namespace igpu::exporter {

// The outcome of one layer. A layer that is not available never prevents the start.
struct LayerOutcome {
  bool on = false;
  std::string detail;  // on: "" or a note ("keeps CAP_PERFMON"); off: why
  std::string hint;    // how to fix or improve it; "" if nothing is wrong ("turned off by --no-sandbox")

  static LayerOutcome holds(std::string what = {}) { return {true, std::move(what), {}}; }
  static LayerOutcome missing(std::string why, std::string hint) { return {false, std::move(why), std::move(hint)}; }
};

}  // namespace igpu::exporter
