// SPDX-License-Identifier: Apache-2.0
#include "format/class_busy.h"

namespace igpu::exporter {

std::map<std::string_view, double> class_busy(const DeviceSeries& series) {
  struct Sum {
    double ratio = 0;
    int count = 0;
    bool of_engines = false;
  };
  std::map<std::string_view, Sum> sums;
  series.each("intel_gpu_engine_busy_ratio", [&](const Series& one) {
    Sum& sum = sums[one.label("class")];
    const bool of_engine = one.label("source") != "fdinfo";
    if (sum.of_engines && !of_engine) return;
    if (of_engine && !sum.of_engines) sum = {};  // both during a change: the engines' own is more exact
    sum.of_engines = of_engine;
    sum.ratio += one.value();
    ++sum.count;
  });
  std::map<std::string_view, double> busy;
  for (const auto& [name, sum] : sums) busy[name] = sum.ratio / sum.count;
  return busy;
}

}  // namespace igpu::exporter
