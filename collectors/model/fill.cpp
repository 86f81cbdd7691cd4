// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/fields.h"
#include "model/rules.h"

namespace igpu {
namespace model {
namespace {

std::size_t label_count(const Field& field) {
  return static_cast<std::size_t>(std::ranges::find(field.labels, "") - field.labels.begin());
}

}  // namespace

Binding::Binding(const MetricDescriptor& metric) : metric_(&metric), fields_(fields_of(metric.name)) {
  device_ = position_of("device");
  if (fields_.empty()) return;
  labels_ = static_cast<std::uint8_t>(label_count(fields_.front()));
  for (std::size_t i = 0; i < labels_; ++i) positions_[i] = position_of(fields_.front().labels[i]);
}

std::uint8_t Binding::position_of(std::string_view label) const {
  std::uint8_t i = 0;
  while (i < metric_->label_count && metric_->label_names[i] != label) ++i;
  return i < metric_->label_count ? i : kNone;
}

Labels Binding::labels(const SampleList& list, const SampleList::Sample& sample) const {
  Labels labels;
  for (std::size_t i = 0; i < labels_; ++i) labels[i] = at(list, sample, positions_[i]);
  return labels;
}

void store(std::span<const Field> fields, const Target& to, const Labels& labels, double value) {
  for (const Field& field : fields)
    if (field.store != nullptr && (field.is.empty() || field.is == labels[label_count(field) - 1]))
      field.store(to, labels, value);
}

}  // namespace model

using namespace model;

class ModelReader::Fill {
 public:
  explicit Fill(CleanText clean) : clean_(clean) {}

  void add(std::span<const Field> fields, std::string_view device, Labels labels, double value) {
    if (clean_ != nullptr) {
      if (!std::isfinite(value)) return;
      if (fields.front().unit == Ratio::kSuffix) value = std::clamp(value, 0.0, 1.0);
      for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = cleaned(labels[i], texts_[i]);
      device = cleaned(device, texts_.back());
    }
    const Scope scope = fields.front().scope;
    GpuRows* of = nullptr;
    if (scope != Scope::host && !device.empty()) of = gpu(device);
    if (of == nullptr && scope != Scope::host && (scope == Scope::gpu || !device.empty())) return;
    store(fields, {host_, of}, labels, value);
  }

  HostModel finish();

 private:
  // Most text is plain and needs no copy.
  std::string_view cleaned(std::string_view text, std::string& kept) const {
    constexpr std::size_t kMaxPlain = 256;
    // Four at a time, unlike std::ranges::all_of.
    const bool plain =
        text.size() <= kMaxPlain && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (plain) return text;
    kept = clean_(text);
    return kept;
  }

  GpuRows* gpu(std::string_view device) {
    const auto is = [&](const GpuRows& rows) { return rows.model.gpu.address == device; };
    if (last_ != nullptr && is(*last_)) return last_;
    const auto found = std::ranges::find_if(gpus_, is);
    if (found != gpus_.end()) return last_ = &*found;
    if (gpus_.size() >= kMaxGpus) {
      ++host_.model.rows_left_out;
      return nullptr;
    }
    last_ = &gpus_.emplace_back();
    last_->model.gpu.address = device;
    return last_;
  }

  CleanText clean_;
  std::array<std::string, kMaxFieldLabels + 1> texts_;
  HostRows host_;
  std::deque<GpuRows> gpus_;
  GpuRows* last_ = nullptr;
};

HostModel ModelReader::Fill::finish() {
  HostModel host = std::move(host_.model);
  host.workloads = std::move(host_.of<Workload>());
  std::ranges::sort(host.workloads, {}, &Workload::name);
  host.npus = std::move(host_.of<Npu>());
  std::ranges::sort(host.npus, {}, &Npu::address);
  host.unbound = std::move(host_.of<snapshot::Unbound>());
  std::ranges::sort(host.unbound, {}, &snapshot::Unbound::address);
  std::vector<CollectorFailure> failures;
  for (const std::string& name : host.failed_collectors)
    failures.push_back({name, "", {std::make_error_code(std::errc::io_error), "collector " + name}});
  for (GpuRows& rows : gpus_) {
    const std::string address = rows.model.gpu.address;
    auto features = std::make_shared<const std::vector<FeatureState>>(std::move(rows.features));
    std::vector<Found> found;
    for (const std::span<const FeatureState> list : {std::span(*features), std::span(std::as_const(host.features))})
      for (const FeatureState& state : list) found.push_back({state.name, state.available, state.absent});
    GpuModel& made = host.gpus.emplace_back(model::finish(std::move(rows), Reasons(found, failures, address)));
    made.features = std::move(features);
  }
  return host;
}

ModelReader::ModelReader(CleanText clean) : fill_(std::make_unique<Fill>(clean)) {}
ModelReader::~ModelReader() = default;

void ModelReader::add(std::string_view metric, std::span<const LabelPair> labels, double value) {
  using Known = std::pair<std::span<const Field>, std::size_t>;
  static const std::unordered_map<std::string_view, Known> kKnown = [] {
    std::unordered_map<std::string_view, Known> known;
    for (const Field& field : fields()) known.try_emplace(field.metric, fields_of(field.metric), label_count(field));
    return known;
  }();
  const auto found = kKnown.find(metric);
  if (found == kKnown.end()) return;
  const auto& [known_fields, label_names] = found->second;
  const auto label = [&](std::string_view name) {
    const auto pair = std::ranges::find(labels, name, &LabelPair::name);
    return pair == labels.end() ? std::string_view() : pair->value;
  };
  Labels values;
  for (std::size_t i = 0; i < label_names; ++i) values[i] = label(known_fields.front().labels[i]);
  fill_->add(known_fields, label("device"), values, value);
}

void ModelReader::add(const PageView& page) {
  for (const PageView::Family& family : page.families()) {
    const Binding binding(*family.metric);
    if (binding.fields().empty()) continue;
    for (const auto& [list, sample] : family.entries)
      fill_->add(binding.fields(), binding.device(*list, *sample), binding.labels(*list, *sample), sample->value);
  }
}

HostModel ModelReader::finish() { return fill_->finish(); }

HostModel model_of(const PageView& page, CleanText clean) {
  ModelReader reader(clean);
  reader.add(page);
  return reader.finish();
}

const GpuModel* HostModel::gpu(std::string_view address) const {
  const auto found = std::ranges::find_if(gpus, [&](const GpuModel& one) { return one.gpu.address == address; });
  return found == gpus.end() ? nullptr : &*found;
}

const Workload* HostModel::workload(std::string_view name) const {
  const auto found = std::ranges::lower_bound(workloads, name, {}, &Workload::name);
  return found == workloads.end() || found->name != name ? nullptr : &*found;
}

}  // namespace igpu
