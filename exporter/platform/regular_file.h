// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/log.h"
#include "igpu/options.h"
#include "igpu/unique_fd.h"
#include "platform/thread.h"

namespace igpu::exporter {

// The file cannot be read; what() is one line.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& what, int error) : std::runtime_error(what), error_(error) {}
  int error() const { return error_; }  // errno; 0: not a regular file, or too large

 private:
  int error_;
};

// The result of use; an error about the file at path names it.
template <class Use>
auto with_path(const std::string& path, const Use& use) {
  try {
    return use();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

// A file that a user names, perhaps in a folder where others may write: it must not be a FIFO, which could block the
// program, or a device, which could be endless.
class RegularFile {
 public:
  // Throws FileError; what() does not contain the path.
  explicit RegularFile(const std::string& path);

  std::size_t size() const { return size_; }  // when it was opened
  unsigned mode() const { return mode_; }     // likewise: its permission bits; 0 under Windows
  // The first bytes of its present content; fewer if the file is shorter. Throws FileError.
  std::string first(std::size_t bytes) const;

 private:
  UniqueFd file_;
  std::size_t size_ = 0;
  unsigned mode_ = 0;
};

// Reads as many bytes as the file had when it was opened. Throws FileError, also if these are more than `most`.
inline std::string read_regular_file(const RegularFile& file, std::size_t most) {
  if (file.size() > most) throw FileError("larger than " + std::to_string(most >> 20U) + " MiB", 0);
  return file.first(file.size());
}
inline std::string read_regular_file(const std::string& path, std::size_t most) {
  return read_regular_file(RegularFile(path), most);
}

// Opens a file for writing without truncating it; creates it if it is missing. Does not follow a link, by which another
// user could choose a file of this user. A FIFO without a reader is an error. Throws FileError.
UniqueFd open_to_write(const std::string& path);

// Writes all of them. Returns errno, or 0.
int write_all(int file, std::string_view bytes);

std::string folder_of(const std::string& path);

// Throws FileError if it is already certain that a new file cannot be written there.
void check_new_file(const std::string& path);

// A file that is complete when it appears under its name: it is written in the same folder under a temporary name, and
// removed if it is not finished. Signals that end the program are postponed meanwhile. Throws FileError, whose what()
// does not contain the path.
class NewFile {
 public:
  enum class Existing { stays, is_replaced };

  NewFile(const std::string& path, mode_t mode);
  ~NewFile();

  // Writes the bytes and renames the file to its final name. An existing file is replaced only if it is a regular file.
  void finish(std::string_view bytes, Existing existing);

 private:
  EndPostponed postponed_;
  std::string path_, temporary_;
  UniqueFd file_;
};

// Detects changes of a file without reading it, by stat(2) or its Windows counterpart.
struct FileStamp {
  using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

  int error = 0;  // errno; the rest is then 0
  std::uint64_t device = 0, file = 0, size = 0;
  Time modified{};
  Time changed{};  // of content or metadata

  bool operator==(const FileStamp&) const = default;
};

FileStamp file_stamp(const std::string& path);

// Configuration files that are read again when they change.

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
