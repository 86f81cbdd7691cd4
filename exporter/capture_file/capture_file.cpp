// SPDX-License-Identifier: Apache-2.0
#include "capture_file/capture_file.h"

#include <stdexcept>

#include "capture_file/archive.h"
#include "capture_file/capture_bytes.h"
#include "service/new_file.h"
#include "service/regular_file.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
}

}  // namespace

std::shared_ptr<const CaptureFiles> load_capture(const std::string& path) {
  try {
    const std::string bytes = read_regular_file(path, kMostBytes);
    auto files = std::make_shared<CaptureFiles>(files_of(bytes));
    check_capture(*files);
    return files;
  } catch (const ArchiveError& error) {
    fail(path, error.what());
  } catch (const CaptureError& error) {
    fail(path, error.what());
  } catch (const FileError& error) {
    fail(path, error.what());
  }
}

void check_destination(const std::string& path) {
  try {
    check_new_file(path);
  } catch (const FileError& error) {
    fail(path, error.what());
  }
}

void save_capture(const std::string& path, const CaptureFiles& files) {
  try {
    const std::string bytes = bytes_of(files);
    NewFile(path, 0600).finish(bytes, NewFile::Existing::stays);
  } catch (const ArchiveError& error) {
    fail(path, error.what());
  } catch (const FileError& error) {
    fail(path, error.what());
  }
}

}  // namespace igpu::exporter
