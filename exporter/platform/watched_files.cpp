// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <chrono>

#include "platform/own_process.h"
#include "platform/regular_file.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kLargest = 1U << 20;

// So recently that another change may not alter the time stamp.
bool is_recent(FileStamp::Time changed) {
  const auto distance = std::chrono::system_clock::now() - changed;
  return std::chrono::abs(distance) < std::chrono::seconds(3);
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

void FileStamps::add(const std::string& path) {
  stamps_.emplace_back(path, file_stamp(path));
  recently_written_ = recently_written_ || is_recent(stamps_.back().second.changed);
}

bool FileStamps::may_have_changed() const {
  return recently_written_ ||
         std::ranges::any_of(stamps_, [](const auto& stamp) { return file_stamp(stamp.first) != stamp.second; });
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
