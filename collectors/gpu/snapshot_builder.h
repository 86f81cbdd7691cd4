// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/counter_window.h"
#include "igpu/monitor.h"
#include "igpu/snapshot.h"
#include "model/fill.h"
#include "model/rules.h"

namespace igpu {

// Turns the samples of a scrape into a Snapshot of one GPU; model/fields.cpp says which metric is which field.
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(Nanoseconds min_window) : min_window_(min_window) {}

  // gpu, time and monotonic of the snapshot are the caller's to fill.
  Snapshot build(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu, Nanoseconds now);

 private:
  const model::Binding& bind(const MetricDescriptor& metric);
  void sort_samples(const ScrapeResult& scrape, const Gpu& gpu, const model::Target& to);
  void keep_features(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu);
  void add_bandwidth_rates(std::vector<snapshot::Bandwidth>& rows, Nanoseconds now);

  Nanoseconds min_window_;
  // Of every metric so far, in order of first appearance.
  std::vector<model::Binding> bindings_;
  std::vector<std::size_t> following_;  // by binding: which one was wanted after it the last time
  std::size_t last_binding_ = 0;
  std::array<std::size_t, std::tuple_size_v<decltype(model::GpuRows().lists())>> rows_{};  // of the last snapshot
  std::unordered_map<std::string, CounterWindow<1>> bandwidth_;                            // by direction
  std::shared_ptr<const ScrapeResult> features_of_;  // keeps the list alive whose address is compared
  const Finding* findings_ = nullptr;
  std::shared_ptr<const std::vector<FeatureState>> features_;
  std::vector<model::Found> found_;  // of the same findings; short, as every snapshot searches it
};

}  // namespace igpu
