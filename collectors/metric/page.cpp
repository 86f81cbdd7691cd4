// SPDX-License-Identifier: Apache-2.0
#include "igpu/page.h"

#include <cassert>

#include "base/utf8.h"

namespace igpu {

void SampleList::add(const MetricDescriptor& metric, std::span<const std::string_view> values, double value) {
  const std::size_t first = label_ends_.size(), begin = text_.size();
  samples_.push_back({&metric, value, static_cast<std::uint32_t>(first), 0});
  const auto add_each = [&](const auto& append) {
    for (const std::string_view label : values) {
      append(label);
      label_ends_.push_back(static_cast<std::uint32_t>(text_.size()));
    }
  };
  // Nearly all labels are plain, and one look at all of a sample's costs less than one at each.
  add_each([this](std::string_view label) { text_.append(label); });
  if (is_plain_ascii(std::string_view(text_).substr(begin))) return;
  text_.resize(begin);
  label_ends_.resize(first);
  add_each([this](std::string_view label) { append_valid_utf8(text_, label); });
}

void SampleList::add(const MetricDescriptor& metric, std::span<const std::string_view> values,
                     std::span<const std::uint64_t> counts, double sum) {
  assert(counts.size() == metric.bounds.size() + 1);
  add(metric, values, sum);
  samples_.back().first_bucket = static_cast<std::uint32_t>(bucket_counts_.size());
  bucket_counts_.insert(bucket_counts_.end(), counts.begin(), counts.end());
}

void SampleList::clear() {
  samples_.clear();
  label_ends_.clear();
  bucket_counts_.clear();
  text_.clear();
}

namespace {

// Numbers descriptors in order of first appearance. Open addressing by pointer: a page has some sixty descriptors and
// looks one up for every sample.
class DescriptorNumbers {
 public:
  explicit DescriptorNumbers(std::vector<PageView::Family>& families) : families_(families), slots_(256, 0) {}

  std::uint32_t number_of(const MetricDescriptor* metric) {
    if (metric == last_metric_) return last_number_;
    std::uint32_t* slot = find(metric);
    if (*slot == 0) {
      families_.push_back({metric, {}});
      *slot = static_cast<std::uint32_t>(families_.size());
      if (families_.size() * 2 > slots_.size()) {
        grow();
        slot = find(metric);
      }
    }
    last_metric_ = metric;
    last_number_ = *slot - 1;
    return last_number_;
  }

 private:
  std::uint32_t* find(const MetricDescriptor* metric) {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(metric) * std::uint64_t{0x9E3779B97F4A7C15u};
    std::size_t at = static_cast<std::size_t>(hash >> 32) & mask;
    while (slots_[at] != 0 && families_[slots_[at] - 1].metric != metric) at = (at + 1) & mask;
    return &slots_[at];
  }
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (std::size_t i = 0; i < families_.size(); ++i) *find(families_[i].metric) = static_cast<std::uint32_t>(i + 1);
  }

  std::vector<PageView::Family>& families_;
  std::vector<std::uint32_t> slots_;  // number + 1; 0: free; a power of two
  const MetricDescriptor* last_metric_ = nullptr;
  std::uint32_t last_number_ = 0;
};

}  // namespace

// A counting sort: numbers first, then every sample directly to its position.
PageView::PageView(std::span<const SampleList* const> lists) {
  std::size_t samples = 0;
  for (const SampleList* list : lists) samples += list->samples().size();
  if (samples == 0) return;

  families_.reserve(64);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(samples);
  DescriptorNumbers descriptors(families_);
  for (const SampleList* list : lists) {
    for (const SampleList::Sample& sample : list->samples()) numbers.push_back(descriptors.number_of(sample.metric));
  }

  std::vector<std::size_t> next(families_.size() + 1, 0);
  for (const std::uint32_t number : numbers) ++next[number + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];

  entries_.resize(samples);
  for (std::size_t i = 0; i < families_.size(); ++i) {
    families_[i].entries = std::span<const Entry>(entries_).subspan(next[i], next[i + 1] - next[i]);
  }
  std::size_t at = 0;
  for (const SampleList* list : lists) {
    for (const SampleList::Sample& sample : list->samples()) entries_[next[numbers[at++]]++] = {list, &sample};
  }
}

}  // namespace igpu
