// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "igpu/page.h"

namespace igpu {

// Converts a page to prometheus-cpp's data model, for programs that serve their own metrics with it. An info metric
// becomes a gauge (the model has no info type); names keep their suffixes; labels without a value are omitted.
std::vector<prometheus::MetricFamily> to_prometheus_families(const PageView& page);

}  // namespace igpu
