// SPDX-License-Identifier: Apache-2.0
#include "view/capture_file/capture_file.h"

#include "platform/regular_file.h"
#include "view/capture_file/archive.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

}  // namespace

std::shared_ptr<const CaptureFiles> load_capture(const std::string& path) {
  return with_path(path, [&] {
    auto files = std::make_shared<const CaptureFiles>(files_of(read_regular_file(path, kMostBytes)));
    check_capture(*files);
    return files;
  });
}

void check_destination(const std::string& path) {
  with_path(path, [&] { check_new_file(path); });
}

void save_capture(const std::string& path, const CaptureFiles& files) {
  with_path(path, [&] { NewFile(path, 0600).finish(bytes_of(files), NewFile::Existing::stays); });
}

}  // namespace igpu::exporter
