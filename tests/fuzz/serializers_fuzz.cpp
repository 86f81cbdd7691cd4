// SPDX-License-Identifier: Apache-2.0
//
// Any label values and numbers: the strict parser accepts what both serializers write and reads back what was put in.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "support/exposition_parser.h"
#include "support/sample_page.h"
#include "support/utf8.h"
#include "view/format/json_writer.h"
#include "view/format/text_writer.h"

using namespace igpu;
using namespace igpu::test;

namespace {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }
  std::string_view take(std::size_t n) {
    const std::string_view text = rest_.substr(0, n);
    rest_.remove_prefix(text.size());
    return text;
  }
  std::uint8_t byte() {
    const std::string_view text = take(1);
    return text.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(text[0]);
  }
  double number() {
    double value = 0;
    const std::string_view raw = take(sizeof(value));
    std::memcpy(&value, raw.data(), raw.size());
    return value;
  }

 private:
  std::string_view rest_;
};

void require(bool condition) {
  if (!condition) std::abort();
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_histogram(const Exposition& page, const SampleList& list, const SampleList::Sample& sample) {
  const std::string name(sample.metric->name);
  const std::string_view device = list.label_value(sample, 0);
  const auto buckets = page.find(name + "_bucket", {{"device", device}});
  const auto counts = list.bucket_counts(sample);
  require(buckets.size() == counts.size());
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    cumulative += counts[i];
    require(same(buckets[i]->value, static_cast<double>(cumulative)));
    require(buckets[i]->label("class") == list.label_value(sample, 1));
    if (i + 1 < counts.size()) require(std::stod(std::string(buckets[i]->label("le"))) == sample.metric->bounds[i]);
  }
  require(same(page.value(name + "_sum", {{"device", device}}).value(), sample.value));
  require(same(page.value(name + "_count", {{"device", device}}).value(), static_cast<double>(cumulative)));
}

void check_page(const Exposition& page, const SampleList& list) {
  std::size_t samples = 0;
  for (const auto& family : page.families) samples += family.samples.size();
  require(samples == sample_lines(list));
  for (std::size_t i = 0; i < list.samples().size(); ++i) {
    const SampleList::Sample& sample = list.samples()[i];
    if (sample.metric->kind == Kind::histogram) {
      check_histogram(page, list, sample);
      continue;
    }
    const auto found = page.find(sample.metric->name, {{"device", list.label_value(sample, 0)}});
    require(found.size() == 1);
    require(same(found[0]->value, sample.value));
    for (std::size_t label = 0; label < sample.metric->label_count; ++label) {
      require(found[0]->label(sample.metric->label_names[label]) == list.label_value(sample, label));
    }
  }
}

}  // namespace

FUZZ_TARGET(serializers) {
  const MetricDescriptor* const kMetrics[] = {&kPageBusy, &kPageRatio, &kPageMemory, &kPageInfo};
  Input input(data, size);
  SampleList list;
  for (int i = 0; i < 50 && !input.empty(); ++i) {
    const std::uint8_t kind = input.byte();
    const bool histogram = kind >= 0xf0;
    const MetricDescriptor& metric = histogram ? static_cast<const MetricDescriptor&>(kPageWait) : *kMetrics[kind % 4];
    std::string values[kMaxLabels];
    std::string_view views[kMaxLabels];
    for (std::size_t label = 0; label < metric.label_count; ++label) {
      values[label] = input.take(input.byte() % 32u);
      if (label == 0) values[0] += "#" + std::to_string(i);  // series are unique: that is the collectors' part
      views[label] = values[label];
    }
    double value = input.number();
    if (histogram) {
      std::array<std::uint64_t, decltype(kPageWait)::kBuckets> counts{};
      for (std::uint64_t& count : counts) count = (std::uint64_t{input.byte()} << (input.byte() % 50u));
      list.add(metric, std::span<const std::string_view>(views, metric.label_count), counts, value);
      continue;
    }
    if (metric.kind == Kind::info) value = 1;
    if (metric.kind == Kind::counter) value = std::isnan(value) ? 0 : std::fabs(value);
    list.add(metric, std::span<const std::string_view>(views, metric.label_count), value);
  }

  const SampleList* lists[] = {&list};
  const PageView page(lists);
  std::string text, open, json;
  exporter::write_prometheus_text(page, text);
  check_page(parse_prometheus_text(text), list);
  exporter::write_openmetrics(page, open);
  check_page(parse_openmetrics(open), list);
  exporter::write_json_line(page, {}, json);
  require(json.find('\n') == json.size() - 1 && is_valid_utf8(json));
  return 0;
}
