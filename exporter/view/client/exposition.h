// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "igpu/model.h"

// Samples of a page in Prometheus text or OpenMetrics, which may come from any program.
namespace igpu::exporter {

// Valid only during the call of the handler.
struct TextSample {
  std::string_view metric;
  std::span<const LabelPair> labels;
  double value = 0;

  std::string_view label(std::string_view name) const {  // "": absent
    for (const LabelPair& pair : labels) {
      if (pair.name == name) return pair.value;
    }
    return {};
  }
};

using SampleHandler = std::function<void(const TextSample&)>;

struct ParsedExposition {
  std::size_t samples = 0;
  std::size_t malformed_lines = 0;  // skipped
};

inline constexpr std::size_t kMaxParsedLabels = 32;

// Passes each sample to `use`, in the page's order. Lines that are neither samples nor comments are skipped and
// counted. Label values may contain anything, also control characters and invalid UTF-8. A value may be NaN or
// infinite.
ParsedExposition parse_exposition(std::string_view text, const SampleHandler& use);

}  // namespace igpu::exporter
