// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"

// A folder into which programs of any user put files, each of which its writer keeps locked while it runs. Nothing in
// it can be trusted: only regular files are opened, links are not followed, and content is read with pread, because a
// mapped file that its writer truncates would crash the reader.
namespace igpu {

class PageFile {
 public:
  virtual ~PageFile() = default;
  virtual std::uint64_t size() const = 0;  // when it was opened
  virtual std::uint64_t inode() const = 0;
  // As much of [offset, offset + buffer.size()) as the file has.
  virtual Reading<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> buffer) = 0;
  // The process that holds the lock, in the reader's pid namespace; nullopt when none does. 0: in a namespace that the
  // reader cannot see into.
  virtual Reading<std::optional<std::int32_t>> holder() = 0;
};

// What is known of a file without opening it.
struct PageFacts {
  std::uint32_t owner = 0;  // uid
  std::uint64_t size = 0;
  bool is_file = true;  // neither a link nor anything else
};

class PageFolder {
 public:
  virtual ~PageFolder() = default;
  // The names in it, without order. Absent when there is no such folder.
  virtual Reading<std::vector<std::string>> names() = 0;
  // Absent when it has gone.
  virtual Reading<PageFacts> facts(std::string_view name) = 0;
  // Absent when it has gone. Failure with EINVAL when it is not a regular file.
  virtual Reading<std::unique_ptr<PageFile>> open(std::string_view name) = 0;
};

// The folder may come and go: it is opened again each time its names are read.
std::unique_ptr<PageFolder> open_page_folder(std::string path);

}  // namespace igpu
