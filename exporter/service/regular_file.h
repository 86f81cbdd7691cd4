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

// Files that a user names, in folders where others may write as well: no FIFO may block the program, no device may be
// opened or read without end.
class RegularFile {
 public:
  // Throws FileError; what() does not contain the path.
  explicit RegularFile(const std::string& path);

  std::size_t size() const { return size_; }  // when it was opened
  // Its first bytes, as they are now; fewer if it ends before. Throws FileError.
  std::string first(std::size_t bytes) const;

 private:
  UniqueFd file_;
  std::size_t size_ = 0;
};

// All of it, as long as it was when it was opened. Throws FileError, also if that is more than `most` bytes.
std::string read_regular_file(const std::string& path, std::size_t most);

// Opens a file for writing, which is made if it is missing; what it holds stays. A link is not followed, so that
// nobody chooses another file of this user, and a FIFO without a reader is an error. Throws FileError.
UniqueFd open_to_write(const std::string& path);

}  // namespace igpu::exporter
