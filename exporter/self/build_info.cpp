// SPDX-License-Identifier: Apache-2.0
#include "self/build_info.h"

#include <array>

#include "self/version.h"  // generated

#define IGPU_STRING_(x) #x
#define IGPU_STRING(x) IGPU_STRING_(x)

namespace igpu::exporter {
namespace {

constexpr Metric<Flag, 3> kBuildInfo{"intel_gpu_exporter_build_info", Kind::info,
                                     "The exporter's version, the revision of its sources and its compiler.",
                                     {"version", "revision", "compiler"}};
constexpr std::array<const MetricDescriptor*, 1> kMetrics{&kBuildInfo};

#if defined(__clang__)
constexpr std::string_view kCompiler =
    "clang++ " IGPU_STRING(__clang_major__) "." IGPU_STRING(__clang_minor__) "." IGPU_STRING(__clang_patchlevel__);
#else
constexpr std::string_view kCompiler =
    "g++ " IGPU_STRING(__GNUC__) "." IGPU_STRING(__GNUC_MINOR__) "." IGPU_STRING(__GNUC_PATCHLEVEL__);
#endif

}  // namespace

BuildInfo build_info() { return {kVersion, kRevision, kCompiler}; }

std::string version_text() {
  const BuildInfo build = build_info();
  std::string text(kProgramName);
  text.append(", version ").append(build.version).append(" (revision ").append(build.revision);
  text.append(", compiler ").append(build.compiler).append(")\n");
  return text;
}

std::span<const MetricDescriptor* const> build_info_metrics() { return kMetrics; }

void add_build_info(SampleList& out) {
  const BuildInfo build = build_info();
  const std::array<std::string_view, 3> labels{build.version, build.revision, build.compiler};
  out.add(kBuildInfo, labels, 1);
}

}  // namespace igpu::exporter
