// SPDX-License-Identifier: Apache-2.0
#include "level_zero/tracker/live_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "level_zero/tracker/shared_word.h"

namespace igpu::level_zero {
namespace {

void* map(int fd, std::uint64_t offset, std::uint64_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  return at == MAP_FAILED ? nullptr : at;
}

bool lock_first_byte(int fd) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return fcntl(fd, F_SETLK, &lock) == 0;
}

// The caller that started the program may have no permission to list the folder, so the path is added to a file that
// the caller named.
void announce(const char* path) {
  const char* list = secure_getenv("INTEL_GPU_LEVEL_ZERO_PAGES");
  const int fd = list == nullptr ? -1 : open(list, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  char line[520];
  const int length = snprintf(line, sizeof line, "%s\n", path);
  struct stat status = {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && length > 0 && length < static_cast<int>(sizeof line))
    while (write(fd, line, static_cast<std::size_t>(length)) < 0 && errno == EINTR) {
    }
  close(fd);
}

constexpr std::uint32_t kBatch = 64;
constexpr std::uint32_t kFirstSlots = 256;  // one page

std::uint64_t mix(std::uint64_t handle) {
  handle ^= handle >> 33;
  handle *= 0xff51afd7ed558ccd;
  return handle ^ handle >> 33;
}

struct Position {
  std::uint32_t chunk;
  std::uint32_t within;
};

Position position_of(std::uint32_t entry) {
  const std::uint32_t chunk = 31 - static_cast<std::uint32_t>(__builtin_clz(entry / kFirstEntries + 1));
  return {chunk, static_cast<std::uint32_t>(entry - entries_of(chunk))};
}

}  // namespace

int high_descriptor(int fd) {
  constexpr int kLowest = 200;
  const int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kLowest);
  if (high < 0) return fd;
  close(fd);
  return high;
}

