// SPDX-License-Identifier: Apache-2.0
#include "collector/engines.h"

#include "collector/engines_i915.h"
#include "collector/engines_wddm.h"
#include "collector/engines_xe.h"

namespace igpu {

std::unique_ptr<Collector> EnginesCollector::create(const CollectorContext& context) {
  switch (context.gpu.driver) {
    case Driver::i915:
      return std::make_unique<I915EnginesCollector>(context);
    case Driver::wddm:
      return std::make_unique<WddmEnginesCollector>(context);
    case Driver::xe:
      break;
  }
  return std::make_unique<XeEnginesCollector>(context);
}

}  // namespace igpu
