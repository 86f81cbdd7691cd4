// SPDX-License-Identifier: Apache-2.0
#include "igpu/collectable.h"

#include <cmath>

namespace igpu {
namespace {

prometheus::MetricType type_of(Kind kind) {
  if (kind == Kind::counter) return prometheus::MetricType::Counter;
  return kind == Kind::histogram ? prometheus::MetricType::Histogram : prometheus::MetricType::Gauge;
}

prometheus::ClientMetric::Histogram to_histogram(const PageView::Entry& entry) {
  const std::span<const double> bounds = entry.sample->metric->bounds;
  prometheus::ClientMetric::Histogram result;
  for (const std::uint64_t count : entry.list->bucket_counts(*entry.sample)) {
    const std::size_t bucket = result.bucket.size();
    result.sample_count += count;
    result.bucket.push_back({result.sample_count, bucket < bounds.size() ? bounds[bucket] : HUGE_VAL});
  }
  result.sample_sum = entry.sample->value;
  return result;
}

prometheus::ClientMetric to_client_metric(const MetricDescriptor& metric, const PageView::Entry& entry) {
  prometheus::ClientMetric result;
  result.label.reserve(metric.label_count);
  for (std::size_t i = 0; i < metric.label_count; ++i) {
    const std::string_view value = entry.list->label_value(*entry.sample, i);
    if (!value.empty()) result.label.push_back({std::string(metric.label_names[i]), std::string(value)});
  }
  if (metric.kind == Kind::counter) {
    result.counter.value = entry.sample->value;
  } else if (metric.kind == Kind::histogram) {
    result.histogram = to_histogram(entry);
  } else {
    result.gauge.value = entry.sample->value;
  }
  return result;
}

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

std::vector<prometheus::MetricFamily> to_prometheus_families(const PageView& page) {
  std::vector<prometheus::MetricFamily> result;
  result.reserve(page.families().size());
  for (const PageView::Family& family : page.families()) {
    const MetricDescriptor& metric = *family.metric;
    prometheus::MetricFamily& out = result.emplace_back();
    out.name = metric.name;
    out.help = metric.help;
    out.type = type_of(metric.kind);
    out.metric.reserve(family.entries.size());
    for (const PageView::Entry& entry : family.entries) out.metric.push_back(to_client_metric(metric, entry));
  }
  return result;
}

std::shared_ptr<prometheus::Collectable> collectable(Monitor& monitor) {
  return std::make_shared<MonitorCollectable>(monitor);
}

}  // namespace igpu
