// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <vector>

#include "igpu/monitor.h"
#include "igpu/page.h"

namespace igpu {

// Adds all GPU metrics to a prometheus-cpp exposer:
//
//   prometheus::Exposer exposer("127.0.0.1:8080");
//   igpu::Monitor monitor(options, log);
//   auto gpus = igpu::collectable(monitor);
//   exposer.RegisterCollectable(gpus);
//
// An exposer keeps only weak references: hold the returned pointer. monitor must outlive it. Collect() never throws.
std::shared_ptr<prometheus::Collectable> collectable(Monitor& monitor);

// Converts a page to prometheus-cpp's data model, for programs that serve their own metrics with it. An info metric
// becomes a gauge (the model has no info type); names keep their suffixes; labels without a value are omitted.
std::vector<prometheus::MetricFamily> to_prometheus_families(const PageView& page);

}  // namespace igpu
