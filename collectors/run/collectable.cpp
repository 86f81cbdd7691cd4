// SPDX-License-Identifier: Apache-2.0
#include "igpu/collectable.h"

#include "metric/prometheus_families.h"

namespace igpu {
namespace {

class MonitorCollectable final : public prometheus::Collectable {
 public:
  explicit MonitorCollectable(Monitor& monitor) : monitor_(monitor) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    // The stock exposer lets an exception end the process.
    try {
      const auto scrape = monitor_.scrape({});
      if (!scrape) return {};
      return to_prometheus_families(PageView(scrape->lists()));
    } catch (const std::exception&) {
      return {};
    }
  }

 private:
  Monitor& monitor_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> collectable(Monitor& monitor) {
  return std::make_shared<MonitorCollectable>(monitor);
}

}  // namespace igpu
