// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/metric.h"

// The result of a scrape: samples of described metrics. Serializers turn it into bytes, the prometheus-cpp adapter into
// MetricFamily objects. It is not prometheus-cpp's own model, because a page of MetricFamily costs a heap allocation
// per label, which would be most of a scrape's time.
namespace igpu {

// Samples in the order they were added. Label values are always valid UTF-8 without NUL; add() repairs them.
class SampleList {
 public:
  struct Sample {
    const MetricDescriptor* metric;
    double value;                // of a histogram: the sum of the observations
    std::uint32_t first_label;   // index of the first label value
    std::uint32_t first_bucket;  // of a histogram: index of the first count
  };

  // values are in the order of metric.label_names; an empty value means the label is absent.
  void add(const MetricDescriptor& metric, std::span<const std::string_view> values, double value);
  // A histogram: counts has one more element than metric.bounds and is not cumulative.
  void add(const MetricDescriptor& metric, std::span<const std::string_view> values,
           std::span<const std::uint64_t> counts, double sum);
  void clear();  // keeps the memory

  std::span<const Sample> samples() const { return samples_; }
  std::string_view label_value(const Sample& sample, std::size_t label) const {
    const std::size_t index = sample.first_label + label;
    const std::size_t begin = index == 0 ? 0 : label_ends_[index - 1];
    return {text_.data() + begin, label_ends_[index] - begin};
  }
  // Of a histogram: one count per bucket, not cumulative.
  std::span<const std::uint64_t> bucket_counts(const Sample& sample) const {
    return std::span(bucket_counts_).subspan(sample.first_bucket, sample.metric->bounds.size() + 1);
  }

 private:
  std::vector<Sample> samples_;
  std::vector<std::uint32_t> label_ends_;
  std::vector<std::uint64_t> bucket_counts_;
  std::string text_;
};

// A view of several lists as one page: each family complete and in one place, in order of first appearance.
class PageView {
 public:
  struct Entry {
    const SampleList* list;
    const SampleList::Sample* sample;
  };
  struct Family {
    const MetricDescriptor* metric;
    std::span<const Entry> entries;
  };

  explicit PageView(std::span<const SampleList* const> lists);
  PageView(const PageView&) = delete;
  PageView& operator=(const PageView&) = delete;

  std::span<const Family> families() const { return families_; }

 private:
  std::vector<Entry> entries_;
  std::vector<Family> families_;
};

}  // namespace igpu
