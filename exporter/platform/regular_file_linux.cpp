// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "platform/own_process.h"
#include "platform/regular_file.h"

namespace igpu::exporter {
namespace {

[[noreturn]] void fail(int error) { throw FileError(std::generic_category().message(error), error); }

void require_regular(const struct stat& facts) {
  if (S_ISREG(facts.st_mode)) return;
  if (S_ISDIR(facts.st_mode)) throw FileError("Is a directory, not a regular file", EISDIR);
  throw FileError("not a regular file", 0);
}

// An error of errno, or 0.
int name_anew(const std::string& temporary, const std::string& path) {
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL) return errno;
  // Some file systems have no such flag.
  if (::access(path.c_str(), F_OK) == 0) return EEXIST;
  return ::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
}

void check_replaceable(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return;
  if (S_ISLNK(facts.st_mode)) throw FileError("a symbolic link is not followed; name the file itself", 0);
  if (!S_ISREG(facts.st_mode)) throw FileError("not a regular file", 0);
}

FileStamp::Time to_time(const timespec& time) {
  return FileStamp::Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace

RegularFile::RegularFile(const std::string& path) {
  const CallersRights callers;
  struct stat facts {};
  // Before it is opened, because that alone has an effect on some devices; and after, because it may be another file.
  if (::stat(path.c_str(), &facts) != 0) fail(errno);
  require_regular(facts);
  file_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file_ || ::fstat(file_.get(), &facts) != 0) fail(errno);
  require_regular(facts);
  size_ = static_cast<std::size_t>(facts.st_size);
  mode_ = facts.st_mode & 07777U;
}

std::string RegularFile::first(std::size_t bytes) const {
  std::string text(std::min(bytes, size_), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::pread(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

UniqueFd open_to_write(const std::string& path) {
  const CallersRights callers;
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644));
  if (!file && errno == ELOOP) throw FileError("a symbolic link is not followed; name the file itself", ELOOP);
  if (!file && errno == ENXIO) throw FileError("a FIFO that nothing reads", ENXIO);
  if (!file) fail(errno);
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) fail(errno);
  return file;
}

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(file, bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) return errno;
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void check_new_file(const std::string& path) {
  const CallersRights callers;
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) fail(EEXIST);
  if (errno != ENOENT) fail(errno);
  if (::access(folder_of(path).c_str(), W_OK | X_OK) != 0) fail(errno);
}

NewFile::NewFile(const std::string& path, mode_t mode) : path_(path), temporary_(folder_of(path) + "/.new-XXXXXX") {
  const CallersRights callers;
  file_ = UniqueFd(::mkostemp(temporary_.data(), O_CLOEXEC));
  if (!file_) fail(errno);
  if (::fchmod(file_.get(), mode) == 0) return;
  const int error = errno;
  (void)::unlink(temporary_.c_str());
  fail(error);
}

NewFile::~NewFile() {
  if (temporary_.empty()) return;
  const CallersRights callers;
  (void)::unlink(temporary_.c_str());
}

void NewFile::finish(std::string_view bytes, Existing existing) {
  if (write_all(file_.get(), bytes) != 0 || ::fsync(file_.get()) != 0) fail(errno);
  const CallersRights callers;
  if (existing == Existing::stays) {
    if (const int error = name_anew(temporary_, path_); error != 0) fail(error);
  } else {
    check_replaceable(path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  }
  temporary_.clear();
}

FileStamp file_stamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {.error = errno};
  return {.device = status.st_dev,
          .file = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .modified = to_time(status.st_mtim),
          .changed = to_time(status.st_ctim)};
}

}  // namespace igpu::exporter
