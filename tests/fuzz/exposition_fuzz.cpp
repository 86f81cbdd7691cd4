// SPDX-License-Identifier: Apache-2.0
// Pages of other exporters, which `top` reads: whatever they hold, the frame and the screen hold nothing that a
// terminal would execute, and stay within their bounds.
#include <cstdint>
#include <string>
#include <string_view>

#include "client/exposition.h"
#include "fuzz/fuzz_check.h"
#include "text/unicode.h"
#include "top/frame_builder.h"

using namespace igpu::exporter;

namespace {

void check_text(const std::string& text) {
  FUZZ_CHECK(text.size() <= 256);
  FUZZ_CHECK(clean_text(text) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  top::FrameBuilder builder;
  std::size_t samples = 0;
  const ParsedExposition parsed = parse_exposition(text, [&](const TextSample& sample) {
    ++samples;
    FUZZ_CHECK(!sample.metric.empty());
    FUZZ_CHECK(sample.labels.size() <= kMaxParsedLabels);
    builder.add(sample);
  });
  FUZZ_CHECK(parsed.samples == samples);
  top::HostFrame host = builder.finish();
  for (const top::GpuFrame& gpu : host.gpus) {
    for (const std::string* label : {&gpu.device, &gpu.card, &gpu.driver, &gpu.name, &gpu.kind}) check_text(*label);
    for (const top::EngineRow& engine : gpu.engines) {
      check_text(engine.name);
      FUZZ_CHECK(!engine.busy || (*engine.busy >= 0 && *engine.busy <= 1));
    }
    for (const top::GtRow& gt : gpu.gts) {
      for (const std::string& reason : gt.throttle_reasons) check_text(reason);
    }
  }
  for (const top::ProcessRow& process : host.processes) {
    FUZZ_CHECK(process.gpu < host.gpus.size());
    check_text(process.comm);
    check_text(process.cgroup);
  }
  for (const top::WorkloadRow& workload : host.workloads) {
    FUZZ_CHECK(workload.gpu < host.gpus.size());
    check_text(workload.name);
  }
  top::add_rates(host, host);
  return 0;
}
