// SPDX-License-Identifier: Apache-2.0
#include "level_zero/tracker/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace igpu::level_zero {
namespace {

// Programs count on low numbers being free (dup2, select), so ours is a high one if the limit allows.
constexpr int kLowestDescriptor = 200;

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

}  // namespace

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

  if (const int high = fcntl(fd_, F_DUPFD_CLOEXEC, kLowestDescriptor); high >= 0) {
    close(fd_);
    fd_ = high;
  }
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

}  // namespace igpu::level_zero
