// SPDX-License-Identifier: Apache-2.0
#include "service/watched_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "platform/process.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kLargest = 1U << 20;

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

// So recently that another change may not alter the time stamp.
bool is_recent(const timespec& changed) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return changed.tv_sec >= now.tv_sec - 2 && changed.tv_sec <= now.tv_sec + 2;
}

}  // namespace

std::string read_config_file(const std::string& path, const std::string& name) {
  try {
    return read_regular_file(path, kLargest);
  } catch (const FileError& error) {
    std::string text = name + " cannot be read: " + error.what();
    if (error.error() == EACCES) text += "; the exporter runs as user " + user_name() + ", which needs read permission";
    throw FileError(text, error.error());
  }
}

bool FileStamps::Stamp::operator==(const Stamp& other) const {
  return path == other.path && error == other.error && device == other.device && inode == other.inode &&
         size == other.size && same(modified, other.modified) && same(changed, other.changed);
}

FileStamps::Stamp FileStamps::stamp_of(const std::string& path) {
  Stamp stamp;
  stamp.path = path;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    stamp.error = errno;
    return stamp;
  }
  stamp.device = status.st_dev;
  stamp.inode = status.st_ino;
  stamp.size = status.st_size;
  stamp.modified = status.st_mtim;
  stamp.changed = status.st_ctim;
  return stamp;
}

void FileStamps::add(const std::string& path) {
  stamps_.push_back(stamp_of(path));
  recently_written_ = recently_written_ || is_recent(stamps_.back().changed);
}

bool FileStamps::may_have_changed() const {
  return recently_written_ || std::any_of(stamps_.begin(), stamps_.end(),
                                          [](const Stamp& stamp) { return !(stamp_of(stamp.path) == stamp); });
}

ReloadLog::ReloadLog(Log& log, const Messages& messages, std::string path, std::string hint)
    : log_(log), messages_(messages), path_(std::move(path)), hint_(std::move(hint)) {}

void ReloadLog::failed(const std::string& error) {
  if (error == last_error_) return;
  last_error_ = error;
  log_.write(LogLevel::error, messages_.invalid, {{"error", error}, {"hint", hint_}});
}

void ReloadLog::succeeded(bool changed) {
  const bool was_invalid = !std::exchange(last_error_, {}).empty();
  if (!changed && !was_invalid) return;  // touched, or replaced by a copy
  log_.write(LogLevel::info, changed ? messages_.reloaded : messages_.valid_again, {{"file", path_}});
}

}  // namespace igpu::exporter
