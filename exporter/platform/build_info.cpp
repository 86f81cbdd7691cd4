// SPDX-License-Identifier: Apache-2.0
#include "igpu/version.h"
#include "platform/own_process.h"

namespace igpu::exporter {

BuildInfo build_info() { return {build::kVersion, build::kRevision, build::kCompiler, build::kHasBpf}; }

std::string version_text() {
  const BuildInfo build = build_info();
  std::string text(kProgramName);
  text.append(", version ").append(build.version).append(" (revision ").append(build.revision);
  text.append(", compiler ").append(build.compiler);
  text.append(build.has_bpf ? ", with BPF)\n" : ", without BPF)\n");
  return text;
}

}  // namespace igpu::exporter
