// SPDX-License-Identifier: Apache-2.0
// METRICS.md must match the descriptors. tests/run --update rewrites it.
#include "support/metrics_reference.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "igpu/monitor.h"
#include "server/self/own_metrics.h"
#include "support/golden.h"

using namespace igpu;

namespace {

std::vector<const MetricDescriptor*> all_metrics() {
  std::vector<const MetricDescriptor*> all;
  const auto add = [&all](std::span<const MetricDescriptor* const> metrics) {
    all.insert(all.end(), metrics.begin(), metrics.end());
  };
  for (const CollectorDescription& collector : describe_collectors()) add(collector.metrics);
  add(registry_metrics());
  add(exporter::own_metrics());
  return all;
}

}  // namespace

TEST_SUITE_BEGIN("metrics_reference");

TEST_CASE("METRICS.md is generated from the descriptors") {
  igpu::test::compare_with_golden("collectors/METRICS.md", igpu::test::metrics_reference());
}

TEST_CASE("every metric has one descriptor, the right prefix and a one-sentence help") {
  std::set<std::string_view> names;
  std::set<const MetricDescriptor*> npu;
  for (const CollectorDescription& collector : describe_collectors())
    if (collector.name == "npu") npu.insert(collector.metrics.begin(), collector.metrics.end());
  CHECK(npu.size() == 11);
  for (const MetricDescriptor* metric : all_metrics()) {
    const std::string name(metric->name);
    CAPTURE(name);
    CHECK(names.insert(metric->name).second);
    // An NPU is no GPU: its metrics have a prefix of their own, and all metrics with that prefix are about NPUs.
    const bool is_of_npu = npu.contains(metric);
    CHECK(metric->name.starts_with("intel_npu_") == is_of_npu);
    CHECK((is_of_npu || metric->name.starts_with("intel_gpu_") || metric->name.starts_with("process_")));
    CHECK(metric->help.find('\n') == std::string_view::npos);
    CHECK(metric->help.size() < 160);
    for (std::size_t i = 0; i < metric->label_count; ++i) {
      const std::string_view label = metric->label_names[i];
      for (const std::string_view reserved : {"le", "quantile", "job", "instance"}) CHECK(label != reserved);
      // Too general, but for the type of a PCI Express error, which the kernel calls so.
      CHECK((label != "type" || name == "intel_gpu_pcie_errors_total"));
    }
  }
}

TEST_SUITE_END();
