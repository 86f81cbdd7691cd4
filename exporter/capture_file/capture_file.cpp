// SPDX-License-Identifier: Apache-2.0
#include "capture_file/capture_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "capture_file/archive.h"
#include "service/new_file.h"
#include "service/regular_file.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
}
[[noreturn]] void fail(const std::string& path, int error) { fail(path, std::generic_category().message(error)); }

}  // namespace

std::shared_ptr<const CaptureFiles> load_capture(const std::string& path) {
  try {
    const std::string bytes = read_regular_file(path, kMostBytes);
    auto files = std::make_shared<CaptureFiles>(read_archive(bytes));
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
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) fail(path, EEXIST);
  if (errno != ENOENT) fail(path, errno);
  if (::access(folder_of(path).c_str(), W_OK | X_OK) != 0) fail(path, errno);
}

void save_capture(const std::string& path, const CaptureFiles& files) {
  const std::string bytes = write_archive(files);
  try {
    NewFile(path, 0600).finish(bytes, NewFile::Existing::stays);
  } catch (const FileError& error) {
    fail(path, error.what());
  }
}

}  // namespace igpu::exporter
