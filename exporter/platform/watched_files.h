// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/log.h"
#include "igpu/option.h"
#include "platform/regular_file.h"

// Configuration files that are read again when they change.
namespace igpu::exporter {

// The file that a flag names cannot be read, or its content is not valid. The caller knows where the flag's value came
// from (such as the environment) and should name that source instead of the flag. what() names the flag.
class FlagFileError : public OptionError {
 public:
  using OptionError::OptionError;
};

// Reads a regular file of up to 1 MiB. name: prefix of error messages. Throws FileError.
std::string read_config_file(const std::string& path, const std::string& name);

// The stamps of the files of one read. Add each file before it is read, so that a change in between is detected.
class FileStamps {
 public:
  void add(const std::string& path);
  // Whether a file has changed since add(), or was written so shortly before add() that a later change may have kept
  // its time stamp.
  bool may_have_changed() const;

 private:
  std::vector<std::pair<std::string, FileStamp>> stamps_;  // by path
  bool recently_written_ = false;
};

// Logs the outcome of each reload: an error once, not at every check.
class ReloadLog {
 public:
  struct Messages {
    std::string_view invalid;      // the earlier content stays in use
    std::string_view reloaded;     // new content is in use
    std::string_view valid_again;  // the content in use, after an error
  };
  // path: the file; hint: what to do about an error. log must outlive the object.
  ReloadLog(Log& log, const Messages& messages, std::string path, std::string hint);

  void failed(const std::string& error);
  void succeeded(bool changed);

 private:
  Log& log_;
  const Messages messages_;
  const std::string path_;
  const std::string hint_;
  std::string last_error_;
};

}  // namespace igpu::exporter
