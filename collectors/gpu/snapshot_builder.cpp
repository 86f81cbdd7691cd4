// SPDX-License-Identifier: Apache-2.0
#include "gpu/snapshot_builder.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gpu/open_gpu.h"

namespace igpu {

const model::Binding& SnapshotBuilder::bind(const MetricDescriptor& metric) {
  const auto is_it = [&metric](const model::Binding& known) { return known.metric() == &metric; };
  // Samples come in about the same order each time; those of engines alternate between some metrics.
  const std::size_t last = last_binding_;
  if (last < following_.size() && is_it(bindings_[following_[last]]))
    return bindings_[last_binding_ = following_[last]];
  const auto known = std::ranges::find_if(bindings_, is_it);
  last_binding_ = static_cast<std::size_t>(known - bindings_.begin());
  if (known == bindings_.end()) {
    bindings_.emplace_back(metric);
    following_.push_back(last_binding_);
  }
  following_[last] = last_binding_;
  return bindings_[last_binding_];
}

void SnapshotBuilder::sort_samples(const ScrapeResult& scrape, const Gpu& gpu, const model::Target& to) {
  const MetricDescriptor* last = nullptr;
  const model::Binding* binding = nullptr;
  for (const SampleList* list : scrape.lists()) {
    for (const SampleList::Sample& sample : list->samples()) {
      if (sample.metric != last) {
        last = sample.metric;
        binding = &bind(*last);  // valid until the next one
      }
      if (binding->fields().empty() || binding->device(*list, sample) != gpu.address) continue;
      model::store(binding->fields(), to, binding->labels(*list, sample), sample.value);
    }
  }
}

void SnapshotBuilder::keep_features(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu) {
  if (features_ && scrape->findings().data() == findings_) return;
  auto features = std::make_shared<std::vector<FeatureState>>();
  found_.clear();
  for (const Finding& finding : scrape->findings()) {
    if (!finding.device.empty() && finding.device != gpu.address) continue;
    found_.push_back({finding.feature->name, finding.available, finding.absent});
    const auto ours = snapshot_collectors();
    if (!is_always_on(finding.collector) && std::ranges::find(ours, finding.collector) == ours.end()) continue;
    FeatureState& state = features->emplace_back();
    state = {std::string(finding.feature->name), finding.available, finding.absent, finding.cause, finding.hint};
    if (finding.available || finding.absent.reason != Reason::disabled) continue;
    state.cause = "this program leaves it out";  // there are no flags here
    state.hint.clear();
  }
  features_ = std::move(features);
  features_of_ = scrape;
  findings_ = scrape->findings().data();
}

void SnapshotBuilder::add_bandwidth_rates(std::vector<snapshot::Bandwidth>& rows, Nanoseconds now) {
  for (snapshot::Bandwidth& row : rows) {
    auto& window = bandwidth_.try_emplace(row.direction, min_window_).first->second;
    const auto delta = window.advance(now, {static_cast<std::uint64_t>(row.total.value)});
    if (delta) row.rate = BytesPerSecond{static_cast<double>(delta->counts[0]) / to_seconds(delta->elapsed).value};
  }
}

Snapshot SnapshotBuilder::build(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu, Nanoseconds now) {
  model::HostRows host;
  model::GpuRows rows;
  // A snapshot usually has as many rows as the one before it.
  const auto each_list = [&](auto use) {
    std::size_t i = 0;
    std::apply([&](auto&... lists) { (use(lists.rows, rows_[i++]), ...); }, rows.lists());
  };
  each_list([](auto& list, std::size_t before) { list.reserve(before); });
  sort_samples(*scrape, gpu, {host, &rows});
  each_list([](const auto& list, std::size_t& before) { before = list.size(); });
  keep_features(scrape, gpu);
  Snapshot snapshot = model::finish(std::move(rows), {found_, scrape->failures(), gpu.address});
  snapshot.features = features_;
  if (snapshot.memory_bandwidth) add_bandwidth_rates(*snapshot.memory_bandwidth, now);
  return snapshot;
}

}  // namespace igpu
