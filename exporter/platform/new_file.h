// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "igpu/unique_fd.h"
#include "platform/regular_file.h"
#include "platform/thread.h"

namespace igpu::exporter {

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
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Writes the bytes and renames the file to its final name. An existing file is replaced only if it is a regular file.
  void finish(std::string_view bytes, Existing existing);

 private:
  EndPostponed postponed_;
  std::string path_, temporary_;
  UniqueFd file_;
};

}  // namespace igpu::exporter
