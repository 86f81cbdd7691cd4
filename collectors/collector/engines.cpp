// SPDX-License-Identifier: Apache-2.0
#include "collector/engines.h"

#include "collector/engines_i915.h"
#include "collector/engines_wddm.h"
#include "collector/engines_xe.h"

namespace igpu {

std::unique_ptr<Collector> EnginesCollector::create(const CollectorContext& context) {
  std::unique_ptr<EngineMeter> meter;
  if (context.gpu.driver == Driver::i915) {
    meter = std::make_unique<I915EngineMeter>(context);
  } else if (context.gpu.driver == Driver::wddm) {
    meter = std::make_unique<WddmEngineMeter>(context);
  } else {
    meter = std::make_unique<XeEngineMeter>(context);
  }
  return std::make_unique<EnginesCollector>(std::move(meter));
}

}  // namespace igpu
