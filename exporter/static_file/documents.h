// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace igpu::exporter {

// What a package installs beside the program, inside the static file: man pages (roff) and completions, both written
// from --help by deploy/package/describe.
struct Document {
  std::string_view name;  // of the file: "intel-gpu-exporter-top.1", "intel-gpu-exporter.bash"
  std::string_view text;
};

std::span<const Document> documents();

}  // namespace igpu::exporter
