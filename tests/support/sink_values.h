// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "metric/sample_sink.h"

namespace igpu::test {

// The value of the one sample with these labels. Labels that are not named may have any value; several samples or none:
// nullopt.
inline std::optional<double> value_in(const SampleSink& sink, std::string_view metric,
                                      std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  std::optional<double> found;
  for (const auto& sample : sink.samples().samples()) {
    if (sample.metric->name != metric) continue;
    const bool same = std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
      for (std::size_t i = 0; i < sample.metric->label_count; ++i)
        if (sample.metric->label_names[i] == label.first) return sink.samples().label_value(sample, i) == label.second;
      return false;
    });
    if (!same) continue;
    if (found) return std::nullopt;
    found = sample.value;
  }
  return found;
}

}  // namespace igpu::test
