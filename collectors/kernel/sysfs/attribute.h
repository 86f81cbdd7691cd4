// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "machine/filesystem.h"

namespace igpu {

// One sysfs attribute: opened at its first read and kept open; reopened after the device has gone or a read has failed.
// A file that does not exist is not tried again (a driver creates its files when it binds); a file without read
// permission is.
class Attribute {
 public:
  Attribute(const Directory& root, std::string path) : path_(std::move(path)), root_(&root) {}

  // The file's text without surrounding spaces. An empty file is a Failure.
  Reading<std::string_view> text(std::span<char> buffer);
  Reading<std::uint64_t> number();  // anything but one decimal number is a Failure
  Reading<std::int64_t> signed_number();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const Directory* root_;
  std::unique_ptr<File> file_;
  std::optional<Absent> never_;
};

// Whether a file exists, without opening it.
bool file_exists(const Directory& root, const std::string& path);

}  // namespace igpu
