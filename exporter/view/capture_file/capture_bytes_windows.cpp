// SPDX-License-Identifier: Apache-2.0
#include "platform/windows_headers.h"
#include "text/text.h"
#include "view/capture_file/capture_file.h"
#include "view/capture_file/script.h"

namespace igpu::exporter {

const std::string_view kCaptureSuffix = ".txt";

std::string bytes_of(const CaptureFiles& files) {
  for (const auto& [path, content] : files) {
    if (path == "capture" || path == "left-out" || path.ends_with("/index")) continue;
    throw CaptureError(path.starts_with("bug/") ? "doctor --bug is about drivers of Linux; send a capture"
                                                : "a simulated machine is one of Linux: only this machine is captured");
  }
  return script_of(files);
}

CaptureFiles files_of(std::string_view bytes) {
  constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
  if (bytes.starts_with(kZstd))
    throw CaptureError("it is a capture of a Linux machine (.tar.zst); the exporter for Linux serves it");
  return files_of_script(bytes);
}

std::string how_to_read(const std::string& path) { return "it is a text.\n  more \"" + clean_text(path) + "\"\n"; }

// From the registry: GetVersionEx tells a program without a manifest of an older Windows.
std::string system_release() {
  char build[32];
  DWORD size = sizeof build;
  if (::RegGetValueA(HKEY_LOCAL_MACHINE, "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion", "CurrentBuildNumber",
                     RRF_RT_REG_SZ, nullptr, build, &size) != ERROR_SUCCESS)
    return {};
  return "windows build " + std::string(build);
}

}  // namespace igpu::exporter
