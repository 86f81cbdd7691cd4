// SPDX-License-Identifier: Apache-2.0
// A capture from a stranger: the archive; the text that the program for Windows writes; after the byte 'i', the index
// of its one pass; after 'c', its files, each below a line "== PATH". What is accepted is served to the collectors
// without harm.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "igpu/capture.h"
#include "run/machine_parts.h"
#include "support/recording_log.h"
#include "view/capture_file/capture_file.h"
#include "view/capture_file/script.h"

namespace {

constexpr std::string_view kHead = "intel-gpu-exporter capture, format 1\n";

igpu::CaptureFiles files_in_text(std::string_view text) {
  constexpr std::string_view kMark = "== ";
  igpu::CaptureFiles files;
  std::string* content = nullptr;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    if (line.starts_with(kMark)) {
      const std::string_view path = line.substr(kMark.size());
      content = &files[std::string(path.substr(0, path.find('\n')))];
    } else if (content) {
      *content += line;
    }
  }
  return files;
}

igpu::CaptureFiles files_of(std::string_view bytes) {
  if (igpu::exporter::is_script(bytes)) return igpu::exporter::files_of_script(bytes);
  if (bytes.starts_with('c')) return files_in_text(bytes.substr(1));
  if (!bytes.starts_with('i'))
    return igpu::exporter::read_archive(bytes, {.files = 1000, .file_bytes = 1 << 20, .total_bytes = 4 << 20});
  return {{"capture", std::string(kHead)},
          {"1/index", "start 0\n" + std::string(bytes.substr(1))},
          {"1/sys/content", "600\n"},
          {"1/drm.query/renderD128/xe-1", std::string(96, '\1')}};
}

bool is_line(std::string_view text) { return !text.empty() && text.find('\n') == std::string_view::npos; }

}  // namespace

FUZZ_TARGET(capture) {
  try {
    const igpu::CaptureFiles files = files_of({reinterpret_cast<const char*>(data), size});
    const auto parts = igpu::capture_parts(files);
    igpu::Machine& machine = parts->machine();
    igpu::MonitorOptions options;
    options.min_window = std::chrono::milliseconds(1);
    igpu::test::RecordingLog log;
    const auto monitor = igpu::make_monitor(parts, options, log);
    for (int pass = 0; pass < 3; ++pass) {
      char buffer[64];
      for (const igpu::Directory* root : {&machine.sys, &machine.proc}) {
        for (const std::string& name : igpu::sorted_names(*root, ".")) {
          const auto text = root->read_start(name, buffer);
          FUZZ_CHECK(!text || text->size() <= sizeof(buffer));
          (void)root->stat(name);
          (void)root->resolve(name);
        }
      }
      (void)monitor->scrape({});
    }
  } catch (const igpu::CaptureError& error) {
    FUZZ_CHECK(is_line(error.what()));
  }
  return 0;
}
