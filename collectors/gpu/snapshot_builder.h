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

  // A finding of the scrape about this GPU or the whole machine.
  struct Found {
    std::string_view feature;
    bool available;
    Absent absent;
  };

  // gpu, time and monotonic of the snapshot are the caller's to fill.
  Snapshot build(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu, Nanoseconds now);

 private:
  struct Pass;
  struct Binding;
  struct Rows {
    std::size_t engines, frequencies, throttling, rc6, power, power_limits, temperatures, fans, voltages, memory,
        bandwidth, processes;
  };
  const Binding& bind(const MetricDescriptor& metric);
  void sort_samples(const ScrapeResult& scrape, const Gpu& gpu, Pass& pass);
  void keep_features(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu);
  void add_bandwidth_rates(std::vector<snapshot::Bandwidth>& rows, Nanoseconds now);

  Nanoseconds min_window_;
  std::vector<Binding> bindings_;  // of every metric so far, in order of first appearance
  std::size_t last_binding_ = 0;
  Rows rows_{};                                                  // of the last snapshot
  std::unordered_map<std::string, CounterWindow<1>> bandwidth_;  // by direction
  std::shared_ptr<const ScrapeResult> features_of_;              // keeps the list alive whose address is compared
  const Finding* findings_ = nullptr;
  std::shared_ptr<const std::vector<FeatureState>> features_;
  std::vector<Found> found_;  // of the same findings; short, as every snapshot searches it
};

}  // namespace igpu
