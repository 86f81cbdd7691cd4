// SPDX-License-Identifier: Apache-2.0
#include <sys/utsname.h>

#include "text/text.h"
#include "view/capture_file/capture_file.h"
#include "view/capture_file/script.h"

namespace igpu::exporter {
namespace {

// As a shell reads it.
std::string shell_word(const std::string& path) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+:@%,=";
  if (path.find_first_not_of(kPlain) == std::string::npos) return path;
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return clean_text(quoted + "'");
}

}  // namespace

const std::string_view kCaptureSuffix = ".tar.zst";

std::string bytes_of(const CaptureFiles& files) { return write_archive(files); }

CaptureFiles files_of(std::string_view bytes) {
  return is_script(bytes) ? files_of_script(bytes) : read_archive(bytes);
}

std::string how_to_read(const std::string& path) {
  const std::string file = shell_word(path);
  return "its files, and what was masked and left out:\n  tar --zstd -tvf " + file + "\n  tar --zstd -xOf " + file +
         " left-out\n";
}

std::string system_release() {
  utsname system{};
  return ::uname(&system) == 0 ? "kernel " + std::string(system.release) : std::string();
}

}  // namespace igpu::exporter
