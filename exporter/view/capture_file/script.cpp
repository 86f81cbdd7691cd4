// SPDX-License-Identifier: Apache-2.0
#include "view/capture_file/script.h"

#include <algorithm>

namespace igpu::exporter {
namespace {

constexpr std::string_view kHead = "intel-gpu-exporter capture, ";
constexpr std::string_view kPass = "pass ";

std::string_view line_of(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

bool is_script(std::string_view bytes) { return bytes.starts_with(kHead); }

std::string script_of(const CaptureFiles& files) {
  std::string text;
  const auto content = [&](const std::string& path) {
    const auto file = files.find(path);
    return file == files.end() ? std::string_view() : std::string_view(file->second);
  };
  text += content("capture");
  for (std::string_view rest = content("left-out"); !rest.empty();) ((text += "# ") += line_of(rest)) += '\n';
  for (std::size_t pass = 1;; ++pass) {
    const std::string number = std::to_string(pass);
    const std::string_view index = content(number + "/index");
    if (index.empty()) return text;
    (((text += kPass) += number) += '\n') += index;
  }
}

CaptureFiles files_of_script(std::string_view text) {
  CaptureFiles files;
  std::string* content = &files["capture"];
  std::string left_out;
  std::size_t passes = 0;
  while (!text.empty()) {
    const std::string_view line = line_of(text);
    if (line.starts_with('#')) {
      (left_out += line.substr(std::min<std::size_t>(2, line.size()))) += '\n';
    } else if (line.starts_with(kPass)) {
      const std::string number = std::to_string(++passes);
      if (line.substr(kPass.size()) != number)
        throw CaptureError("it is not a capture that this version reads: pass " + number + " is missing");
      content = &files[number + "/index"];
    } else {
      (*content += line) += '\n';
    }
  }
  files["left-out"] = std::move(left_out);
  return files;
}

}  // namespace igpu::exporter
