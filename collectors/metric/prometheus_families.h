// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "igpu/page.h"

namespace igpu {

// The page in prometheus-cpp's data model, for programs that serve their own metrics with it. An info metric is a
// gauge there (the model has no info); names keep their suffixes; a label without a value is left out.
std::vector<prometheus::MetricFamily> to_prometheus_families(const PageView& page);

}  // namespace igpu
