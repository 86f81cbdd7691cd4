// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/counter_window.h"
#include "igpu/monitor.h"
#include "igpu/snapshot.h"

namespace igpu {

// Turns the samples of a scrape into a Snapshot of one GPU. Each metric has one field or is listed as one that has
// none, so a snapshot states what /metrics states.
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(Nanoseconds min_window);
  ~SnapshotBuilder();
  SnapshotBuilder(const SnapshotBuilder&) = delete;
  SnapshotBuilder& operator=(const SnapshotBuilder&) = delete;

  // Whether a metric has a field, is left out on purpose, or was forgotten.
  enum class Use { field, left_out, unknown };
  static Use use_of(std::string_view metric);

  // gpu, time and monotonic of the snapshot are the caller's to fill.
  Snapshot build(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu, Nanoseconds now);

 private:
  struct Pass;
  struct Binding;
  const Binding& bind(const MetricDescriptor& metric);
  void sort_samples(const ScrapeResult& scrape, const Gpu& gpu, Pass& pass);
  void keep_features(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu);
  void add_bandwidth_rates(std::vector<snapshot::Bandwidth>& rows, Nanoseconds now);

  Nanoseconds min_window_;
  std::unordered_map<const MetricDescriptor*, Binding> bindings_;
  std::unordered_map<std::string, CounterWindow<1>> bandwidth_;  // by direction
  std::shared_ptr<const ScrapeResult> features_of_;              // keeps the list alive whose address is compared
  const Finding* findings_ = nullptr;
  std::shared_ptr<const std::vector<FeatureState>> features_;
};

}  // namespace igpu
