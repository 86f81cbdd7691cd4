// SPDX-License-Identifier: Apache-2.0
// The page's file: created, locked and grown. Where there is no folder, no room or no permission, the same memory is
// private: the program runs on, and counts that nobody reads do no harm.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace igpu::level_zero {

// Anonymous memory, zeroed; null when there is none. size is rounded up to whole pages.
void* private_memory(std::uint64_t size);

class PageFile {
 public:
  // A new file of `size` bytes in `folder`. Null only when there is no memory at all.
  void* create(const char* folder, std::uint64_t size);
  // `size` more bytes at the end of the file; null when the file cannot grow. The caller falls back to private memory.
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
