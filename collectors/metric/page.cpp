// SPDX-License-Identifier: Apache-2.0
#include "igpu/page.h"

#include <cassert>
#include <cmath>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "metric/sample_sink.h"

namespace igpu {

void SampleSink::append(const MetricDescriptor& metric, std::span<const std::string_view> labels, double value) {
  if (is_finite(metric, value)) samples_.add(metric, labels, value);
}

void SampleSink::append(const MetricDescriptor& metric, std::span<const std::string_view> labels,
                        std::span<const std::uint64_t> counts, double sum) {
  if (is_finite(metric, sum)) samples_.add(metric, labels, counts, sum);
}

bool SampleSink::is_finite(const MetricDescriptor& metric, double value) {
  if (std::isfinite(value)) return true;
  failures_.push_back({std::make_error_code(std::errc::result_out_of_range), std::string(metric.name)});
  return false;
}

void SampleSink::clear() {
  samples_.clear();
  features_.clear();
  failures_.clear();
}

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

// A counting sort: numbers first, then every sample directly to its position.
PageView::PageView(std::span<const SampleList* const> lists) {
  std::size_t samples = 0;
  for (const SampleList* list : lists) samples += list->samples().size();
  if (samples == 0) return;

  families_.reserve(64);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(samples);
  // Looked up only where the metric changes.
  std::unordered_map<const MetricDescriptor*, std::uint32_t> known;
  const MetricDescriptor* last = nullptr;
  std::uint32_t number = 0;
  for (const SampleList* list : lists) {
    for (const SampleList::Sample& sample : list->samples()) {
      if (std::exchange(last, sample.metric) != sample.metric) {
        const auto [at, added] = known.try_emplace(last, static_cast<std::uint32_t>(families_.size()));
        if (added) families_.push_back({last, {}});
        number = at->second;
      }
      numbers.push_back(number);
    }
  }

  std::vector<std::size_t> next(families_.size() + 1, 0);
  for (const std::uint32_t of : numbers) ++next[of + 1];
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
