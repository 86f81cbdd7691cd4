// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cerrno>

#include "platform/file_stamp.h"

namespace igpu::exporter {
namespace {

FileStamp::Time to_time(const timespec& time) {
  return FileStamp::Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace

FileStamp file_stamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {.error = errno};
  return {.device = status.st_dev,
          .file = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .modified = to_time(status.st_mtim),
          .changed = to_time(status.st_ctim)};
}

}  // namespace igpu::exporter
