// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>

#include <memory>

#include "igpu/monitor.h"

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

}  // namespace igpu
