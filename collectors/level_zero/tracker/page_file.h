// SPDX-License-Identifier: Apache-2.0
// Creates, locks and grows the page's file. Without a folder, room or permission the memory is private instead: the
// program runs as before, but its counts cannot be read.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace igpu::level_zero {

// Zeroed anonymous memory; null if there is none left. size is rounded up to whole pages.
void* private_memory(std::uint64_t size);

class PageFile {
 public:
  // Maps a new file of `size` bytes in `folder`, or private memory. Null only if there is no memory at all.
  void* create(const char* folder, std::uint64_t size);
  // Maps `size` more bytes at the end of the file; null if the file cannot grow. The caller falls back to private
  // memory.
  void* grow(std::uint64_t size);

 private:
  bool still_ours() const;
  bool allocate(std::uint64_t offset, std::uint64_t size) const;

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace igpu::level_zero
