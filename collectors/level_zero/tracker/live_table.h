// SPDX-License-Identifier: Apache-2.0
// The page's file, and the live resources in it.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "level_zero/tracker/page_layout.h"

namespace igpu::level_zero {

// The descriptor under a high number, if the limit allows: programs count on low ones being free (dup2, select).
int high_descriptor(int fd);

// Zeroed anonymous memory; null if there is none left. size is rounded up to whole pages.
void* private_memory(std::uint64_t size);

// Creates, locks and grows the page's file. Without a folder, room or permission the memory is private instead: the
// program runs as before, but its counts cannot be read.
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

inline constexpr std::uint32_t kNoEntry = 0xffffffff;

// The live resources by handle. The entries lie in the page, where the exporter reads them; the index that finds them
// is private. Sixteen shards, each with a lock of its own, so that threads rarely meet.
class LiveTable {
 public:
  // first_chunk: the chunk that a new page already has.
  void begin(PageFile& file, Header& header, Entry* first_chunk);

  // False: there is no memory for another entry.
  bool insert(const Entry& resource);
  // Removes a live resource of one of `kinds` (a set of bits) from the index, so that the driver can reuse its handle
  // while it destroys the resource. Returns its entry; kNoEntry: there is no such resource.
  std::uint32_t take(std::uint64_t handle, std::uint64_t kinds);
  // Frees the entry, after the driver has destroyed the resource.
  void release(std::uint32_t entry);
  // Returns the entry to the index, after the driver has refused. False: there is no memory for it.
  bool put_back(std::uint32_t entry);

  Entry& at(std::uint32_t entry);

 private:
  struct Slot {
    std::uint64_t handle;  // 0: empty
    std::uint32_t entry;
    std::uint32_t kind;
  };
  struct alignas(64) Shard {
    unsigned lock;
    std::uint32_t capacity;  // a power of two
    std::uint32_t used;
    std::uint32_t unused_entry;  // the first of a list
    std::uint32_t batch, batch_end;
    Slot* slots;
  };
  static constexpr std::uint32_t kShards = 16;

  Shard& shard_of(std::uint64_t handle);
  bool reserve_slot(Shard& shard);
  static void add_slot(Shard& shard, const Slot& slot);
  static void remove_slot(Shard& shard, std::uint32_t at);
  std::uint32_t allocate(Shard& shard);
  bool next_batch(Shard& shard);
  bool add_chunk();
  std::uint32_t& next_unused(std::uint32_t entry);

  PageFile* file_;
  Header* header_;
  Shard shards_[kShards];
  Entry* chunks_[kMaxChunks];
  std::uint32_t* lists_[kMaxChunks];  // by entry of a chunk: the next unused entry
  std::uint32_t chunk_count_;
  std::uint64_t batched_;  // entries handed to shards
  bool file_ended_;
  unsigned grow_lock_;
};

}  // namespace igpu::level_zero
