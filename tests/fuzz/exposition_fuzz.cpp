// SPDX-License-Identifier: Apache-2.0
// Pages of other exporters, which `top` reads: whatever they hold, the frame and the screen hold nothing that a
// terminal would execute, and stay within their bounds.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "text/text.h"
#include "view/client/http_fetcher.h"
#include "view/top/host_frame.h"

using namespace igpu::exporter;

namespace {

void check_text(const std::string& text) {
  FUZZ_CHECK(text.size() <= 256);
  FUZZ_CHECK(clean_text(text) == text);
}

}  // namespace

FUZZ_TARGET(exposition) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  igpu::ModelReader reader([](std::string_view label) { return clean_text(label, 256); });
  std::size_t samples = 0;
  const ParsedExposition parsed = parse_exposition(text, [&](const TextSample& sample) {
    ++samples;
    FUZZ_CHECK(!sample.metric.empty());
    FUZZ_CHECK(sample.labels.size() <= kMaxParsedLabels);
    reader.add(sample.metric, sample.labels, sample.value);
  });
  FUZZ_CHECK(parsed.samples == samples);
  top::HostFrame host;
  static_cast<igpu::HostModel&>(host) = reader.finish();
  for (const igpu::GpuModel& gpu : host.gpus) {
    for (const std::string* label : {&gpu.gpu.address, &gpu.gpu.card, &gpu.gpu.name}) check_text(*label);
    for (const auto& engine : top::rows_of(gpu.engines)) {
      check_text(engine.name);
      FUZZ_CHECK(!engine.busy || (engine.busy->value >= 0 && engine.busy->value <= 1));
    }
    for (const auto& gt : top::rows_of(gpu.throttling))
      for (const std::string& reason : gt.reasons) check_text(reason);
    for (const auto& process : top::rows_of(gpu.processes)) {
      check_text(process.comm);
      check_text(process.cgroup);
    }
    for (const auto& workload : gpu.workloads) check_text(workload.workload);
  }
  top::add_rates(host, host);
  return 0;
}
