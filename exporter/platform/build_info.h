// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu::exporter {

inline constexpr std::string_view kProgramName = "intel-gpu-exporter";

struct BuildInfo {
  std::string_view version;   // "0.1.0"
  std::string_view revision;  // of the sources; "unknown" without a repository
  std::string_view compiler;  // "gcc 12.2.0"
  bool has_bpf = false;
};
BuildInfo build_info();
std::string version_text();  // what --version prints

}  // namespace igpu::exporter
