// SPDX-License-Identifier: Apache-2.0
#include "platform/build_info.h"

#include <array>

#include "igpu/version.h"

namespace igpu::exporter {
namespace {

constexpr Metric<Flag, 3> kBuildInfo{"intel_gpu_exporter_build_info",
                                     Kind::info,
                                     "The exporter's version, the revision of its sources and its compiler.",
                                     {"version", "revision", "compiler"}};
constexpr std::array<const MetricDescriptor*, 1> kBuildInfoMetrics{&kBuildInfo};

}  // namespace

BuildInfo build_info() { return {build::kVersion, build::kRevision, build::kCompiler, build::kHasBpf}; }

std::string version_text() {
  const BuildInfo build = build_info();
  std::string text(kProgramName);
  text.append(", version ").append(build.version).append(" (revision ").append(build.revision);
  text.append(", compiler ").append(build.compiler);
  text.append(build.has_bpf ? ", with BPF)\n" : ", without BPF)\n");
  return text;
}

std::span<const MetricDescriptor* const> build_info_metrics() { return kBuildInfoMetrics; }

void add_build_info(SampleList& out) {
  const BuildInfo build = build_info();
  const std::array<std::string_view, 3> labels{build.version, build.revision, build.compiler};
  out.add(kBuildInfo, labels, 1);
}

}  // namespace igpu::exporter