void* private_memory(std::uint64_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void* PageFile::create(const char* folder, std::uint64_t size) {
  char path[512];
  for (int attempt = 0; attempt < 4 && fd_ < 0; ++attempt) {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    const int length = snprintf(path, sizeof path, "%s/%ld-%lld%09ld.l0", folder, static_cast<long>(getpid()),
                                static_cast<long long>(now.tv_sec), now.tv_nsec);
    if (length < 0 || length >= static_cast<int>(sizeof path)) break;
    fd_ = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd_ < 0 && errno != EEXIST) break;  // another namespace may have the same pid
  }
  if (fd_ < 0) return private_memory(size);

  fd_ = high_descriptor(fd_);
  // The folder's group reads it, whatever the program's umask.
  struct stat status = {};
  void* page = nullptr;
  if (fchmod(fd_, 0640) == 0 && fstat(fd_, &status) == 0 && allocate(0, size) && lock_first_byte(fd_))
    page = map(fd_, 0, size);
  if (page == nullptr) {
    unlink(path);
    close(fd_);
    fd_ = -1;
    return private_memory(size);
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  size_ = size;
  announce(path);
  return page;
}

void* PageFile::grow(std::uint64_t size) {
  if (!still_ours() || !allocate(size_, size)) return nullptr;
  void* more = map(fd_, size_, size);
  if (more != nullptr) size_ += size;
  return more;
}

// A daemon closes every descriptor, and the number may be another file by now.
bool PageFile::still_ours() const {
  struct stat status = {};
  return fd_ >= 0 && fstat(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

// Touching a hole when the file system is full would kill the program, and so would growing past its own limit.
bool PageFile::allocate(std::uint64_t offset, std::uint64_t size) const {
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < offset + size) return false;
  int error = 0;
  do {
    error = posix_fallocate(fd_, static_cast<off_t>(offset), static_cast<off_t>(size));
  } while (error == EINTR);
  return error == 0;
}

void LiveTable::begin(PageFile& file, Header& header, Entry* first_chunk) {
  file_ = &file;
  header_ = &header;
  chunks_[0] = first_chunk;
  lists_[0] = static_cast<std::uint32_t*>(private_memory(kFirstEntries * sizeof(std::uint32_t)));
  chunk_count_ = lists_[0] == nullptr ? 0 : 1;
  for (Shard& shard : shards_) shard.unused_entry = kNoEntry;
}

Entry& LiveTable::at(std::uint32_t entry) {
  const Position position = position_of(entry);
  return chunks_[position.chunk][position.within];
}

std::uint32_t& LiveTable::next_unused(std::uint32_t entry) {
  const Position position = position_of(entry);
  return lists_[position.chunk][position.within];
}

LiveTable::Shard& LiveTable::shard_of(std::uint64_t handle) { return shards_[mix(handle) >> 60]; }

bool LiveTable::insert(const Entry& resource) {
  Shard& shard = shard_of(resource.handle);
  SpinGuard guard(shard.lock);
  if (!reserve_slot(shard)) return false;
  const std::uint32_t number = allocate(shard);
  if (number == kNoEntry) return false;
  Entry& entry = at(number);
  const std::uint8_t unused = static_cast<std::uint8_t>(EntryState::unused);
  entry = resource;
  // The state comes last: what a reader finds live is whole.
  __atomic_store_n(&entry.state, unused, __ATOMIC_RELAXED);
  store(entry.state, static_cast<std::uint8_t>(EntryState::live));
  add_slot(shard, {resource.handle, number, resource.kind});
  return true;
}

std::uint32_t LiveTable::take(std::uint64_t handle, std::uint64_t kinds) {
  Shard& shard = shard_of(handle);
  SpinGuard guard(shard.lock);
  if (shard.capacity == 0) return kNoEntry;
  const std::uint32_t mask = shard.capacity - 1;
  for (std::uint32_t i = static_cast<std::uint32_t>(mix(handle)) & mask; shard.slots[i].handle != 0;
       i = (i + 1) & mask) {
    const Slot slot = shard.slots[i];
    if (slot.handle != handle || (kinds >> slot.kind & 1) == 0) continue;
    remove_slot(shard, i);
    store(at(slot.entry).state, static_cast<std::uint8_t>(EntryState::being_destroyed));
    return slot.entry;
  }
  return kNoEntry;
}

void LiveTable::release(std::uint32_t entry) {
  Shard& shard = shard_of(at(entry).handle);
  store(at(entry).state, static_cast<std::uint8_t>(EntryState::unused));
  SpinGuard guard(shard.lock);
  next_unused(entry) = shard.unused_entry;
  shard.unused_entry = entry;
}

bool LiveTable::put_back(std::uint32_t entry) {
  Shard& shard = shard_of(at(entry).handle);
  SpinGuard guard(shard.lock);
  if (!reserve_slot(shard)) return false;
  add_slot(shard, {at(entry).handle, entry, at(entry).kind});
  store(at(entry).state, static_cast<std::uint8_t>(EntryState::live));
  return true;
}

// At most half of the slots are used, so that a search is short.
bool LiveTable::reserve_slot(Shard& shard) {
  if (shard.used * 2 < shard.capacity) return true;
  const std::uint32_t capacity = shard.capacity == 0 ? kFirstSlots : shard.capacity * 2;
  auto* slots = static_cast<Slot*>(private_memory(capacity * sizeof(Slot)));
  if (slots == nullptr) return shard.used + 1 < shard.capacity;
  // Not the whole shard: others wait for its lock, and write it.
  Slot* const old = shard.slots;
  const std::uint32_t old_capacity = shard.capacity;
  shard.slots = slots;
  shard.capacity = capacity;
  shard.used = 0;
  for (std::uint32_t i = 0; i < old_capacity; ++i)
    if (old[i].handle != 0) add_slot(shard, old[i]);
  if (old != nullptr) munmap(old, old_capacity * sizeof(Slot));
  return true;
}

void LiveTable::add_slot(Shard& shard, const Slot& slot) {
  const std::uint32_t mask = shard.capacity - 1;
  std::uint32_t i = static_cast<std::uint32_t>(mix(slot.handle)) & mask;
  while (shard.slots[i].handle != 0) i = (i + 1) & mask;
  shard.slots[i] = slot;
  ++shard.used;
}

// Linear probing without tombstones: what stands behind the hole moves up if its own place is not after the hole.
void LiveTable::remove_slot(Shard& shard, std::uint32_t at) {
  const std::uint32_t mask = shard.capacity - 1;
  std::uint32_t hole = at;
  for (std::uint32_t i = (hole + 1) & mask; shard.slots[i].handle != 0; i = (i + 1) & mask) {
    const std::uint32_t home = static_cast<std::uint32_t>(mix(shard.slots[i].handle)) & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    shard.slots[hole] = shard.slots[i];
    hole = i;
  }
  shard.slots[hole].handle = 0;
  --shard.used;
}

std::uint32_t LiveTable::allocate(Shard& shard) {
  if (shard.unused_entry != kNoEntry) {
    const std::uint32_t entry = shard.unused_entry;
    shard.unused_entry = next_unused(entry);
    return entry;
  }
  if (shard.batch == shard.batch_end && !next_batch(shard)) return kNoEntry;
  return shard.batch++;
}

bool LiveTable::next_batch(Shard& shard) {
  SpinGuard guard(grow_lock_);
  if (batched_ == entries_of(chunk_count_) && !add_chunk()) return false;
  shard.batch = static_cast<std::uint32_t>(batched_);
  shard.batch_end = shard.batch + kBatch;
  batched_ += kBatch;
  return true;
}

bool LiveTable::add_chunk() {
  if (chunk_count_ == 0 || chunk_count_ == kMaxChunks) return false;
  const std::uint64_t count = chunk_entries(chunk_count_);
  auto* list = static_cast<std::uint32_t*>(private_memory(count * sizeof(std::uint32_t)));
  if (list == nullptr) return false;
  // Once a chunk is private, all later ones are: the file holds the entries from the first on, without a gap.
  void* chunk = file_ended_ ? nullptr : file_->grow(count * sizeof(Entry));
  if (chunk == nullptr) {
    file_ended_ = true;
    chunk = private_memory(count * sizeof(Entry));
  }
  if (chunk == nullptr) {
    munmap(list, count * sizeof(std::uint32_t));
    return false;
  }
  chunks_[chunk_count_] = static_cast<Entry*>(chunk);
  lists_[chunk_count_] = list;
  ++chunk_count_;
  if (!file_ended_) store(header_->entries, entries_of(chunk_count_));
  return true;
}

}  // namespace igpu::level_zero
