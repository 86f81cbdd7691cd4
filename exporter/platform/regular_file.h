// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "igpu/unique_fd.h"

namespace igpu::exporter {

// The file cannot be read; what() is one line.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& what, int error) : std::runtime_error(what), error_(error) {}
  int error() const { return error_; }  // errno; 0: not a regular file, or too large

 private:
  int error_;
};

// The result of use; an error of the file at path names it.
template <class Use>
auto with_path(const std::string& path, const Use& use) {
  try {
    return use();
  } catch (const FileError& error) {
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
std::string read_regular_file(const RegularFile& file, std::size_t most);
std::string read_regular_file(const std::string& path, std::size_t most);

// Opens a file for writing without truncating it; creates it if it is missing. Does not follow a link, by which another
// user could choose a file of this user. A FIFO without a reader is an error. Throws FileError.
UniqueFd open_to_write(const std::string& path);

}  // namespace igpu::exporter
